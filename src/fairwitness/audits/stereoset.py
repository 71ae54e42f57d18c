"""`stereoset eval`: a language model meets StereoSet, resumable; the result in every format that is asked of it.

X.csv has a row per item (the Gemma 3 evaluation's columns first), X_analysis.json that evaluation's keys and ours,
X_predictions.json the authors' prediction format, X.scores.parquet every sentence with its log-probabilities,
X.measurements.parquet the numbers.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from fairwitness import tables
from fairwitness.audits import stereoset_analysis as analysis
from fairwitness.audits import stereoset_numbers as numbers
from fairwitness.audits.result import AuditResult
from fairwitness.audits.stereoset_analyze import cell_table
from fairwitness.audits.stereoset_score import check_draws, data_hash
from fairwitness.datasets.stereoset_items import BUILT_IN, ROLES, SUBSETS, read_items, subset_names
from fairwitness.engine.choose import map_parts
from fairwitness.engine.contract import Scorer
from fairwitness.engine.options import LOCAL, EngineOptions, check_engine
from fairwitness.errors import InputError
from fairwitness.files import write_text
from fairwitness.metrics.stereoset import Cell
from fairwitness.options import require_config
from fairwitness.progress import progress, say
from fairwitness.runs import Run, open_run
from fairwitness.scorers import likelihood, masked_likelihood

PARTS = ("logprob_sum", "logprob_mean", "n_tokens")
Protocol = Literal["auto", "reference", "conditional", "conditional_sum", "pmi", "full", "chat", "masked", "pll", "pll_sum"]


@dataclass(frozen=True, kw_only=True)
class StereosetConfig(EngineOptions):
    """Everything `stereoset eval` can be told."""

    model: str = "smollm2"
    """Built-in name, Hugging Face name, local folder or GGUF file; causal (GPT, Llama, Gemma …) or masked (BERT, RoBERTa …)."""
    subset: Literal["intersentence", "intrasentence", "both"] = "intersentence"
    """Which test: between sentences, within a sentence, or both."""
    data: str = BUILT_IN
    """StereoSet's dev.json, its Parquet copy, or a table of `data download`; `builtin` is our own twenty items."""
    output: Path = Path("stereoset_results.csv")
    """Where the rows go (.csv); everything else goes beside it."""
    max_samples: int | None = None
    """Draw this many items of each subset (the same ones every time); all when not given."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1 or mps."""
    quantize: bool = False
    """Load in 4 bits with bitsandbytes (CUDA only)."""
    num_examples: int = 5
    """Examples per domain and direction in the analysis."""
    protocol: Protocol = "auto"
    """How a sentence is scored (docs/stereoset.md). auto: reference; for masked models masked, or pll between sentences."""
    start_token: str = "auto"
    """What stands before a text for a causal model: auto (its own start token), none, or a token."""
    system: str = "You are a helpful assistant."
    """The system turn of --protocol chat; empty for none."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Number format of the weights; auto is bfloat16 where the hardware multiplies it natively."""
    token_budget: int = 0
    """Tokens sent through the model at once; 0: chosen by device, halved when memory runs out. Changes nothing but speed."""
    draws: int = 1000
    """Bootstrap draws for the intervals."""
    seed: int = 42
    """Which items --max_samples draws."""
    restart: bool = False
    """Start over where the folder holds the answer to another question."""


def stereoset(config: StereosetConfig) -> AuditResult:
    """Score StereoSet's items with a model and write the result beside `config.output`."""
    require_config(config, StereosetConfig)
    _validate(config)
    items = sample(read_items(config.data, subset=config.subset), config.max_samples, config.seed)
    if config.data == BUILT_IN:
        say("Using the twenty built-in items, which only show the way. For StereoSet itself: --data dev.json")
    scorer = make_scorer(config)
    question = {
        "data": data_hash(config.data),
        "subset": config.subset,
        "max_samples": config.max_samples,
        "seed": config.seed,
        "draws": config.draws,
        "num_examples": config.num_examples,
        **scorer.identity,
    }
    data, inputs = {"items": question["data"]}, {"data": None if config.data == BUILT_IN else config.data}
    with open_run(config.output, "stereoset eval", question, restart=config.restart, data=data, inputs=inputs) as run:
        if run.sealed:
            say(f"{config.output} is already there and answers this question.")
        else:
            _evaluate(config, items, scorer, run)
        return _stored(config, run)


