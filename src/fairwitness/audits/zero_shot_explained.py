"""Why the model decided so: attributions for some rows of a zero-shot run, the pictures, and what they add up to by group.

preds.ig.parquet            idx, heatmap, prompt, tokens, attributions, explained, gap, steps, then raw values, words, …
preds.ig_identity.csv       share of attribution on identity words, by group and outcome
preds.ig_rationale.csv      agreement with the words people marked, where the input has marks
ig_heatmaps/row{idx}.png    and ig_heatmaps/heatmaps.html
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from fairwitness import tables
from fairwitness.audits.result import AuditResult
from fairwitness.audits.zero_shot_reasons import identity_table, largest_groups, rationale_table
from fairwitness.engine.choose import map_parts
from fairwitness.errors import InputError
from fairwitness.explain.explainer import Explainer
from fairwitness.explain.integrated_gradients import Settings
from fairwitness.explain.words import IDENTITY_WORDS, groups_of, read_identity_words
from fairwitness.files import file_hash
from fairwitness.progress import progress, say
from fairwitness.runs import Run, open_run

if TYPE_CHECKING:
    from fairwitness.audits.zero_shot import ZeroShotConfig
    from fairwitness.scorers.zero_shot import ZeroShot

_SCHEMA: dict[str, Any] = {
    "prompt": pl.String,
    "tokens": pl.List(pl.String),
    "attributions": pl.List(pl.Float64),
    "explained": pl.Float64,
    "gap": pl.Float64,
    "steps": pl.Int64,
    "converged": pl.Boolean,
    "interval_error": pl.Float64,
    "start": pl.Float64,
    "raw": pl.List(pl.Float64),
    "words": pl.List(pl.String),
    "word_weights": pl.List(pl.Float64),
    "error": pl.String,
}


# More bars than this are a wall; the table has them all.
_BARS = 40


def settings_of(config: "ZeroShotConfig") -> Settings:
    """The integral asked for. The zero baseline is the published method as a whole unless rule or path say otherwise."""
    published = config.ig_baseline == "zero"
    return Settings(
        baseline=config.ig_baseline,
        rule=config.ig_rule or ("published" if published else "adaptive"),
        path=config.ig_path or ("prompt" if published else "text"),
        steps=config.ig_steps,
        tolerance=config.ig_tol,
        max_steps=max(config.ig_max_steps, 3),
    )


def explain(config: "ZeroShotConfig", scorer: "ZeroShot", predictions: pl.DataFrame) -> AuditResult:
    """Explain the first `ig_rows` rows that have a score. An audit of its own in the run folder, so it may be asked for later."""
    explainer = Explainer(scorer, settings_of(config), dtype=config.ig_dtype)
    out = config.out.with_name(f"{config.out.stem}.ig.parquet")
    lists = read_identity_words(config.identity_words) if config.identity_words else IDENTITY_WORDS
    question = {
        "data": file_hash(config.in_),
        "rows": config.ig_rows,
        "drawn": config.save_heatmaps,
        "columns": [config.text_col, config.label_col, list(config.id_cols), config.rationale_col],
        "threshold": [config.threshold, config.calibrate, config.base_rate],
        "words": {group: list(words) for group, words in lists.items()},
        **explainer.identity,
    }
    data, inputs = {"in": file_hash(config.in_)}, {"in": config.in_}
    with open_run(out, "zeroshot-ig", question, restart=config.restart, data=data, inputs=inputs) as run:
        if not run.sealed:
            _explain_now(config, explainer, predictions, run, out, lists)
        return _stored(run, out)


def _explain_now(
    config: "ZeroShotConfig",
    explainer: Explainer,
    predictions: pl.DataFrame,
    run: Run,
    out: Path,
    lists: dict[str, tuple[str, ...]],
) -> None:
    rows = _rows_to_explain(config, predictions)
    with progress("explaining", rows.height) as advance:
        work = _work(rows["text"].to_list(), explainer.rows_per_part)
        table = pl.concat([_typed(part) for part in map_parts(explainer, work, run.parts, options=config, advance=advance)])
    marks = [[bool(group) for group in groups_of(words or [], lists)] for words in table["words"].to_list()]
    table = rows.select("idx").hstack(table).with_columns(pl.Series("identity", marks, pl.List(pl.Boolean)))
    maps = _heatmaps(explainer, table, rows)
    drawn = _draw(config, maps) if config.save_heatmaps else []
    names = [f"ig_heatmaps/row{idx}.png" if config.save_heatmaps and idx in maps else None for idx in table["idx"]]
    table = table.insert_column(1, pl.Series("heatmap", names, pl.String))
    outputs = [tables.write(table, out), *drawn, *_write_reasons(config, table, rows, lists)]
    failed = table["error"].count()
    counts = {"asked": table.height, "scored": table.height - failed, "failed": failed}
    run.seal(outputs, counts, **_facts(explainer, table))


def _rows_to_explain(config: "ZeroShotConfig", predictions: pl.DataFrame) -> pl.DataFrame:
    scored = predictions.filter(pl.col("score").is_not_null())
    if scored.height < config.ig_rows:
        say(f"--ig_rows {config.ig_rows} was asked for; {scored.height} rows have a score, so those are explained.")
    chosen = scored.head(config.ig_rows)
    if chosen.is_empty():
        raise InputError("No row has a score, so there is nothing to explain.")
    wanted = [config.text_col, *([config.rationale_col] if config.rationale_col else [])]
    last = int(chosen["idx"].tail(1).item()) + 1
    texts = tables.read(config.in_, wanted, rows=last).with_row_index("idx").with_columns(pl.col("idx").cast(pl.Int64))
    texts = texts.rename({config.text_col: "text"})
    clash = [name for name in texts.columns if name in chosen.columns and name != "idx"]
    return chosen.drop(clash).join(texts, on="idx", how="left", maintain_order="left")


def _work(texts: Sequence[str], size: int) -> Iterator[list[str]]:
    # Rows of like length share a pass well enough in file order; order is kept so that a resumed run meets the same parts.
    for start in range(0, len(texts), size):
        yield list(texts[start : start + size])


def _typed(part: pl.DataFrame) -> pl.DataFrame:
    part = part.rename({"score": "explained"})
    missing = [name for name in _SCHEMA if name not in part.columns]
    part = part.with_columns(pl.lit(None).alias(name) for name in missing)
    return part.select(pl.col(name).cast(dtype) for name, dtype in _SCHEMA.items())


def _heatmaps(explainer: Explainer, table: pl.DataFrame, rows: pl.DataFrame) -> dict[int, Any]:
    from fairwitness.report.attribution_charts import Heatmap

    question = explainer.scorer.identity
    found = {}
    for row, pred, score in zip(table.iter_rows(named=True), rows["pred"], rows["score"], strict=True):
        if row["error"] is not None or not row["words"]:
            continue
        margin = f"margin {question['labels'][0].strip()} − {question['labels'][1].strip()} = {row['explained']:+.2f}"
        # With --calibrate, --normalize or bfloat16 the margin is not what decided.
        decided = "" if abs(score - row["explained"]) < 0.005 else f" · score {score:+.2f}"
        caution = (
            ""
            if row["converged"]
            else f"NOT CONVERGED: intervals miss by {row['interval_error']:.0%} after {row['steps']} evaluations"
        )
        found[row["idx"]] = Heatmap(
            title=f"row {row['idx']} · {margin}{decided} · pred {pred}",
            words=row["words"],
            values=row["word_weights"],
            marked=row["identity"],
            footer=f"without the text {row['start']:+.2f} · completeness gap {row['gap']:.1%} · {row['steps']} gradient evaluations"
            f" · baseline {explainer.settings.baseline}, {explainer.settings.rule} · {question['model']}",
            converged=bool(row["converged"]),
            caution=caution,
        )
    return found


def _draw(config: "ZeroShotConfig", maps: dict[int, Any]) -> list[Path]:
    from fairwitness.report.attribution_charts import draw_heatmap, write_page

    folder = config.out.parent / "ig_heatmaps"
    files = [draw_heatmap(heatmap, folder / f"row{idx}.png") for idx, heatmap in maps.items()]
    page = write_page(
        {f"row{idx}": heatmap for idx, heatmap in maps.items()}, folder / "heatmaps.html", title="Why the model decided so"
    )
    return [page, *files]


def _write_reasons(
    config: "ZeroShotConfig", table: pl.DataFrame, rows: pl.DataFrame, lists: dict[str, tuple[str, ...]]
) -> list[Path]:
    from fairwitness.report.attribution_charts import draw_identity_share

    stem = config.out.stem
    shares = identity_table(table, rows, label_col=config.label_col, id_cols=config.id_cols, lists=lists)
    outputs = [tables.write(shares, config.out.with_name(f"{stem}.ig_identity.csv"))]
    visible = shares.filter((pl.col("n") > 0) & pl.col("share").is_not_nan())
    if visible.height:
        shown, left_out = largest_groups(visible, _BARS)
        outputs.append(draw_identity_share(shown.to_dicts(), config.out.with_name(f"{stem}.ig_identity.png"), left_out=left_out))
    if config.rationale_col:
        agreement = rationale_table(table, rows[config.rationale_col], label=rows[config.label_col] if config.label_col else None)
        outputs.append(tables.write(agreement, config.out.with_name(f"{stem}.ig_rationale.csv")))
    return outputs


def _facts(explainer: Explainer, table: pl.DataFrame) -> dict[str, Any]:
    fine = table.filter(pl.col("error").is_null())
    return {
        "explained": {
            "method": asdict(explainer.settings),
            "rows": fine.height,
            "converged": int(fine["converged"].sum()),
            "steps_median": fine["steps"].median(),
            "gap_median": fine["gap"].fill_nan(None).median(),
            "gap_max": fine["gap"].fill_nan(None).max(),
        }
    }


def _stored(run: Run, out: Path) -> AuditResult:
    files = [run.folder / name for name in run.entry["outputs"]]
    stem = out.name.removesuffix(".ig.parquet")
    found = {"attributions": tables.read(out)}
    for path in files:
        if path.suffix == ".csv":
            found[path.name.removeprefix(f"{stem}.").removesuffix(".csv")] = tables.read(path)
    return AuditResult(found, {"explained": run.entry["explained"]}, files)
