"""What an engine needs of a scorer, and the one place where an answer becomes rows.

A scorer that fails on a row says so in `error`; a score that is not a finite number becomes an error here. So no audit can
ever count a failure as a score.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import polars as pl

from fairwitness.errors import RunError
from fairwitness.files import content_hash

Item = TypeVar("Item", contravariant=True)


class Scorer(Protocol[Item]):
    """Texts (or other items) in, columns out. The one contract for everything that scores.

    `identity`: all that a score depends on (model, prompt, dtype, version of the code), as JSON values, never a secret.
    `rows_per_part`: how many items are answered before they are put on disk; also the items a batch can be packed from.

    Two further attributes may be there. `stays_here = True`: it keeps to a service's quota or holds a secret, so it is never sent
    to another process. `uses_gpu = True`: on a cluster with GPUs each copy of it gets one.
    To be sent, a scorer is pickled: as its class and settings, never with weights (see `recipe`).
    """

    @property
    def identity(self) -> Mapping[str, Any]: ...

    @property
    def rows_per_part(self) -> int: ...

    def score(self, items: Sequence[Item], /) -> Mapping[str, Any]:
        """Columns of equal length, one row per item: `score`, any further parts, and `error` (text or None) where one failed."""
        ...


def part_key(scorer: Scorer[Any], items: Sequence[Any]) -> str:
    """The name of a part: the hash of what it answers, whoever answers it and wherever it stands in the file."""
    return content_hash(
        identity_of(scorer), *(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in items)
    )


def stays_here(scorer: Any) -> bool:
    """Whether this scorer, or one inside it, may be used by the process that owns the run only."""
    return _says(scorer, "stays_here")


def uses_gpu(scorer: Any) -> bool:
    """Whether this scorer, or one inside it, holds a model that runs on a GPU where there is one."""
    return _says(scorer, "uses_gpu")


def _says(scorer: Any, word: str) -> bool:
    return bool(getattr(scorer, word, False)) or any(_says(inner, word) for inner in _inside(scorer).values())


def _inside(scorer: Any) -> dict[str, Any]:
    """The dataclasses that a dataclass was made from: a scorer that wraps another."""
    if not dataclasses.is_dataclass(scorer):
        return {}
    values = {each.name: getattr(scorer, each.name) for each in dataclasses.fields(scorer) if each.init}
    return {name: value for name, value in values.items() if dataclasses.is_dataclass(value) and not isinstance(value, type)}


def recipe(scorer: Any) -> Any:
    """The scorer as it was before anything was loaded or looked up: a dataclass made anew from its fields; others as they are."""
    if not dataclasses.is_dataclass(scorer) or isinstance(scorer, type):
        return scorer
    return dataclasses.replace(scorer, **{name: recipe(value) for name, value in _inside(scorer).items()})


def require_same(scorer: Scorer[Any], identity: str, where: str) -> None:
    """Refuse a worker that would score with something else than the run was started with (other weights under the same name)."""
    here = identity_of(scorer)
    if here == identity:
        return
    mine, asked = json.loads(here), json.loads(identity)
    changed = [key for key in {**mine, **asked} if mine.get(key) != asked.get(key)]
    words = "; ".join(
        f"{key} is {str(mine.get(key))[:60]} there and {str(asked.get(key))[:60]} here" for key in sorted(changed)[:3]
    )
    raise RunError(
        f"The scorer on {where} is another one: {words}. Make them the same (for instance with --dtype), then run again."
    )


def identity_of(scorer: Scorer[Any]) -> str:
    """The scorer's identity as one line of JSON."""
    return json.dumps(scorer.identity, sort_keys=True, default=str)


def score_part(scorer: Scorer[Any], items: Sequence[Any]) -> pl.DataFrame:
    """Score one part: nothing to score and no finite score are errors of their row, and the rest is what the scorer said."""
    usable = [index for index, item in enumerate(items) if item is not None and item != ""]
    answered = scorer.score([items[index] for index in usable]) if usable else {}
    position = pl.Series("position", usable, pl.Int64)
    frame = pl.DataFrame({"position": position, **answered}, strict=False)
    if frame.height != len(usable):
        raise AssertionError(f"{type(scorer).__name__} answered {frame.height} rows for {len(usable)} items")
    frame = _with_errors(frame)
    every_row = pl.DataFrame({"position": range(len(items))}, schema={"position": pl.Int64})
    missing = pl.col("error").is_null() & ~pl.col("position").is_in(usable)
    joined = every_row.join(frame, on="position", how="left", maintain_order="left")
    return joined.with_columns(error=pl.when(missing).then(pl.lit("no text")).otherwise("error")).drop("position")


def _with_errors(frame: pl.DataFrame) -> pl.DataFrame:
    if "score" not in frame.columns:
        frame = frame.with_columns(score=pl.lit(None, pl.Float64))
    if "error" not in frame.columns:
        frame = frame.with_columns(error=pl.lit(None, pl.String))
    frame = frame.with_columns(pl.col("score").cast(pl.Float64), pl.col("error").cast(pl.String))
    bad = pl.col("error").is_null() & ~pl.col("score").is_finite().fill_null(False)
    frame = frame.with_columns(error=pl.when(bad).then(pl.lit("score is not a finite number")).otherwise("error"))
    return frame.with_columns(score=pl.when(pl.col("error").is_null()).then("score"))
