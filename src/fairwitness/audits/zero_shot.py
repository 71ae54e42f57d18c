"""Zero-shot classification of a file of texts, row by row, resumable; with attributions for some of the rows if asked.

Reads the table, scores it part by part through the engine, writes the predictions as they come. Nothing grows with the number of
rows but one number a row, and that only where a base rate is to be matched. Explaining is zero_shot_explained.py's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from fairwitness import tables
from fairwitness.audits.result import AuditResult, TablesOnDisk
from fairwitness.audits.zero_shot_prompts import write_spread
from fairwitness.engine.choose import map_parts
from fairwitness.engine.options import EngineOptions, check_engine, runs_here
from fairwitness.errors import InputError, listing
from fairwitness.files import file_hash, require_file
from fairwitness.options import require_config
from fairwitness.progress import progress, say
from fairwitness.runs import Run, open_run
from fairwitness.scorers.zero_shot import ZeroShot


@dataclass(frozen=True, kw_only=True)
class ZeroShotConfig(EngineOptions):
    """Everything a zero-shot audit can be told."""

    in_: Path
    """Table of texts: Parquet, CSV, TSV, JSON lines or JSON."""
    text_col: str
    """Column that holds the text."""
    task: str
    """toxicity, hate, offense, toxicity-examples (with worked examples), or a .toml file with positive, negative and prompt."""
    out: Path
    """Where the predictions go (.parquet, .csv, …); its folder becomes the run's folder."""
    model: str = "smollm2"
    """Built-in name, Hugging Face name, local folder or GGUF file of a causal language model."""
    max_rows: int = 2000
    """Score only the first rows; 0 for all of them."""
    label_col: str | None = None
    """Column with the true label, copied through."""
    id_cols: tuple[str, ...] = ()
    """Identity columns, copied through."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:1 or mps."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Number format of the weights; auto is bfloat16 where the hardware multiplies it natively."""
    force_float32: bool = False
    """The same as --dtype float32."""
    quantize: bool = False
    """Load in 4 bits with bitsandbytes (CUDA only)."""
    chat: bool = False
    """Wrap the prompt in the model's own chat template."""
    normalize: Literal["none", "tokens"] = "none"
    """tokens: compare mean log-probabilities per label token instead of sums."""
    calibrate: Literal["none", "content-free", "prior"] = "none"
    """content-free: subtract the score of an empty text. prior: shift so that --base_rate of the rows are positive."""
    base_rate: float | None = None
    """Share of positive rows for --calibrate prior."""
    threshold: float = 0.0
    """pred is 1 where the score is above this."""
    prompts: int = 1
    """Repeat over this many wordings of the prompt and report the spread."""
    label_prefix: str = ""
    """Put before both labels, for instance a space."""
    max_tokens: int = 0
    """Most tokens of a prompt; the text is cut to fit. 0: the model's context."""
    token_budget: int = 0
    """Tokens sent through the model at once; 0: chosen by device, halved when memory runs out."""
    explain: bool = False
    """Compute Integrated Gradients for the first --ig_rows rows."""
    save_heatmaps: bool = False
    """The same, and draw them."""
    ig_rows: int = 25
    """How many rows are explained."""
    ig_steps: int = 32
    """Gradient evaluations of the first round (adaptive), or of all (fixed rules)."""
    ig_baseline: Literal["mean", "blank", "eos", "pad", "zero"] = "mean"
    """What stands for an absent text. zero is the published method: uniform steps over the whole prompt."""
    ig_rule: Literal["adaptive", "gauss", "midpoint", "published"] | None = None
    """How the path is integrated; left out: adaptive, or published with the zero baseline."""
    ig_path: Literal["text", "prompt"] | None = None
    """Which tokens move from the baseline; left out: the text's, or the whole prompt's with the zero baseline."""
    ig_tol: float = 0.05
    """Go on until the summed interval error is below this share of the difference explained."""
    ig_max_steps: int = 256
    """Stop after this many gradient evaluations; the row is marked as not converged."""
    ig_dtype: Literal["float32", "same"] = "float32"
    """Number format of the gradients; same: that of the scores. In bfloat16 hardly any row converges."""
    identity_words: Path | None = None
    """TOML file of identity words by group, instead of the built-in ones."""
    rationale_col: str | None = None
    """Column of 0/1 marks, one per word of the text, to compare the attributions with."""
    restart: bool = False
    """Start over where the folder holds the answer to another question."""

    def scorer(self) -> ZeroShot:
        """The scorer these settings ask for."""
        return ZeroShot(
            model=self.model,
            task=self.task,
            device=self.device,
            dtype="float32" if self.force_float32 else self.dtype,
            quantize=self.quantize,
            chat=self.chat,
            normalize=self.normalize,
            content_free=self.calibrate == "content-free",
            label_prefix=self.label_prefix,
            prompts=self.prompts,
            max_tokens=self.max_tokens,
            token_budget=self.token_budget,
        )


