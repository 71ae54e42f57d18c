"""`stereoset sensitivity`: how far LMS, SS and ICAT of one model move when only the way of asking changes.

One model, the same items, and a list of ways: every protocol, other start tokens, the chat template with and without a system turn,
other number formats. `agreement` is the share of items whose stereotype-or-anti choice is that of the first way.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from fairwitness import tables
from fairwitness.audits import stereoset_numbers as numbers
from fairwitness.audits.result import AuditResult
from fairwitness.audits.stereoset import sample, score_items
from fairwitness.audits.stereoset_score import check_draws, data_hash
from fairwitness.datasets.stereoset_items import BUILT_IN, read_items, subset_names
from fairwitness.engine.options import EngineOptions, check_engine, runs_here
from fairwitness.errors import FairWitnessError, InputError
from fairwitness.metrics.stereoset import METRICS
from fairwitness.progress import say
from fairwitness.runs import Run, open_run
from fairwitness.scorers.likelihood import PROTOCOLS, Likelihood, require_protocol


@dataclass(frozen=True, kw_only=True)
class SensitivityConfig(EngineOptions):
    """Everything `stereoset sensitivity` can be told."""

    model: str = "smollm2"
    """A causal language model: built-in name, Hugging Face name, local folder or GGUF file."""
    data: str = BUILT_IN
    """StereoSet's dev.json, its Parquet copy, or a table of `data download`; `builtin` is our own twenty items."""
    out: Path = Path("stereoset_sensitivity.csv")
    """Where the table goes."""
    subset: Literal["both", "intrasentence", "intersentence"] = "both"
    """Which of the two tests."""
    max_samples: int | None = None
    """Draw this many items of each subset; all when not given."""
    protocols: tuple[str, ...] = PROTOCOLS
    """The protocols to try; the first is what the others are compared with."""
    start_tokens: tuple[str, ...] = ("none",)
    """Further start tokens to try with the first protocol, beside the model's own."""
    dtypes: tuple[str, ...] = ("float32", "bfloat16")
    """Number formats to try with the first protocol; the first of them is used for everything else."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1 or mps."""
    draws: int = 1000
    """Bootstrap draws for the intervals."""
    seed: int = 42
    """Which items --max_samples draws."""
    restart: bool = False
    """Start over where the folder holds the answer to another question."""


def sensitivity(config: SensitivityConfig) -> AuditResult:
    """Score the same items in every way and lay the numbers side by side. A way the model does not allow is named."""
    check_engine(config)
    subset_names(config.subset)
    check_draws(config.draws)
    if not config.protocols or not config.dtypes:
        raise InputError("--protocols and --dtypes need at least one name each.")
    for protocol in config.protocols:
        require_protocol(protocol, PROTOCOLS)
    items = sample(read_items(config.data, subset=config.subset), config.max_samples, config.seed)
    ways = list(_ways(config))
    question = {
        "data": data_hash(config.data),
        **{name: getattr(config, name) for name in ("subset", "max_samples", "seed", "draws")},
        "ways": [way.identity for _, way in ways],
    }
    inputs = {"data": None if config.data == BUILT_IN else config.data}
    with open_run(config.out, "stereoset sensitivity", question, restart=config.restart, inputs=inputs) as run:
        if not run.sealed:
            table = _table(config, items, ways, run)
            tables.write(table, config.out)
            failed = table["error"].count()
            run.seal([Path(config.out)], {"asked": table.height, "scored": table.height - failed, "failed": failed})
        return AuditResult({"ways": tables.read(config.out)}, {"seconds": run.entry["seconds"]}, [Path(config.out)])


def _ways(config: SensitivityConfig) -> list[tuple[str, Likelihood]]:
    base: dict[str, Any] = {"model": config.model, "device": config.device}
    first, dtype = config.protocols[0], config.dtypes[0]
    ways = [(f"protocol {protocol}", Likelihood(protocol=protocol, dtype=dtype, **base)) for protocol in config.protocols]
    ways += [
        (f"start token {start}", Likelihood(protocol=first, dtype=dtype, start=start, **base)) for start in config.start_tokens
    ]
    if "chat" in config.protocols:
        ways.append(("chat without a system turn", Likelihood(protocol="chat", dtype=dtype, system="", **base)))
    ways += [(f"dtype {other}", Likelihood(protocol=first, dtype=other, **base)) for other in config.dtypes[1:]]
    return ways


def _table(config: SensitivityConfig, items: pl.DataFrame, ways: list[tuple[str, Likelihood]], run: Run) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    loaded: dict[str, Any] = {}
    choices: dict[str, Any] = {}
    for name, way in ways:
        if runs_here(config):
            # One way of a model is loaded at a time: a number format's weights are kept until another is asked for.
            if way.dtype in loaded:
                way.__dict__["lm"] = loaded[way.dtype]
            loaded = {way.dtype: way.lm}
        say(name)
        try:
            rows += _way_rows(config, name, way, score_items(items, way, run, options=config), choices)
        except FairWitnessError as error:
            rows.append({"way": name, **_asked(way), "error": str(error)})
    return pl.DataFrame(rows, infer_schema_length=None)


def _way_rows(
    config: SensitivityConfig, name: str, way: Likelihood, scored: pl.DataFrame, choices: dict[str, Any]
) -> list[dict[str, Any]]:
    wide = numbers.by_item(scored)
    cells = numbers.measure_cells(wide, draws=config.draws, seed=0)
    chosen = (wide[numbers.SCORE_COLUMNS[0]] > wide[numbers.SCORE_COLUMNS[1]]).to_numpy()
    first = choices.setdefault("first", chosen)
    rows = []
    for (subset, domain), cell in cells.items():
        if domain != numbers.OVERALL:
            continue
        within = np.ones(wide.height, bool) if subset == numbers.POOLED else (wide["subset"] == subset).to_numpy()
        row = {"way": name, **_asked(way), "subset": subset, "items": cell.n, "failed": int(within.sum()) - cell.n}
        for metric in METRICS:
            measure = cell.measures["reference", metric]
            row |= {metric: measure.value, f"{metric}_low": measure.low, f"{metric}_high": measure.high}
        usable = within & wide["complete"].to_numpy()
        same = 100 * float(np.mean(chosen[usable] == first[usable])) if usable.any() else float("nan")
        rows.append({**row, "agreement": same, "error": None})
    return rows


def _asked(way: Likelihood) -> dict[str, Any]:
    return {
        "protocol": way.protocol,
        "start": way.start,
        "system": way.system if way.protocol == "chat" else None,
        "dtype": way.dtype,
    }
