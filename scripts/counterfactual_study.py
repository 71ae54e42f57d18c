"""The counterfactual audit of one scorer over three sets of templates (our own, HateCheck, Jigsaw's): the numbers in docs/.

    python scripts/counterfactual_study.py OUT --hatecheck DIR --jigsaw DIR [--scorer zero_shot:smollm2] [--device auto]

OUT then holds study.md (numbers, no texts) and the charts. The three stages can be run apart (`--stage`): `prepare` fills the
templates into OUT/texts.parquet; `score` scores them and, for zero_shot, needs torch, transformers, numpy and pyarrow only (a bare
GPU image); `report` does the arithmetic. A set whose data is not given is left out; `--rows` takes only so many templates of each
category and sentiment, for a trial.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

FILES = {"HateCheck": "test_suite_cases.csv", "Jigsaw": "en_sentence_templates.csv"}
CHUNK = 4096


def prepare(words: argparse.Namespace) -> None:
    """Templates of each set, filled: one row a text, with the set it belongs to."""
    import polars as pl

    from fairwitness.audits.counterfactual_expand import expanded_pieces
    from fairwitness.audits.counterfactual_templates import TemplatesConfig, make_templates

    frames = []
    for name, given in {"our own": None, "HateCheck": words.hatecheck, "Jigsaw": words.jigsaw}.items():
        if name != "our own" and given is None:
            continue
        source = None if given is None else given if given.is_file() else given / FILES[name]
        out = words.out / "templates" / f"{name.replace(' ', '_').lower()}.parquet"
        templates = make_templates(TemplatesConfig(in_=source, out=out, restart=True)).table
        if words.rows:
            templates = templates.group_by("category", "sentiment", maintain_order=True).head(words.rows)
        frames += [piece.with_columns(set=pl.lit(name)) for piece in expanded_pieces(templates)]
        print(f"{name}: {templates.height:,} templates", flush=True)
    pl.concat(frames, how="diagonal_relaxed").write_parquet(words.out / "texts.parquet")


def score(words: argparse.Namespace) -> None:
    """A probability (or an error) for each different text."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = pq.read_table(words.out / "texts.parquet", columns=["text"])["text"].unique().to_pylist()
    answer, start = scorer_of(words), time.monotonic()
    scores: list[float] = []
    errors: list[str | None] = []
    for begin in range(0, len(texts), CHUNK):
        columns = answer(texts[begin : begin + CHUNK])
        scores += [float(value) for value in np.asarray(columns["score"], dtype=np.float64)]
        errors += list(columns["error"])
        print(f"{len(scores):,} of {len(texts):,} texts, {len(scores) / (time.monotonic() - start):,.0f} a second", flush=True)
    pq.write_table(pa.table({"text": texts, "score": scores, "error": pa.array(errors, pa.string())}), words.out / "scored.parquet")


def scorer_of(words: argparse.Namespace) -> Any:
    """The scorer as a function; zero_shot by hand, as `scorer_by_name` makes it, because a bare GPU image has no polars."""
    import numpy as np

    kind, _, model = words.scorer.partition(":")
    if kind != "zero_shot":
        from fairwitness.scorers.by_name import ScorerSettings, scorer_by_name

        return scorer_by_name(words.scorer, ScorerSettings(device=words.device)).score
    from fairwitness.scorers.zero_shot import ZeroShot

    scorer = ZeroShot(model=model or "smollm2", device=words.device, content_free=True)

    def probability(texts: list[str]) -> dict[str, Any]:
        columns = scorer.score(texts)
        return columns | {"score": 1 / (1 + np.exp(-np.clip(np.asarray(columns["score"], dtype=np.float64), -700, 700)))}

    return probability


def report(words: argparse.Namespace) -> None:
    """study.md and the charts."""
    import polars as pl

    from fairwitness.audits.counterfactual import headline
    from fairwitness.audits.counterfactual_analysis import analysis
    from fairwitness.metrics.paired import Comparison
    from fairwitness.report import counterfactual_charts as charts

    scored = pl.read_parquet(words.out / "scored.parquet").with_columns(pl.col("score").fill_nan(None))
    rows = pl.read_parquet(words.out / "texts.parquet").join(scored, on="text", how="left", maintain_order="left")
    failed = rows["error"].count()
    lines = [f"# `{words.scorer}`", "", f"{rows.height:,} texts ({scored.height:,} different), {failed:,} failed.", ""]
    for some in rows.partition_by("set", maintain_order=True):
        name = some["set"][0]
        found = analysis(some.drop("set"), Comparison(), worst=0)
        lines += [f"## {name}", "", *pairs_table(headline(found)), "", *sentiment_table(found["by_group"]), ""]
        lines += mitigation_table(found["mitigation"])
        for category in found["by_group"]["category"].unique(maintain_order=True).to_list():
            stem = f"{name.replace(' ', '_').lower()}_{category}"
            charts.means_chart(found["by_group"], category, words.out / f"{stem}_means.png", title=f"{name}, {category}")
            charts.gaps_chart(found["pairs"], category, words.out / f"{stem}_gaps.png")
    (words.out / "study.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def pairs_table(rows: list[dict[str, Any]]) -> list[str]:
    """For each category the two groups furthest apart on the same templates."""
    lines = ["| category | pair | difference | apart | flips | adjusted p | templates |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        interval = f"{row['difference']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
        shares = f"{row['share_apart']:.0%} | {row['flip_rate']:.0%} | {row['p_adjusted']:.1g}"
        lines.append(f"| {row['category']} | {row['a']} − {row['b']} | {interval} | {shares} | {row['n']:,} |")
    return lines


def sentiment_table(by_group: Any) -> list[str]:
    """Mean score of every group by sentiment, with its interval."""
    names = [name for name in ("neutral", "negative", "positive") if name in by_group["sentiment"].to_list()]
    lines = [f"| category | group | {' | '.join(names)} |", f"|---|---|{'---|' * len(names)}"]
    cells = {(row["category"], row["role"], row["sentiment"]): row for row in by_group.to_dicts()}
    for category, role in dict.fromkeys((category, role) for category, role, _ in cells):
        means = [_mean(cells.get((category, role, name))) for name in names]
        lines.append(f"| {category} | {role} | {' | '.join(means)} |")
    return lines


def mitigation_table(mitigation: Any) -> list[str]:
    """Mitigation before and after, where the templates have labels."""
    if mitigation.is_empty():
        return []
    columns = ("accuracy", "auc", "false_positive_gap", "false_negative_gap")
    lines = ["| category | rows | way | n | accuracy | AUC | gap in false positives | gap in false negatives |", "|" + "---|" * 8]
    for row in mitigation.to_dicts():
        values = ["–" if row[name] is None else f"{row[name]:.3f}" for name in columns]
        lines.append(f"| {row['category']} | {row['rows']} | {row['mitigation']} | {row['n']:,} | {' | '.join(values)} |")
    return [*lines, ""]


def _mean(row: dict[str, Any] | None) -> str:
    return "–" if row is None or row["mean"] is None else f"{row['mean']:.2f} ({row['low']:.2f} to {row['high']:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--hatecheck", type=Path)
    parser.add_argument("--jigsaw", type=Path)
    parser.add_argument("--scorer", default="zero_shot:smollm2")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--stage", choices=("prepare", "score", "report", "all"), default="all")
    words = parser.parse_args()
    words.out.mkdir(parents=True, exist_ok=True)
    for name, stage in {"prepare": prepare, "score": score, "report": report}.items():
        if words.stage in (name, "all"):
            stage(words)


if __name__ == "__main__":
    main()