def zero_shot(config: ZeroShotConfig) -> AuditResult:
    """Score a file of texts as `config` says, write the predictions to `config.out`, and explain some of them if asked."""
    require_config(config, ZeroShotConfig)
    _validate(config)
    scorer = config.scorer()
    scored = _scored(config, scorer)
    if not (config.explain or config.save_heatmaps):
        return scored
    from fairwitness.audits.zero_shot_explained import explain

    explained = explain(config, scorer, scored.table)
    found = TablesOnDisk.joined(scored.tables, explained.tables)
    return AuditResult(found, {**scored.facts, **explained.facts}, [*scored.files, *explained.files])


def _scored(config: ZeroShotConfig, scorer: ZeroShot) -> AuditResult:
    question = _question(config, scorer)
    data, inputs = {"in": file_hash(config.in_)}, {"in": config.in_}
    with open_run(config.out, "zeroshot", question, restart=config.restart, data=data, inputs=inputs) as run:
        if run.sealed:
            say(f"{config.out} is already there and answers this question.")
            return _stored(config, run)
        facts = _predict(config, scorer, run)
        outputs = [config.out, *([write_spread(config, scorer)] if config.prompts > 1 else [])]
        counts = {name: facts.pop(name) for name in ("asked", "scored", "failed")}
        run.seal(outputs, counts, **facts)
        return _stored(config, run)


def _validate(config: ZeroShotConfig) -> None:
    check_engine(config)
    schema = tables.scan(require_file(config.in_)).collect_schema()
    tables.require_columns(schema.names(), [config.text_col], config.in_, flag="--text_col")
    tables.require_columns(schema.names(), [config.label_col] if config.label_col else [], config.in_, flag="--label_col")
    tables.require_columns(schema.names(), config.id_cols, config.in_, flag="--id_cols")
    tables.require_columns(
        schema.names(), [config.rationale_col] if config.rationale_col else [], config.in_, flag="--rationale_col"
    )
    if schema[config.text_col] not in (pl.String, pl.Null):
        words = [name for name, dtype in schema.items() if dtype == pl.String]
        kind = schema[config.text_col]
        raise InputError(
            f"Column '{config.text_col}' of {config.in_} holds {kind}, not text. Text columns: {listing(words) or 'none'}."
        )
    if config.out.suffix.lower() not in tables.SUFFIXES:
        raise InputError(f"--out {config.out}: the ending must be one of {', '.join(tables.SUFFIXES)}.")
    if config.out.resolve() == config.in_.resolve():
        raise InputError(f"--out and --in are the same file, {config.in_}.")
    _validate_numbers(config)


