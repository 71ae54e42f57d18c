"""Every audit, made small. Each takes the run's folder and a tiny model, and answers one question that never changes."""

from collections.abc import Callable
from pathlib import Path

TEXTS = ["You are kind.", "A mild text about the weather.", None, "I like trains!", "", "Nobody asked them.", "Good day"] * 4


def _table(path: Path) -> Path:
    import polars as pl

    from fairwitness import tables

    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = range(len(TEXTS))
        columns = {"idx": list(rows), "text": TEXTS, "label": [k % 2 for k in rows], "pred": [k % 3 == 0 for k in rows]}
        frame = pl.DataFrame({**columns, "male": [k % 4 < 2 for k in rows]}).cast({"pred": pl.Int64, "male": pl.Int64})
        tables.write(frame, path)  # atomically: two copies of an audit may make it at the same moment
    return path


def zero_shot(folder: Path, model: Path, *, explain: bool = True) -> None:
    """Scores in parts of four, then attributions."""
    from fairwitness.audits.zero_shot import ZeroShotConfig
    from fairwitness.audits.zero_shot import zero_shot as audit
    from fairwitness.scorers.zero_shot import ZeroShot

    ZeroShot.rows_per_part = 4  # type: ignore[assignment, method-assign]
    audit(
        ZeroShotConfig(
            in_=_table(folder.parent / "in" / "texts.parquet"),
            text_col="text",
            task="toxicity",
            out=folder / "zs.parquet",
            model=str(model),
            dtype="float32",
            explain=explain,
            ig_rows=3,
            ig_steps=2,
            ig_max_steps=2,
        )
    )


def stereoset(folder: Path, model: Path) -> None:
    """The built-in items."""
    from fairwitness.audits.stereoset import StereosetConfig
    from fairwitness.audits.stereoset import stereoset as audit

    audit(StereosetConfig(model=str(model), dtype="float32", output=folder / "ss.csv", draws=100, max_samples=3))


def crows(folder: Path, model: Path) -> None:
    """The built-in pairs."""
    from fairwitness.audits.crows import CrowsConfig
    from fairwitness.audits.crows import crows as audit

    audit(CrowsConfig(model=str(model), dtype="float32", out=folder / "crows.csv"))


def counterfactual(folder: Path, _model: Path) -> None:
    """All four steps with the scorer that is always there."""
    from fairwitness.audits.counterfactual import CounterfactualConfig
    from fairwitness.audits.counterfactual import counterfactual as audit

    audit(CounterfactualConfig(out=folder, categories=("gender",), sample=1, resamples=100, charts=False))


def fairness(folder: Path, _model: Path) -> None:
    """The tables of a file of predictions, without charts."""
    from fairwitness.audits.fairness import FairnessConfig, audit_fairness

    preds = _table(folder.parent / "in" / "texts.parquet")
    audit_fairness(
        FairnessConfig(preds=preds, label_col="label", id_cols=("male",), out=folder / "r.csv", min_group_size=1, charts=False)
    )


def user_model(folder: Path, _model: Path) -> None:
    """A graph model over a few epochs."""
    from tests.graphs.toy import write_toy

    from fairwitness.audits.user_model import UserModelConfig
    from fairwitness.audits.user_model import user_model as audit

    if not (folder.parent / "toy").exists():
        write_toy(folder.parent / "toy")
    settings = {"graph_layer": "pna", "epochs": 3, "min_group_size": 1, "sens_attr": ("age",), "charts": False, "seed": 3}
    audit(
        UserModelConfig(model="catgcn", dataset="nba", label="salary", data_dir=folder.parent / "toy", out=folder, **settings)  # type: ignore[arg-type]
    )


AUDITS: dict[str, Callable[[Path, Path], None]] = {
    "zero_shot": zero_shot,
    "stereoset": stereoset,
    "crows": crows,
    "counterfactual": counterfactual,
    "fairness": fairness,
    "user_model": user_model,
}
