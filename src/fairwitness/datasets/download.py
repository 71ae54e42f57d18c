"""Getting a dataset: from a copy the user has, from the web or from the Hub, to our tables on the disk or in memory."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

from fairwitness import registry, runs, tables
from fairwitness.datasets import hub, sample, splits, web
from fairwitness.datasets.card import BuiltIn, Dataset, HubFiles, Manual, Remote, WebFiles
from fairwitness.datasets.raw import RawCopy, open_copy
from fairwitness.errors import InputError, ServiceError
from fairwitness.files import write_bytes
from fairwitness.options import Options
from fairwitness.progress import progress, say


@dataclass(frozen=True, kw_only=True)
class DownloadConfig(Options):
    """What to get, and where to put it."""

    dataset: str
    """Name of the dataset (fairwitness list datasets)."""
    out: Path
    """Table to write: .parquet, .csv, .tsv, .jsonl or .json. For a graph, a folder or the users' table."""
    sample: int | None = None
    """Keep this many rows, drawn with --seed; of StereoSet and CrowS-Pairs, whose rows belong together, this many whole items."""
    stream: bool = False
    """Read over the network piece by piece instead of fetching whole files."""
    take: int | None = None
    """With --stream: stop after this many rows (or whole items, as --sample)."""
    source: Path | None = None
    """A raw copy you already have: a file, a folder or an archive, as its authors laid it out."""
    seed: int = 42
    """Seed of --sample."""
    split: str | None = None
    """train, validation, test or all. Without it: train where splits are separate files, everything otherwise."""


@dataclass(frozen=True)
class Written:
    """One file that was written. A document in the authors' own form has no rows of its own."""

    path: Path
    rows: int


def download(config: DownloadConfig) -> list[Written]:
    """Write a dataset's tables, the main one first. Nothing is left behind when it fails."""
    dataset = find(config.dataset)
    targets = _targets(dataset, config)
    _check(config, dataset)
    copy = _obtain(dataset, config)
    if dataset.document is not None and config.out.suffix.lower() == ".json":
        rows = sum(frame.height for frame in _rows(dataset, copy, config))
        write_bytes(config.out, dataset.document(copy))
        written = [Written(config.out, rows)]
    else:
        tried = [_write(dataset, copy, config, table, path) for table, path in targets.items()]
        written = [one for one in tried if one is not None]
    asked = {name: value for name, value in asdict(config).items() if name != "out"}
    counts = {"asked": written[0].rows, "scored": written[0].rows, "failed": 0}
    runs.note(written[0].path, "data download", asked, [one.path for one in written], counts=counts)
    if dataset.card.warning:
        say(f"Content warning: {dataset.card.name} holds {dataset.card.warning}.")
    return written


def load_dataset(
    name: str, *, source: Path | str | None = None, split: str | None = None, sample: int | None = None, seed: int = 42
) -> pl.DataFrame:
    """A dataset's main table in memory.

    >>> load_dataset("examples").height >= 400
    True
    """
    dataset = find(name)
    config = DownloadConfig(
        dataset=name, out=Path("unused.parquet"), source=Path(source) if source else None, split=split, sample=sample, seed=seed
    )
    _check(config, dataset)
    frames = list(_rows(dataset, _obtain(dataset, config), config))
    if not sum(frame.height for frame in frames):
        raise InputError(_nothing(dataset, config))
    return pl.concat(frames)


def find(name: str) -> Dataset:
    """The dataset of a name."""
    found = registry.load("datasets", name)
    assert isinstance(found, Dataset), f"{name} is registered as a dataset and is none"
    return found


def _check(config: DownloadConfig, dataset: Dataset) -> None:
    split = splits.check(config.split)
    if split not in (None, splits.ALL, *(dataset.splits or (splits.TRAIN,))):
        there = " and ".join(dataset.splits) or "no splits"
        raise InputError(f"{config.dataset} has no {split} split: it has {there}. Leave --split out.")
    if config.take is not None and not config.stream:
        raise InputError("--take only goes with --stream. To draw rows from the whole, use --sample.")
    for flag, rows in (("--sample", config.sample), ("--take", config.take)):
        if rows is not None and rows < 1:
            raise InputError(f"{flag} must be 1 or more, not {rows}.")
    if config.seed < 0:
        raise InputError(f"--seed must be 0 or more, not {config.seed}.")
    drawn = config.sample is not None or config.take is not None
    if drawn and len(dataset.tables) > 1:
        raise InputError(f"{config.dataset} is a graph: --sample and --take would tear its users from their edges. Leave them out.")
    if drawn and dataset.document is not None and config.out.suffix.lower() == ".json":
        raise InputError(
            f"{config.out.name} would be the authors' file as it is. To draw rows, end --out in .parquet, .csv or .jsonl."
        )
    if config.source is not None and config.out.exists() and config.out.resolve() == config.source.resolve():
        raise InputError(f"--out and --source are the same: {config.out}. Choose another --out.")