def _validate_numbers(config: ZeroShotConfig) -> None:
    at_least = {"max_rows": 0, "ig_rows": 1, "ig_steps": 1, "ig_max_steps": 1, "max_tokens": 0, "token_budget": 0, "prompts": 1}
    for name, least in at_least.items():
        if getattr(config, name) < least:
            raise InputError(f"--{name} is {getattr(config, name)}; it must be at least {least}.")
    if not 0 < config.ig_tol < np.inf:
        raise InputError(f"--ig_tol is {config.ig_tol}; it must be a number above 0.")
    if not np.isfinite(config.threshold):
        raise InputError(f"--threshold is {config.threshold}; it must be a finite number.")
    if config.calibrate == "prior" and (config.base_rate is None or not 0 < config.base_rate < 1):
        raise InputError("--calibrate prior needs --base_rate, the expected share of positive rows, between 0 and 1.")
    if config.calibrate != "prior" and config.base_rate is not None:
        raise InputError("--base_rate is used with --calibrate prior only.")
    if config.force_float32 and config.dtype not in ("auto", "float32"):
        raise InputError(f"--force_float32 and --dtype {config.dtype} contradict each other.")


# What the predictions depend on beside the scorer. Where it runs and how it is packed change nothing beyond rounding.
_ASKED = ("text_col", "max_rows", "label_col", "id_cols", "calibrate", "base_rate", "threshold")


def _question(config: ZeroShotConfig, scorer: ZeroShot) -> dict[str, Any]:
    asked = {name: getattr(config, name) for name in _ASKED}
    return {"data": file_hash(config.in_), "task": scorer.question.name, **asked, **scorer.identity}


def _predict(config: ZeroShotConfig, scorer: ZeroShot, run: Run) -> dict[str, Any]:
    asked = _rows_asked(config)
    facts: dict[str, Any] = {"asked": asked, "scored": 0, "failed": 0, "truncated": 0}
    with progress(f"zero-shot {scorer.question.name}", asked) as advance:
        shift = _prior_shifts(config, scorer, run, advance) if config.calibrate == "prior" else {}
        with tables.writer(config.out) as append:
            for piece in _predicted(config, scorer, run, shift, advance if config.calibrate != "prior" else lambda _done: None):
                append(piece)
                facts["failed"] += piece["error"].count()
                facts["truncated"] += int(piece["truncated"].fill_null(False).sum())
    facts["scored"] = asked - facts["failed"]
    facts["number_format"] = scorer.resolved_dtype
    if config.calibrate == "prior":
        facts["subtracted"] = shift.get("score", 0.0)
    return facts | (_seen_here(config, scorer) if runs_here(config) else {})


def _seen_here(config: ZeroShotConfig, scorer: ZeroShot) -> dict[str, Any]:
    """What only a process that holds the model knows. Elsewhere it would have to be loaded here for nothing but this."""
    facts: dict[str, Any] = {} if config.calibrate == "prior" else {"subtracted": scorer.offsets[0]}
    facts |= {"label_lengths": [len(tokens) for tokens in scorer.labels], "device": str(scorer.lm.device)}
    return facts | {"packed": scorer.lm.packs, "batches_halved": scorer.lm.batches_halved}


def _rows_asked(config: ZeroShotConfig) -> int:
    there = tables.count_rows(config.in_)
    if there == 0:
        raise InputError(f"{config.in_} has no rows.")
    return min(there, config.max_rows) if config.max_rows else there


def _prior_shifts(config: ZeroShotConfig, scorer: ZeroShot, run: Run, advance: Any) -> dict[str, float]:
    """For each wording, what brings `base_rate` of the rows above the threshold. The parts stay on disk for a second walk."""
    assert config.base_rate is not None
    seen: dict[str, list[np.ndarray]] = {name: [np.zeros(0)] for name in _score_columns(config)}
    for part in map_parts(scorer, _texts(config, scorer), run.parts, options=config, advance=advance):
        fine = part.filter(pl.col("error").is_null())
        for name in seen if fine.height else ():
            seen[name].append(fine[name].to_numpy())
    every = {name: np.concatenate(values) for name, values in seen.items()}
    ends = {name: float(np.quantile(values, 1 - config.base_rate)) for name, values in every.items() if len(values)}
    return {name: end - config.threshold for name, end in ends.items()}


def _score_columns(config: ZeroShotConfig) -> list[str]:
    return ["score", *(f"score_{number + 1}" for number in range(1, config.prompts))]


