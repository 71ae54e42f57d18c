"""Tables of a trained user model: predictions of all users, performance on the test part, and numbers over several seeds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fairwitness.metrics.intervals import wilson

if TYPE_CHECKING:
    from fairwitness.audits.user_model_setup import Prepared

# The four metrics of the paper, as they are called in the multigroup table.
FOUR = (
    "statistical_parity_spread",
    "equal_opportunity_spread",
    "overall_accuracy_equality_spread",
    "treatment_equality_fp_over_fn_spread",
)
_RESERVED = ("idx", "user_id", "split", "label", "pred", "score", "error")


def prediction_table(prepared: "Prepared", trained: Any) -> pl.DataFrame:
    """One row a user: id, part, label, prediction, a probability per class, all columns of the users, and what is wrong.

    A user of a part without a value for an asked sensitive attribute is a failed row: `error` says which is missing.
    """
    graph, label = prepared.graph, prepared.label
    n = graph.n_users
    names = [str(value) for value in label.values]
    best = trained.probabilities.argmax(axis=1)
    data: dict[str, Any] = {
        "idx": np.arange(n),
        "user_id": graph.user_ids,
        "split": trained.split.names(n).tolist(),
        "label": label.decoded(),
        "pred": [label.values[code] for code in best.tolist()],
    }
    data |= {f"prob_{name}": trained.probabilities[:, index] for index, name in enumerate(names)}
    data |= {_column_name(name): codes.decoded() for name, codes in graph.columns.items()}
    data["error"] = _errors(prepared)
    return pl.DataFrame(data, schema_overrides={"error": pl.String}, strict=False)


def _column_name(name: str) -> str:
    return f"user_{name}" if name in _RESERVED or name.startswith("prob_") else name


def _errors(prepared: "Prepared") -> list[str | None]:
    errors: list[str | None] = [None] * prepared.graph.n_users
    for row in np.flatnonzero(prepared.label.codes < 0).tolist():
        errors[row] = "no label"
    for name, count in prepared.missing.items():
        if count:
            for row in np.flatnonzero(prepared.graph.columns[name].codes < 0).tolist():
                errors[row] = f"no value for sensitive attribute '{name}'"
    return errors


def performance(test: pl.DataFrame, classes: Sequence[Any], *, confidence: float = 0.95) -> pl.DataFrame:
    """Accuracy and macro-F1 of the test part, then precision, recall and F1 of every class: metric, class, value, low, high, n.

    Macro-F1 is the mean over classes that occur as a truth or a prediction. A quotient without a denominator is undefined.
    """
    truth, pred = test["label"].to_list(), test["pred"].to_list()
    right = sum(t == p for t, p in zip(truth, pred, strict=True))
    low, high = wilson(right, len(truth), confidence=confidence)
    rows: list[dict[str, Any]] = []
    scores = []
    for value in classes:
        hits = sum(t == value and p == value for t, p in zip(truth, pred, strict=True))
        real, called = truth.count(value), pred.count(value)
        if real + called:
            scores.append(2 * hits / (real + called))
        for name, above, below in (("precision", hits, called), ("recall", hits, real)):
            ends = wilson(above, below, confidence=confidence)
            rows.append(_row(name, str(value), above / below if below else None, float(ends[0]), float(ends[1]), below))
        rows.append(_row("f1", str(value), 2 * hits / (real + called) if real + called else None, None, None, real))
    first = [
        _row("accuracy", None, right / len(truth), float(low), float(high), len(truth)),
        _row("macro_f1", None, sum(scores) / len(scores), None, None, len(truth)),
    ]
    schema = {"metric": pl.String, "class": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
    return pl.DataFrame(first + rows, schema=schema).with_columns(pl.selectors.float().fill_nan(None))


def _row(metric: str, class_: str | None, value: float | None, low: float | None, high: float | None, n: int) -> dict[str, Any]:
    return {"metric": metric, "class": class_, "value": value, "low": low, "high": high, "n": n}


def spreads(seed: int, scores: pl.DataFrame, multigroup: pl.DataFrame) -> pl.DataFrame:
    """One seed's overall performance and every spread over groups: seed, metric, attribute, class, value, n."""
    overall = scores.filter(pl.col("class").is_null()).with_columns(attribute=pl.lit(None, pl.String))
    gaps = multigroup.filter(pl.col("metric").str.ends_with("_spread"))
    columns = ["metric", "attribute", "class", "value", "n"]
    return pl.concat([overall.select(columns), gaps.select(columns)]).insert_column(0, pl.lit(seed, pl.Int64).alias("seed"))


def over_seeds(every: pl.DataFrame) -> pl.DataFrame:
    """Mean, standard deviation (n−1), smallest and largest over seeds; a seed where it was undefined is counted, not used."""
    value = pl.col("value")
    return every.group_by("metric", "attribute", "class", maintain_order=True).agg(
        mean=value.mean(),
        sd=value.std(),
        min=value.min(),
        max=value.max(),
        n_seeds=value.count(),
        n_undefined=value.is_null().sum(),
    )
