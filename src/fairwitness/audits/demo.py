"""The whole story with what is built in: every audit once, small, and one report at the end.

Each chapter is an ordinary audit in a run of its own, so a second call reads what the first one wrote. A chapter whose packages
are not installed is left out and named. Without the language model's packages, the scores it gave when this version was made are
used instead, and the report says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairwitness import runs, tables
from fairwitness.errors import MissingExtraError
from fairwitness.files import file_hash
from fairwitness.options import Options
from fairwitness.progress import say


@dataclass(frozen=True, kw_only=True)
class DemoConfig(Options):
    """Where the demo goes."""

    out: Path = Path("runs/demo")
    """Folder of the demo; report.html is written into it."""
    restart: bool = False
    """Start over where the folder holds another demo."""


def demo(config: DemoConfig) -> Path:
    """Run every chapter and write the report; returns its path."""
    from fairwitness.audits.reporting import ReportConfig, write_report

    chapters: dict[str, Callable[[DemoConfig], Path]] = {
        "zero-shot toxicity and group fairness": _toxicity,
        "StereoSet-style items": _stereoset,
        "counterfactual identities": _counterfactual,
        "graph user model": _user_model,
    }
    folders = []
    for number, (name, chapter) in enumerate(chapters.items(), start=1):
        say(f"[{number}/{len(chapters)}] {name}")
        try:
            folders.append(chapter(config))
        except MissingExtraError as error:
            say(f"  left out: {error}")
    return write_report(folders, ReportConfig(out=config.out / "report.html", title="Fair Witness: the demo"))


def _toxicity(config: DemoConfig) -> Path:
    """Score the built-in comments with smollm2, explain a few, and measure the groups."""
    from fairwitness.audits.fairness import FairnessConfig, audit_fairness
    from fairwitness.datasets.examples import IDENTITIES, table

    examples = config.out / "examples.parquet"
    if not examples.is_file():
        tables.write(table(), examples)
    try:
        _score_now(config, examples, IDENTITIES)
    except MissingExtraError as error:
        say(f"  {error}\n  Using the scores that smollm2 gave when this version was made.")
        _score_recorded(config, examples)
    question = FairnessConfig(
        preds=config.out / "scores.parquet",
        label_col="target",
        id_cols=IDENTITIES,
        out=config.out / "fairness.csv",
        restart=config.restart,
    )
    audit_fairness(question)
    return config.out


def _score_now(config: DemoConfig, examples: Path, identities: tuple[str, ...]) -> None:
    _require("transformers", "hf", "Scoring with a language model")
    from fairwitness.audits.zero_shot import ZeroShotConfig, zero_shot

    zero_shot(
        ZeroShotConfig(
            in_=examples,
            text_col="comment_text",
            task="toxicity-examples",
            out=config.out / "scores.parquet",
            max_rows=0,
            label_col="target",
            id_cols=identities,
            calibrate="prior",
            base_rate=0.5,
            explain=True,
            ig_rows=6,
            restart=config.restart,
        )
    )


def _score_recorded(config: DemoConfig, examples: Path) -> None:
    """The recorded scores as a run of the same kind, marked as recorded."""
    from fairwitness.datasets.examples import recorded_scores

    out = config.out / "scores.parquet"
    question = {
        "model": "smollm2 (recorded scores)",
        "labels": ["toxic", "non-toxic"],
        "recorded": True,
        "text_col": "comment_text",
        "label_col": "target",
        "data": file_hash(examples),
    }
    data, inputs = {"in": file_hash(examples)}, {"in": examples}
    with runs.open_run(out, "zeroshot", question, restart=config.restart, data=data, inputs=inputs) as run:
        if not run.sealed:
            scores = recorded_scores()
            tables.write(scores, out)
            run.seal([out], {"asked": scores.height, "scored": scores.height, "failed": 0})


def _stereoset(config: DemoConfig) -> Path:
    _require("transformers", "hf", "StereoSet")
    from fairwitness.audits.stereoset import StereosetConfig, stereoset

    stereoset(StereosetConfig(subset="both", output=config.out / "stereoset.csv", restart=config.restart))
    return config.out


def _counterfactual(config: DemoConfig) -> Path:
    _require("profanity_check", "text", "The counterfactual audit")
    from fairwitness.audits.counterfactual import CounterfactualConfig, counterfactual

    folder = config.out / "counterfactual"
    counterfactual(CounterfactualConfig(out=folder, scorer="profanity", restart=config.restart))
    return folder


def _user_model(config: DemoConfig) -> Path:
    _require("torch_geometric", "graphs", "Graph user models")
    from fairwitness.audits.user_model import UserModelConfig, user_model
    from fairwitness.audits.user_model_data import GenerateConfig, generate_graph

    data, folder = config.out / "made_up_shop", config.out / "usermodel"
    # Its record is written last: files without one are of a call that was cut off.
    if not runs.read_manifest(data):
        generate_graph(GenerateConfig(dataset="alibaba", scale=0.02, seed=7, out=data))
    user_model(
        UserModelConfig(
            model="catgcn",
            dataset="alibaba",
            label="buy",
            data_dir=data,
            sens_attr=("gender", "age"),
            graph_layer="pna",
            epochs=30,
            out=folder,
            restart=config.restart,
        )
    )
    return folder


def _require(module: str, extra: str, what: str) -> None:
    from importlib.util import find_spec

    if find_spec(module) is None:
        raise MissingExtraError(module, extra, what)