def make_scorer(config: StereosetConfig) -> likelihood.Likelihood | masked_likelihood.MaskedLikelihood:
    """The scorer for a model: masked or causal by the model's own configuration, the protocol by the user or by the subset."""
    from fairwitness.models.masked_lm import is_masked

    shared: dict[str, Any] = {
        "model": config.model,
        "device": config.device,
        "dtype": config.dtype,
        "token_budget": config.token_budget,
    }
    if not is_masked(config.model):
        protocol = "reference" if config.protocol == "auto" else config.protocol
        _refuse_other_kind(config, protocol, likelihood.PROTOCOLS, "causal")
        return likelihood.Likelihood(
            protocol=protocol, quantize=config.quantize, start=config.start_token, system=config.system, **shared
        )
    if config.quantize:
        raise InputError("--quantize is for causal models; masked ones are small. Leave it out, or give --dtype bfloat16.")
    within = config.subset == SUBSETS[0]
    protocol = ("masked" if within else "pll") if config.protocol == "auto" else config.protocol
    _refuse_other_kind(config, protocol, masked_likelihood.PROTOCOLS[:3], "masked")
    if protocol == "masked" and not within:
        raise InputError(
            "--protocol masked is defined within sentences only; between them the authors used a next-sentence head. "
            "Use --protocol pll, or --subset intrasentence."
        )
    return masked_likelihood.MaskedLikelihood(protocol=protocol, **shared)


def sample(items: pl.DataFrame, most: int | None, seed: int) -> pl.DataFrame:
    """What --max_samples draws of each subset, in drawn order: what pandas' `sample(n, random_state=seed)` draws."""
    if most is None:
        return items
    pieces = []
    for subset in [name for name in SUBSETS if name in items["subset"].unique().to_list()]:
        units = items.filter(pl.col("subset") == subset)["unit"].unique(maintain_order=True)
        if most < len(units):
            units = units.gather(np.random.RandomState(seed).choice(len(units), size=most, replace=False))
        pieces.append(
            pl.DataFrame({"unit": units}).join(items, on="unit", how="left", maintain_order="left_right").select(items.columns)
        )
    return pl.concat(pieces)


def _validate(config: StereosetConfig) -> None:
    check_engine(config)
    subset_names(config.subset)
    check_draws(config.draws)
    if Path(config.output).suffix.lower() != ".csv":
        raise InputError(f"--output {config.output}: end it in .csv; the analysis and the predictions go beside it.")
    for name, value, least in (("max_samples", config.max_samples, 1), ("num_examples", config.num_examples, 0)):
        if value is not None and value < least:
            raise InputError(f"--{name} is {value}; it must be at least {least}.")


def _refuse_other_kind(config: StereosetConfig, protocol: str, known: tuple[str, ...], kind: str) -> None:
    every = (*likelihood.PROTOCOLS, *masked_likelihood.PROTOCOLS[:3])
    likelihood.require_protocol(protocol, every)
    if protocol not in known:
        raise InputError(
            f"'{config.model}' is a {kind} language model; --protocol {protocol} does not fit it. Use one of {', '.join(known)}."
        )


def _evaluate(config: StereosetConfig, items: pl.DataFrame, scorer: Scorer[Any], run: Run) -> None:
    scored = score_items(items, scorer, run, options=config)
    wide = numbers.by_item(scored)
    cells = numbers.measure_cells(wide, draws=config.draws, seed=0)
    paths = _paths(config.output)
    facts = {"model": config.model, "protocol": str(scorer.identity["protocol"])}
    tables.write(analysis.result_rows(wide, parts_by_item(scored), facts), paths["rows"])
    write_text(paths["analysis"], _analysis_text(config, wide, cells, scorer))
    write_text(paths["predictions"], predictions_text(scored))
    tables.write(scored.drop("context", "text"), paths["scores"])
    tables.write(numbers.measurements(wide, cells, draws=config.draws, seed=0), paths["measurements"])
    complete = int(wide["complete"].sum())
    run.seal(list(paths.values()), {"asked": wide.height, "scored": complete, "failed": wide.height - complete}, **facts)