def _targets(dataset: Dataset, config: DownloadConfig) -> dict[str, Path]:
    """Where each table goes."""
    out, names = config.out, list(dataset.tables)
    suffix = out.suffix.lower()
    if len(names) == 1:
        if out.is_dir():
            raise InputError(f"--out {out} is a folder; a file was expected, such as {out / config.dataset}.parquet.")
        if suffix not in tables.SUFFIXES:
            raise InputError(f"--out {out}: the ending '{suffix}' is not one of {', '.join(tables.SUFFIXES)}.")
        return {names[0]: out}
    if suffix in tables.SUFFIXES and not out.is_dir():
        return {name: out if index == 0 else out.with_suffix(f".{name}{suffix}") for index, name in enumerate(names)}
    if suffix or out.is_file():
        raise InputError(f"--out {out} must be a folder, or a table ending in one of {', '.join(tables.SUFFIXES)}.")
    return {name: out / f"{name}.parquet" for name in names}


def _obtain(dataset: Dataset, config: DownloadConfig) -> RawCopy:
    """The raw copy: the user's own, or the first remote that gives it."""
    split = splits.check(config.split) or ""
    if config.source is not None:
        return open_copy(config.source, dataset.beside)
    failures = []
    for remote in dataset.card.remotes:
        try:
            return _fetch(remote, dataset, split, streaming=config.stream)
        except ServiceError as error:
            failures.append(str(error))
    raise ServiceError(
        f"{' '.join(failures)} A copy you have can be given with --source ({dataset.card.layouts[0]}). See: fairwitness data doctor"
    )


def _fetch(remote: Remote, dataset: Dataset, split: str, *, streaming: bool) -> RawCopy:
    match remote:
        case WebFiles():
            return web.fetch(remote, dataset.card.name, split)
        case HubFiles():
            return hub.stream(remote, split) if streaming else hub.fetch(remote, split)
        case Manual():
            raise InputError(f"{dataset.card.name} needs a manual download: {remote.how}. See {remote.address}")
        case BuiltIn():
            from fairwitness.datasets.examples import built_in

            return built_in()


def _rows(dataset: Dataset, copy: RawCopy, config: DownloadConfig, table: str = "") -> Iterator[pl.DataFrame]:
    """The rows of one table as asked for: split, first rows, draw."""
    reader = dataset.tables[table or next(iter(dataset.tables))]
    frames = _in_shape(dataset, copy, reader(copy, splits.check(config.split) or ""))
    drawn = config.take is not None or config.sample is not None
    if drawn and dataset.item:
        frames = sample.folded(frames, dataset.item)
    if config.take is not None:
        frames = sample.take(frames, config.take)
    if config.sample is not None:
        frames = sample.sample(frames, config.sample, seed=config.seed)
    return sample.unfolded(frames, dataset.item) if drawn and dataset.item else frames


def _in_shape(dataset: Dataset, copy: RawCopy, frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Whatever a reader stumbles over in a foreign file is the file's fault. No text of it is repeated: it may offend."""
    try:
        yield from frames
    except (TypeError, AttributeError, LookupError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{copy.shown} is not {dataset.card.name} as it was published: something in it is of another kind than expected "
            f"({type(error).__name__}). Fetch it again, or see: fairwitness data card {dataset.card.name}"
        ) from error


def _write(dataset: Dataset, copy: RawCopy, config: DownloadConfig, table: str, path: Path) -> Written | None:
    """Write one table. A side table that the copy does not have is left out."""
    frames = (frame for frame in _rows(dataset, copy, config, table) if frame.height)
    first = next(frames, None)
    if first is None:
        if table != next(iter(dataset.tables)):
            return None
        raise InputError(_nothing(dataset, config))
    rows = 0
    expected = None if dataset.item else config.sample or config.take
    with tables.writer(path) as append, progress(dataset.card.name, expected) as advance:
        for frame in _chain(first, frames):
            append(frame)
            rows += frame.height
            advance(frame.height)
    return Written(path, rows)


def _chain(first: pl.DataFrame, rest: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    yield first
    yield from rest


def _nothing(dataset: Dataset, config: DownloadConfig) -> str:
    where = config.source or dataset.card.remotes[0].address
    split = f" of its {config.split} split" if config.split else ""
    return f"{where} gave no rows{split}. Try another --split (train, validation, test, all)."