def _texts(config: ZeroShotConfig, scorer: ZeroShot) -> Iterator[list[str | None]]:
    for piece in pieces(config, [config.text_col], scorer.rows_per_part):
        yield _usable(piece[config.text_col])


def _usable(texts: pl.Series) -> list[str | None]:
    """Texts, and None for what has nothing to read in it."""
    return [text if text is not None and text.strip() else None for text in texts.cast(pl.String).to_list()]


def pieces(config: ZeroShotConfig, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
    """The first `max_rows` rows of the input in pieces of exactly `size`, so that a resumed run meets the same parts again."""
    left = config.max_rows or 2**62
    held = pl.DataFrame()
    for batch in tables.batches(config.in_, columns, rows=max(size, 4096)):
        batch = batch.head(left)
        left -= batch.height
        held = batch if held.is_empty() else pl.concat([held, batch])
        while held.height >= size:
            yield held.head(size)
            held = held.slice(size)
        if left <= 0:
            break
    if held.height:
        yield held


def _predicted(
    config: ZeroShotConfig, scorer: ZeroShot, run: Run, shift: Mapping[str, float], advance: Any
) -> Iterator[pl.DataFrame]:
    kept = list(dict.fromkeys([*([config.label_col] if config.label_col else []), *config.id_cols]))
    parts = map_parts(scorer, _texts(config, scorer), run.parts, options=config, advance=advance)
    start = 0
    for copied, part in zip(pieces(config, [config.text_col, *kept], scorer.rows_per_part), parts, strict=True):
        yield _rows(config, part, shift, start).hstack(copied.select(_not_ours(copied, kept)))
        start += copied.height


def _rows(config: ZeroShotConfig, part: pl.DataFrame, shift: Mapping[str, float], start: int) -> pl.DataFrame:
    scores = _score_columns(config)
    wanted = {"lp_pos": pl.Float64, "lp_neg": pl.Float64, "truncated": pl.Boolean, **dict.fromkeys(scores, pl.Float64)}
    # A part in which every row failed has no columns of the scorer's.
    part = part.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in wanted.items() if name not in part.columns)
    fine = pl.col("error").is_null()
    part = part.with_columns(pl.when(fine).then(pl.col(name)) for name in ("lp_pos", "lp_neg", *scores))
    part = part.with_columns(pl.col(name) - shift.get(name, 0.0) for name in scores)
    part = part.with_columns(pred=(pl.col("score") > config.threshold).cast(pl.Int64))
    columns = ["pred", "score", "lp_pos", "lp_neg", "error", "truncated", *scores[1:]]
    if config.prompts > 1:
        every = pl.concat_list(scores)
        part = part.with_columns(score_mean=pl.when(fine).then(every.list.mean()), score_sd=pl.when(fine).then(every.list.std()))
        columns += ["score_mean", "score_sd"]
    index = pl.Series("idx", range(start, start + part.height), pl.Int64)
    return pl.DataFrame([index]).hstack(part.select(columns))


_OURS = {"idx", "pred", "score", "lp_pos", "lp_neg", "error", "truncated"}


def _not_ours(copied: pl.DataFrame, kept: Sequence[str]) -> list[str]:
    clash = sorted(_OURS & set(kept))
    if clash:
        raise InputError(f"Column '{clash[0]}' of the input would overwrite one of ours. Rename it first.")
    return list(kept)


def _stored(config: ZeroShotConfig, run: Run) -> AuditResult:
    """The sealed result, from the folder alone."""
    files = [run.folder / name for name in run.entry["outputs"]]
    found = {"predictions": config.out}
    for path in files:
        if path.suffix == ".csv" and path != config.out:
            found[path.name.removeprefix(f"{config.out.stem}.").removesuffix(".csv")] = path
    keep = ("counts", "truncated", "subtracted", "label_lengths", "device", "number_format", "packed", "seconds", "explained")
    return AuditResult(TablesOnDisk(found), {key: run.entry[key] for key in keep if key in run.entry}, files)
