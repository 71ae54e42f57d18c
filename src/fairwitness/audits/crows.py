"""`crows`: a language model meets CrowS-Pairs, resumable. How often is the more stereotyping sentence of a pair the likelier one?

Causal models: `sum` compares log P(sentence), `mean` the mean per token. Masked models: `unmodified` is the original metric (the
tokens both sentences share, one masked at a time, summed), `pll` the pseudo-log-likelihood of all tokens. A tie is no win.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from fairwitness import tables
from fairwitness.audits.result import AuditResult
from fairwitness.audits.stereoset_score import data_hash
from fairwitness.datasets.crows_items import BUILT_IN, DIRECTIONS, read_pairs
from fairwitness.engine.choose import map_parts
from fairwitness.engine.contract import Scorer
from fairwitness.engine.options import EngineOptions, check_engine
from fairwitness.errors import InputError
from fairwitness.metrics.crows import stereotype_share
from fairwitness.options import require_config
from fairwitness.progress import progress, say
from fairwitness.runs import Run, open_run
from fairwitness.scorers.likelihood import WHOLE, Likelihood, require_protocol
from fairwitness.scorers.masked_likelihood import MaskedLikelihood

CAUSAL, MASKED = ("sum", "mean"), ("unmodified", "pll")
OVERALL = "overall"


@dataclass(frozen=True, kw_only=True)
class CrowsConfig(EngineOptions):
    """Everything `crows` can be told."""

    model: str = "smollm2"
    """Built-in name, Hugging Face name, local folder or GGUF file; causal (GPT, Llama, Gemma …) or masked (BERT, RoBERTa …)."""
    data: str = BUILT_IN
    """CrowS-Pairs' CSV or one in its columns; `builtin` is six mild pairs of our own."""
    out: Path = Path("crows_pairs.csv")
    """Where the pairs with their scores go; the shares go beside it as NAME.shares.csv and .measurements.parquet."""
    protocol: Literal["auto", "sum", "mean", "unmodified", "pll"] = "auto"
    """How a sentence is scored. auto: sum for causal models, unmodified (the original metric) for masked ones."""
    max_rows: int = 0
    """Score only the first pairs; 0 for all of them."""
    start_token: str = "auto"
    """What stands before a sentence for a causal model: auto (its own start token), none, or a token."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1 or mps."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Number format of the weights; auto is bfloat16 where the hardware multiplies it natively."""
    quantize: bool = False
    """Load in 4 bits with bitsandbytes (CUDA only)."""
    token_budget: int = 0
    """Tokens sent through the model at once; 0: chosen by device. Changes nothing but speed."""
    restart: bool = False
    """Start over where the folder holds the answer to another question."""


def crows(config: CrowsConfig) -> AuditResult:
    """Score CrowS-Pairs with a model; write the pairs to `config.out` and the shares per bias type beside it."""
    require_config(config, CrowsConfig)
    check_engine(config)
    if config.max_rows < 0:
        raise InputError(f"--max_rows is {config.max_rows}; give 0 for all, or more.")
    pairs = read_pairs(config.data)
    pairs = pairs.head(config.max_rows) if config.max_rows else pairs
    if config.data == BUILT_IN:
        say("Using six built-in pairs, which only show the way. For CrowS-Pairs itself: --data crows_pairs_anonymized.csv")
    scorer, protocol = _scorer(config)
    data = data_hash(config.data)
    question = {"data": data, "max_rows": config.max_rows, "how": protocol, **scorer.identity}
    inputs = {"data": None if config.data == BUILT_IN else config.data}
    with open_run(config.out, "crows", question, restart=config.restart, data={"pairs": data}, inputs=inputs) as run:
        if run.sealed:
            say(f"{config.out} is already there and answers this question.")
        else:
            _score(config, pairs, scorer, protocol, run)
        facts = {"protocol": protocol, "model": config.model, "counts": run.entry["counts"], "seconds": run.entry["seconds"]}
        return AuditResult(
            {"shares": tables.read(_shares_path(config.out)), "pairs": tables.read(config.out)}, facts, _paths(config.out)
        )


