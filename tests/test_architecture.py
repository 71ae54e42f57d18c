"""The picture of the rooms, kept true: imports go down only, rooms on one line do not import each other, starting is instant."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "fairwitness"

LEVELS = [
    ["errors", "files", "version", "progress", "csv_blocks", "tables", "in_memory", "places", "options", "parts"],
    ["registry", "runs"],
    ["datasets", "models", "graphs", "metrics", "report"],
    ["scorers", "explain", "engine"],
    ["audits", "authoring"],
    ["web", "pytest_plugin"],
    ["cli"],
    ["__main__"],
]
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
# Within the lowest line the files build on each other in this order.
GROUND = LEVELS[0]

TORCH_ROOMS = {"models", "explain", "graphs"}
# Rooms that must import on a bare GPU image: torch, transformers, torch-geometric, numpy and pyarrow, and nothing else of ours.
NOT_ON_A_GPU_IMAGE = {"polars", "scipy", "cyclopts", "jinja2", "matplotlib", "httpx2", "stamina", "filelock"}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(path: Path, *, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def our_rooms(names: set[str]) -> set[str]:
    rooms = set()
    for name in names:
        parts = name.split(".")
        if parts[0] == "fairwitness" and len(parts) > 1:
            rooms.add(parts[1] if parts[1] in LEVEL else "__init__")
    return rooms - {"__init__"}


FILES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.name != "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path: Path) -> None:
    here = room_of(path)
    for there in our_rooms(imports_of(path)) - {here}:
        if LEVEL[here] == 0 and LEVEL[there] == 0:
            assert GROUND.index(there) < GROUND.index(here), f"{here} imports {there}"
        else:
            assert LEVEL[there] < LEVEL[here], f"{here} (level {LEVEL[here]}) imports {there} (level {LEVEL[there]})"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_torch_stays_in_its_rooms(path: Path) -> None:
    heavy = {name.split(".")[0] for name in imports_of(path)} & {"torch", "transformers", "torch_geometric"}
    assert not heavy or room_of(path) in TORCH_ROOMS, f"{path} imports {heavy}"


@pytest.mark.parametrize("path", [p for p in FILES if room_of(p) in TORCH_ROOMS], ids=lambda p: str(p.relative_to(SOURCE)))
def test_torch_rooms_need_little_else(path: Path) -> None:
    top = {name.split(".")[0] for name in imports_of(path, top_level_only=True)}
    assert not top & NOT_ON_A_GPU_IMAGE
    assert not our_rooms(imports_of(path, top_level_only=True)) & {"tables", "parts", "runs"}, "these need polars"


def modules_after(code: str) -> set[str]:
    command = [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=SOURCE.parent)
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import fairwitness", "import fairwitness.cli.app as a; a.build().help_print([])"])
def test_starting_loads_nothing_heavy(code: str) -> None:
    loaded = modules_after(code)
    assert not loaded & {"torch", "transformers", "polars", "pyarrow", "pandas", "matplotlib", "scipy", "sklearn"}


def test_public_names_are_real() -> None:
    import fairwitness

    for name in fairwitness.__all__:
        assert getattr(fairwitness, name) is not None
    with pytest.raises(AttributeError):
        fairwitness.no_such_name  # noqa: B018


def test_every_verb_can_be_loaded() -> None:
    from importlib import import_module

    from fairwitness.cli.verbs import GROUPS, VERBS

    for verb, (path, help_) in VERBS.items():
        module, _, name = path.partition(":")
        assert callable(getattr(import_module(module), name)), verb
        assert help_.endswith("."), verb
        assert " " not in verb or verb.split()[0] in GROUPS, verb