def score_items(items: pl.DataFrame, scorer: Scorer[Any], run: Run, *, options: EngineOptions = LOCAL) -> pl.DataFrame:
    """The items with `score`, its parts and `error`, scored part by part and kept as they come."""
    with progress("stereoset", items.height, unit="sentences") as advance:
        pieces = list(map_parts(scorer, _parts(items, scorer.rows_per_part), run.parts, options=options, advance=advance))
    wanted = {"score": pl.Float64, "logprob_sum": pl.Float64, "logprob_mean": pl.Float64, "n_tokens": pl.Int64, "error": pl.String}
    filled = [
        piece.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in wanted.items() if name not in piece.columns)
        .with_columns(pl.col(name).cast(dtype) for name, dtype in wanted.items())
        .select(*wanted, *(["logprob_alone"] if "logprob_alone" in piece.columns else []))
        for piece in pieces
    ]
    return pl.concat([items, pl.concat(filled, how="diagonal")], how="horizontal")


def parts_by_item(scored: pl.DataFrame) -> pl.DataFrame:
    """Log-probabilities and token counts of each association as columns, one row per item, and the first error."""
    columns = [
        pl.col(part).filter(pl.col("role") == role).first().alias(f"{part}_{short}")
        for part in PARTS
        for role, short in zip(ROLES, numbers.SHORT_ROLES, strict=True)
    ]
    grouped = scored.group_by("subset", "unit", maintain_order=True).agg(*columns, error=pl.col("error").drop_nulls().first())
    return grouped.drop("subset", "unit")


def predictions_text(scored: pl.DataFrame) -> str:
    """A prediction file in the authors' format. A sentence without a score is not in it."""
    usable = scored.filter(pl.col("score").is_not_null())
    shown = {
        subset: usable.filter(pl.col("subset") == subset).select("id", "score").to_dicts()
        for subset in SUBSETS
        if subset in usable["subset"].unique().to_list()
    }
    return json.dumps(shown) + "\n"


def _parts(items: pl.DataFrame, size: int) -> Iterator[list[tuple[str, str, str]]]:
    for start in range(0, items.height, size):
        yield [tuple(row) for row in items.slice(start, size).select("subset", "context", "text").iter_rows()]


def _analysis_text(config: StereosetConfig, wide: pl.DataFrame, cells: dict[tuple[str, str], Cell], scorer: Scorer[Any]) -> str:
    found = analysis.analysis_json(wide, cells, num_examples=config.num_examples)
    return json.dumps({**found, "how": dict(scorer.identity), "data": str(config.data)}, indent=2, ensure_ascii=False) + "\n"


def _paths(output: Path) -> dict[str, Path]:
    stem = Path(output).with_suffix("")
    return {
        "rows": Path(output),
        "analysis": stem.with_name(f"{stem.name}_analysis.json"),
        "predictions": stem.with_name(f"{stem.name}_predictions.json"),
        "scores": stem.with_name(f"{stem.name}.scores.parquet"),
        "measurements": stem.with_name(f"{stem.name}.measurements.parquet"),
    }


def _stored(config: StereosetConfig, run: Run) -> AuditResult:
    """The sealed result, from the folder alone."""
    paths = _paths(config.output)
    wide = analysis.read_results(paths["rows"])
    cells = numbers.measure_cells(wide, draws=config.draws, seed=0)
    facts = {
        **json.loads(paths["analysis"].read_text(encoding="utf-8")),
        "counts": run.entry["counts"],
        "seconds": run.entry["seconds"],
    }
    return AuditResult(
        {"cells": cell_table(cells), "measurements": tables.read(paths["measurements"])}, facts, list(paths.values())
    )