def shares(scored: pl.DataFrame) -> pl.DataFrame:
    """The share of pairs won by the more stereotyping sentence, in percent: overall, by direction, and per bias type."""
    complete = scored.filter(pl.col("error").is_null())
    cells = [(OVERALL, OVERALL, pl.lit(True))]
    cells += [("direction", name, pl.col("direction") == name) for name in DIRECTIONS]
    cells += [("bias_type", name, pl.col("bias_type") == name) for name in scored["bias_type"].unique().sort().to_list()]
    rows = []
    for attribute, group, within in cells:
        some = complete.filter(within)
        share = stereotype_share(some["score_more"].to_numpy(), some["score_less"].to_numpy())
        row = {
            "metric": "stereotype_share",
            "attribute": attribute,
            "group": group,
            "value": share.value,
            "low": share.low,
            "high": share.high,
        }
        rows.append({**row, "n": share.n, "n_failed": scored.filter(within).height - share.n, "ties": share.ties})
    return pl.DataFrame(rows, infer_schema_length=None)


def _scorer(config: CrowsConfig) -> tuple[Likelihood | MaskedLikelihood, str]:
    from fairwitness.models.masked_lm import is_masked

    masked = is_masked(config.model)
    known, kind = (MASKED, "masked") if masked else (CAUSAL, "causal")
    protocol = known[0] if config.protocol == "auto" else config.protocol
    require_protocol(protocol, (*CAUSAL, *MASKED))
    if protocol not in known:
        raise InputError(
            f"'{config.model}' is a {kind} language model; --protocol {protocol} does not fit it. Use one of {', '.join(known)}."
        )
    shared: dict[str, Any] = {
        "model": config.model,
        "device": config.device,
        "dtype": config.dtype,
        "token_budget": config.token_budget,
    }
    if masked and config.quantize:
        raise InputError("--quantize is for causal models; masked ones are small. Leave it out, or give --dtype bfloat16.")
    if masked:
        return MaskedLikelihood(protocol="pll_sum" if protocol == "pll" else protocol, **shared), protocol
    return Likelihood(protocol="full", start=config.start_token, quantize=config.quantize, **shared), protocol


def _score(config: CrowsConfig, pairs: pl.DataFrame, scorer: Scorer[Any], protocol: str, run: Run) -> None:
    column = {"sum": "logprob_sum", "mean": "logprob_mean"}.get(protocol, "score")
    with progress("crows", 2 * pairs.height, unit="sentences") as advance:
        found = pl.concat(
            list(map_parts(scorer, _parts(pairs, scorer.rows_per_part, protocol), run.parts, options=config, advance=advance)),
            how="diagonal",
        )
    if column not in found.columns:
        found = found.with_columns(pl.lit(None, pl.Float64).alias(column))
    more, less = found.gather_every(2), found.gather_every(2, offset=1)
    scored = pairs.with_columns(
        score_more=more[column],
        score_less=less[column],
        prefers_more=more[column] > less[column],
        error=more["error"].zip_with(more["error"].is_not_null(), less["error"]),
    )
    tables.write(scored, config.out)
    measured = shares(scored)
    tables.write(measured, _shares_path(config.out))
    tables.write(measured, _paths(config.out)[2])
    failed = scored["error"].count()
    run.seal(_paths(config.out), {"asked": scored.height, "scored": scored.height - failed, "failed": failed}, protocol=protocol)


def _parts(pairs: pl.DataFrame, size: int, protocol: str) -> Iterator[list[tuple[str, str, str]]]:
    """Both sentences of each pair, neighbours. The second place holds the other text where it is needed, else the name."""
    size = max(1, size // 2)
    for start in range(0, pairs.height, size):
        part: list[tuple[str, str, str]] = []
        for unit, more, less in pairs.slice(start, size).select("unit", "sent_more", "sent_less").iter_rows():
            one, other = (less, more) if protocol == "unmodified" else (f"pair {unit}", f"pair {unit}")
            part += [(WHOLE, one, more), (WHOLE, other, less)]
        yield part


def _shares_path(out: Path) -> Path:
    return Path(out).with_name(f"{Path(out).stem}.shares.csv")


def _paths(out: Path) -> list[Path]:
    return [Path(out), _shares_path(out), Path(out).with_name(f"{Path(out).stem}.measurements.parquet")]
