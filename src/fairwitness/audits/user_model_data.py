"""Building a dataset's files from raw copies, and making up graphs like it: behind `usermodel build` and `generate`."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairwitness import runs
from fairwitness.errors import InputError
from fairwitness.files import require_file
from fairwitness.options import Options


@dataclass(frozen=True, kw_only=True)
class BuildConfig(Options):
    """What can be asked of `fairwitness usermodel build`."""

    dataset: str
    """nba, pokec, jd or alibaba."""

    raw: Path
    """Folder with the raw public files."""

    out: Path
    """Folder for the published layout."""

    sample: float = 1.0
    """Share of items and clicks that is kept (jd and alibaba; the published JD graph used 0.15)."""

    seed: int = 11
    """Seed of the sample."""


@dataclass(frozen=True, kw_only=True)
class GenerateConfig(Options):
    """What can be asked of `fairwitness usermodel generate`."""

    dataset: str
    """alibaba or jd: whose size and statistics to have."""

    out: Path
    """Folder for the published layout."""

    scale: float = 1.0
    """Share of the published users, items and clicks."""

    seed: int = 0
    """Seed of everything."""


def build_graph(config: BuildConfig) -> dict[str, Any]:
    """Build the published layout from raw files; returns what was kept and left out."""
    from fairwitness.graphs.raw import build

    _refuse_file(config.out)
    counts = build(config.dataset, config.raw, config.out, sample=config.sample, seed=config.seed)
    _note(config, "usermodel build", counts)
    return {"dataset": config.dataset, "out": str(config.out), **counts}


def generate_graph(config: GenerateConfig) -> dict[str, Any]:
    """Make up a graph and write it in the published layout; returns its counts."""
    from fairwitness.graphs.generator import generate

    _refuse_file(config.out)
    counts = generate(config.dataset, scale=config.scale, seed=config.seed).write(config.out)
    _note(config, "usermodel generate", counts)
    return {"dataset": config.dataset, "out": str(config.out), **counts}


def _note(config: BuildConfig | GenerateConfig, kind: str, counts: dict[str, Any]) -> None:
    asked = {name: value for name, value in asdict(config).items() if name != "out"}
    written = [
        path for path in sorted(config.out.iterdir()) if path.is_file() and path.suffix in (".csv", ".npy", ".npz", ".parquet")
    ]
    runs.note(config.out / config.dataset, kind, asked, written, facts=counts)


def _refuse_file(out: Path) -> None:
    if out.is_file():
        require_file(out)
        raise InputError(f"--out {out} is a file; a folder was expected.")
