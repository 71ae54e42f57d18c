"""The third step of the counterfactual audit: filled texts → scores, by any scorer, and what that will ask of a service."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from fairwitness import runs, tables
from fairwitness.audits.counterfactual_steps import check_columns, facts_of
from fairwitness.audits.result import AuditResult
from fairwitness.engine.choose import map_parts
from fairwitness.engine.options import EngineOptions, check_engine
from fairwitness.files import file_hash
from fairwitness.models.pacing import seconds_for
from fairwitness.models.service import IN_DOUBT
from fairwitness.progress import progress, say
from fairwitness.scorers.by_name import ScorerSettings, TextScorer, scorer_by_name
from fairwitness.scorers.service_options import ServiceOptions


@dataclass(frozen=True, kw_only=True)
class ScoreConfig(ServiceOptions, EngineOptions):
    """Which scorer sees the texts."""

    in_: Path
    """The filled texts: the output of `expand`."""
    out: Path = Path("counterfactual/scores.parquet")
    """Where the scores go."""
    scorer: str = "profanity"
    """profanity, zero_shot:MODEL, hf:MODEL, perspective, openai-moderation, http:FILE.toml, cassette:FILE, calibrated:FILE."""
    threshold: float = 0.5
    """A score from here on counts as toxic (`pred`)."""
    device: str = "auto"
    """cpu, cuda, or auto, for models that run here."""
    task: str = "toxicity"
    """What zero_shot is asked: toxicity, hate, offense."""
    restart: bool = False
    """Start over even if the folder holds another question's results."""


def score(config: ScoreConfig) -> AuditResult:
    """Score every text. Answers are kept as they come; a killed run goes on where it stopped."""
    check_engine(config)
    check_columns(config.in_, ("text", "unit", "role"))
    scorer = scorer_by_name(config.scorer, ScorerSettings.of(config))
    question = {"step": "score", "scorer": scorer.identity, "threshold": config.threshold}
    data = {str(config.in_): file_hash(config.in_)}
    question["texts"] = data[str(config.in_)]
    inputs = {"in": config.in_}
    with runs.open_run(config.out, "counterfactual score", question, restart=config.restart, data=data, inputs=inputs) as run:
        if not run.sealed:
            budget = budget_of(scorer, config.in_)
            if budget["line"]:
                say(budget["line"])
            counts = _score_into(config, scorer, run)
            if doubtful := counts.pop("in_doubt"):
                say(
                    f"{doubtful:,} texts were on their way when an earlier run was killed and may have been paid for; they are "
                    "unscored. To ask them once more: --ask again --restart (everything else comes from the cache)."
                )
            calls = getattr(scorer.inner, "calls", None)
            run.seal([config.out], counts, budget=budget, ledger=calls.ledger.as_dict() if calls else {}, scorer=config.scorer)
        return AuditResult({"scores": tables.read(config.out, rows=1000)}, facts_of(run), [config.out])


def budget_of(scorer: TextScorer, path: Path) -> dict[str, Any]:
    """What scoring will ask of a service: calls, those answered before, the time at this quota, and a sample's cost."""
    calls = getattr(scorer.inner, "calls", None)
    if calls is None:
        return {"line": "", "calls": 0}
    texts = tables.read(path, ["text"])["text"].unique(maintain_order=True).to_list()
    asked, known = calls.budget([scorer.inner.request(text) for text in texts if text])
    sampled = _sampled_texts(path, 10)
    limits = calls.client.limits
    seconds = seconds_for(asked - known, per_minute=limits.per_minute, qps=limits.qps)
    sample_seconds = seconds_for(min(sampled, asked), per_minute=limits.per_minute, qps=limits.qps)
    line = (
        f"{len(texts):,} different texts for {scorer.name}: {known:,} answered before, {asked - known:,} calls to make"
        f"{_time(seconds)}. With --sample 10 (templates a category and sentiment): at most {min(sampled, asked):,} calls"
        f"{_time(sample_seconds)}."
    )
    return {
        "line": line,
        "texts": len(texts),
        "calls": asked - known,
        "answered_before": known,
        "seconds": seconds,
        "sample_calls": sampled,
    }


def _sampled_texts(path: Path, size: int) -> int:
    """How many texts a sample of so many templates for each category and sentiment has; a table without those is one stratum."""
    by = [name for name in ("category", "sentiment") if name in tables.columns_of(path)]
    strata = tables.read(path, ["unit", "role", *by]).with_columns(pl.lit(0).alias("_all"))
    counted = strata.group_by(by or ["_all"]).agg(units=pl.col("unit").n_unique(), roles=pl.col("role").n_unique())
    return int(counted.select((pl.min_horizontal("units", size) * pl.col("roles")).sum()).item())


def _score_into(config: ScoreConfig, scorer: TextScorer, run: runs.Run) -> dict[str, int]:
    total, failed, in_doubt = tables.count_rows(config.in_), 0, 0
    kept = [name for name in tables.columns_of(config.in_) if name not in ("score", "pred", "error")]
    size = scorer.rows_per_part
    # The texts are read once to be scored and the rows once more to be written: an engine may ask for all texts before it answers.
    work = (piece["text"].to_list() for piece in tables.batches(config.in_, ["text"], rows=size))
    rows = tables.batches(config.in_, kept, rows=size)
    with tables.writer(config.out) as append, progress(f"scoring with {scorer.name}", total) as advance:
        for piece, scored in zip(rows, map_parts(scorer, work, run.parts, options=config, advance=advance), strict=True):
            failed += scored["error"].count()
            in_doubt += int((scored["error"] == IN_DOUBT).sum())
            pred = (pl.col("score") >= config.threshold).cast(pl.Int8)
            append(pl.concat([piece, _columns(scored)], how="horizontal").with_columns(pred=pred))
    return {"asked": total, "scored": total - failed, "failed": failed, "in_doubt": in_doubt}


def _columns(scored: pl.DataFrame) -> pl.DataFrame:
    """Score and error first; a part with nothing but errors may have null-typed columns, which no file could append to."""
    parts = [name for name in scored.columns if name not in ("score", "error")]
    casts = {name: pl.Float64 for name in parts if scored[name].dtype in (pl.Null, pl.Float32) or scored[name].dtype.is_integer()}
    return scored.select("score", "error", *parts).cast(casts)  # type: ignore[arg-type]


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for name, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f" (about {seconds / length:.1f} {name} at this quota)"
    return f" (about {seconds:.0f} s at this quota)"
