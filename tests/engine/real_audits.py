"""Real audits, small enough for a test, that any engine can be asked to do."""

import contextlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import polars as pl

from fairwitness.engine.options import EngineOptions

TEXTS = [
    "You are kind.",
    "This is a mild text about the weather.",
    None,
    "I like trains!",
    "",
    "Nobody asked them.",
    "Good day",
] * 3


def zero_shot(folder: Path, model: Path, options: EngineOptions) -> list[Path]:
    """Scores, and attributions for some rows."""
    from fairwitness.audits.zero_shot import ZeroShotConfig
    from fairwitness.audits.zero_shot import zero_shot as audit

    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"text": TEXTS, "label": [0, 1, 0] * 7}).write_parquet(folder / "texts.parquet")
    settings = {"in_": folder / "texts.parquet", "text_col": "text", "task": "toxicity", "out": folder / "zs.parquet"}
    more = {"model": str(model), "dtype": "float32", "explain": True, "ig_rows": 3, "ig_steps": 4, "ig_max_steps": 8}
    audit(ZeroShotConfig(**settings, **more, **asdict(options)))
    return [folder / "zs.parquet", folder / "zs.ig.parquet"]


def stereoset(folder: Path, model: Path, options: EngineOptions) -> list[Path]:
    """The built-in items."""
    from fairwitness.audits.stereoset import StereosetConfig
    from fairwitness.audits.stereoset import stereoset as audit

    audit(StereosetConfig(model=str(model), dtype="float32", output=folder / "ss.csv", draws=100, **asdict(options)))
    return [folder / "ss.csv"]


def crows(folder: Path, model: Path, options: EngineOptions) -> list[Path]:
    """The built-in pairs."""
    from fairwitness.audits.crows import CrowsConfig
    from fairwitness.audits.crows import crows as audit

    audit(CrowsConfig(model=str(model), dtype="float32", out=folder / "crows.csv", **asdict(options)))
    return [folder / "crows.csv"]


def counterfactual(folder: Path, _model: Path, options: EngineOptions, *, scorer: str = "profanity", url: str = "") -> list[Path]:
    """Some of our own templates under a text scorer or a service."""
    from fairwitness.audits.counterfactual_expand import ExpandConfig, expand
    from fairwitness.audits.counterfactual_score import ScoreConfig, score
    from fairwitness.audits.counterfactual_templates import TemplatesConfig, make_templates

    make_templates(TemplatesConfig(out=folder / "templates.parquet", categories=("gender",)))
    expand(ExpandConfig(in_=folder / "templates.parquet", out=folder / "expanded.parquet", sample=2))
    out = folder / "scores.parquet"
    qps = 1000.0 if url else None
    score(ScoreConfig(in_=folder / "expanded.parquet", out=out, scorer=scorer, url=url, qps=qps, **asdict(options)))
    return [out]


def sensitivity(folder: Path, model: Path, options: EngineOptions) -> list[Path]:
    """Some ways of asking about a few items."""
    from fairwitness.audits.stereoset_sensitivity import SensitivityConfig
    from fairwitness.audits.stereoset_sensitivity import sensitivity as audit

    ways = {"protocols": ("reference", "full"), "start_tokens": (), "dtypes": ("float32",)}
    audit(SensitivityConfig(model=str(model), out=folder / "ways.csv", draws=100, max_samples=4, **ways, **asdict(options)))
    return [folder / "ways.csv"]


def lifeboat(folder: Path, _model: Path, options: EngineOptions) -> list[Path]:
    """A scorer recorded, another fitted to it, and both compared."""
    from fairwitness.audits.lifeboat import CalibrateConfig, CompareConfig, RecordConfig, calibrate, compare, record

    texts = folder / "texts.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"text": [f"{text or 'a text'} {k}" for k, text in enumerate(TEXTS * 2)]}).write_parquet(texts)
    more = asdict(options)
    record(RecordConfig(in_=texts, out=folder / "cassette.parquet", scorer="profanity", keep_text=True, **more))
    calibrate(CalibrateConfig(cassette=folder / "cassette.parquet", out=folder / "calibration.json", folds=2, **more))
    scorers = ("profanity", "calibrated:calibration.json")
    with contextlib.chdir(folder):  # the name is a column's, so it must not hold the folder
        compare(CompareConfig(in_=texts.absolute(), scorers=scorers, out=Path("compared.parquet"), **more))
    return [folder / "compared.parquet"]


AUDITS: dict[str, Callable[[Path, Path, EngineOptions], list[Path]]] = {
    "zero_shot": zero_shot,
    "stereoset": stereoset,
    "crows": crows,
    "counterfactual": counterfactual,
    "sensitivity": sensitivity,
    "lifeboat": lifeboat,
}
