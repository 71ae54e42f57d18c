"""The TOML file of one iteration, read and checked key by key before anything is asked or paid for."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from fairwitness.authoring.contexts import ContextsConfig
from fairwitness.authoring.filter_training import TrainFilterConfig
from fairwitness.authoring.filtering import FilterSentencesConfig
from fairwitness.authoring.records import read_text
from fairwitness.authoring.sentences import SentencesConfig
from fairwitness.authoring.services import GenerationConfig
from fairwitness.errors import InputError, listing, suggestion
from fairwitness.options import Options

STAGES = (
    "generate-contexts", "filter-contexts", "annotate-contexts", "train-context-filter", "augment-contexts",
    "generate-sentences", "filter-sentences", "annotate-sentences", "dataset", "train-sentence-filter", "augment-sentences",
    "datasheet", "audit",
)  # fmt: skip
# Which options each table of the file may hold: those of the command it speaks for, less what the loop itself decides.
_OURS = {
    "schema",
    "restart",
    "output_dir",
    "output_fname",
    "demo_fpath",
    "demographic_list",
    "context_fpath",
    "input_fname",
    "api_key",
}
_SPEAKS_FOR: dict[str, type] = {
    "service": GenerationConfig,
    "contexts": ContextsConfig,
    "sentences": SentencesConfig,
    "selection": FilterSentencesConfig,
    "filter": TrainFilterConfig,
}
_FILES = ("folder", "groups", "context_demos", "sentence_demos")
_GIVEN = ("context_filter", "sentence_filter", "annotated_contexts", "annotated_sentences")


@dataclass(frozen=True, kw_only=True)
class LoopConfig(Options):
    """One iteration. `service`, `contexts`, `sentences`, `selection` and `filter` hold options of the commands they speak for."""

    folder: Path
    groups: Path
    context_demos: Path
    sentence_demos: Path
    name: str = "dataset"
    schema: str = "kosbi"
    iteration: int = 1
    seed: int = 42
    license: str = "not stated"
    skip: tuple[str, ...] = ()
    annotators_per_item: int = 3
    most_ambiguous_ratio: float = 0.25
    context_filter: Path | None = None
    sentence_filter: Path | None = None
    annotated_contexts: Path | None = None
    annotated_sentences: Path | None = None
    service: dict[str, Any] = field(default_factory=dict)
    contexts: dict[str, Any] = field(default_factory=dict)
    sentences: dict[str, Any] = field(default_factory=dict)
    selection: dict[str, Any] = field(default_factory=dict)
    filter: dict[str, Any] = field(default_factory=dict)


def read_loop(path: Path) -> LoopConfig:
    """The config in a file. Paths in it are relative to the file; an unknown key is an error with the near one."""
    try:
        table = tomllib.loads(read_text(Path(path)))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    known = {one.name for one in fields(LoopConfig)}
    _check_keys(table, known, str(path))
    for name, allowed in _allowed().items():
        _check_keys(table.get(name, {}), allowed, f"{path}, table [{name}]")
    skip = table.get("skip", [])
    if not isinstance(skip, list) or not all(isinstance(stage, str) for stage in skip):
        raise InputError(f"{path}: 'skip' is {skip!r}; a list of stages was expected, some of: {', '.join(STAGES)}.")
    _check_keys(dict.fromkeys(skip), set(STAGES), f"{path}, 'skip'")
    _check_counts(table, path)
    for name in (*_FILES, *_GIVEN):
        if name in table:
            table[name] = Path(path).parent / table[name]
    table = _from_previous(table) | table
    missing = [name for name in _FILES if name not in table]
    if missing:
        raise InputError(f"{path} needs '{missing[0]}'. It must name: {', '.join(_FILES)}.")
    for name, config in _SPEAKS_FOR.items():
        table[name] = _typed(config, table.get(name, {}), f"{path}, table [{name}]")
    table["skip"] = tuple(skip)
    table["filter"] = {"filter_model_type": "ngram", "epoch": 5} | table.get("filter", {})
    return LoopConfig(**table)


def _check_counts(table: dict[str, Any], path: Path) -> None:
    for name in ("iteration", "annotators_per_item"):
        value = table.get(name, 1)
        if type(value) is not int or value < 1:
            raise InputError(f"{path}: '{name}' is {value!r}; a whole number from 1 was expected.")
    name = table.get("name", "dataset")
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".."):
        raise InputError(f"{path}: 'name' is {name!r}; a word that files can begin with was expected, without slashes.")
    if wrong := [name for name in (*_FILES, *_GIVEN) if not isinstance(table.get(name, ""), str)]:
        raise InputError(f"{path}: '{wrong[0]}' is {table[wrong[0]]!r}; the path of a file was expected.")


def _from_previous(table: dict[str, Any]) -> dict[str, Any]:
    """What a later iteration takes over where its file names nothing else: the pools that the one before left, and its filters."""
    number = table.get("iteration", 1)
    if number == 1 or "folder" not in table:
        return {}
    folder = table["folder"] / f"iter{number - 1}"
    models = {"context_filter": "models/context_filter", "sentence_filter": "models/sentence_filter"}
    left = {name: folder / place for name, place in models.items() if (folder / place).is_dir()}
    return {"context_demos": folder / "context_pool.json", "sentence_demos": folder / "sentence_pool.json"} | left


def _allowed() -> dict[str, set[str]]:
    service = _names(GenerationConfig)
    selection = _names(FilterSentencesConfig) - {"filter_model_ckpt_dir"}
    training = _names(TrainFilterConfig) - {"task", "trn_pth", "val_pth", "tst_pth", "checkpoint_dirpath", "exp_name"}
    return {
        "service": service,
        "contexts": _names(ContextsConfig) - service,
        "sentences": _names(SentencesConfig) - service,
        "selection": selection,
        "filter": training,
    }


def _typed(config: type, table: dict[str, Any], where: str) -> dict[str, Any]:
    """The values with the types that the options have; TOML knows no paths, and whole numbers may stand for others."""
    hints = get_type_hints(config)
    typed = {}
    for name, value in table.items():
        wanted = [kind for kind in (get_args(hints[name]) or (hints[name],)) if isinstance(kind, type)]
        if Path in wanted and isinstance(value, str):
            value = Path(value)
        elif float in wanted and type(value) is int:
            value = float(value)
        if wanted and type(value) not in wanted and not isinstance(value, Path):
            names = " or ".join(kind.__name__ for kind in wanted if kind is not type(None))
            raise InputError(f"{where}: '{name}' is {value!r}; {names} was expected.")
        typed[name] = value
    return typed


def _names(config: type) -> set[str]:
    return {one.name for one in fields(config)} - _OURS


def _check_keys(table: Any, known: Iterable[str], where: str) -> None:
    if not isinstance(table, dict):
        raise InputError(f"{where}: a table was expected, not {type(table).__name__}.")
    for key in table:
        if key == "api_key":
            raise InputError(f"{where}: a key does not belong in a file. Set OPENAI_API_KEY, CLOVA_API_KEY or FAIRWITNESS_API_KEY.")
        if key not in known:
            raise InputError(f"{where}: unknown key '{key}'.{suggestion(key, known)} Known: {listing(sorted(known), most=30)}.")
