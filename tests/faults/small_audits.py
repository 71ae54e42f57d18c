"""Every audit, made small. Each takes the run's folder and a tiny model, and answers one question that never changes."""

import contextlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


def _put(path: Path, text: str) -> Path:
    """An input, where it is not there already: the disk may be full or locked by now."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
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


def sensitivity(folder: Path, model: Path) -> None:
    """Two ways of asking about a few items."""
    from fairwitness.audits.stereoset_sensitivity import SensitivityConfig
    from fairwitness.audits.stereoset_sensitivity import sensitivity as audit

    ways = {"protocols": ("reference", "full"), "start_tokens": (), "dtypes": ("float32",)}
    audit(SensitivityConfig(model=str(model), out=folder / "ways.csv", draws=100, max_samples=2, **ways))  # type: ignore[arg-type]


def stereoset_files(folder: Path, _model: Path) -> None:
    """A prediction file scored, and a result analysed with its charts."""
    from fairwitness.audits.stereoset_analyze import AnalyzeConfig, analyze
    from fairwitness.audits.stereoset_score import ScoreConfig, score_predictions
    from fairwitness.datasets.stereoset_items import read_items

    inputs = folder.parent / "in"
    if not (inputs / "ss.csv").exists():
        inputs.mkdir(parents=True, exist_ok=True)
        items = read_items()
        scores = {subset: [] for subset in items["subset"].unique().sort().to_list()}
        for number, (name, subset) in enumerate(items.select("id", "subset").iter_rows()):
            scores[subset].append({"id": name, "score": -1.0 - number % 7})
        (inputs / "p.json").write_text(json.dumps(scores))
        rows = ["id,bias_type,context,target,sentence_options,sentence_scores,predicted_option,predicted_label,gold_labels"]
        labels = "['stereotype', 'anti-stereotype', 'unrelated']"
        for k in range(12):
            said = [f"i{k}", "profession", "He is here.", f"t{k % 3}", "['a', 'b', 'c']", str([-k % 5, -k % 3, -k % 7]), "0"]
            rows.append(",".join(f'"{cell}"' for cell in [*said, "stereotype", labels]))
        (inputs / "ss.csv").write_text("\n".join(rows) + "\n")
    with contextlib.chdir(inputs):  # the result holds the name of the file
        score_predictions(ScoreConfig(predictions=Path("p.json"), out=folder / "r.json", draws=100))
    analyze(AnalyzeConfig(csv=inputs / "ss.csv", output_plot=folder / "bars.png", draws=100))


def lifeboat(folder: Path, _model: Path) -> None:
    """A scorer recorded, replayed and compared, and another fitted to it."""
    from fairwitness.audits.lifeboat import CalibrateConfig, CompareConfig, RecordConfig, calibrate, compare, record

    texts = folder.parent / "in" / "lifeboat.parquet"
    if not texts.exists():
        import polars as pl

        from fairwitness import tables

        texts.parent.mkdir(parents=True, exist_ok=True)
        tables.write(pl.DataFrame({"text": [f"{text or 'a text'} {k}" for k, text in enumerate(TEXTS)]}), texts)
    record(RecordConfig(in_=texts, out=folder / "cassette.parquet", scorer="profanity", keep_text=True))
    calibrate(CalibrateConfig(cassette=folder / "cassette.parquet", out=folder / "calibration.json", folds=2))
    with contextlib.chdir(folder):  # a scorer's name is a column's, so it must not hold the folder
        compare(CompareConfig(in_=texts, scorers=("profanity", "cassette:cassette.parquet"), out=folder / "both.parquet"))


def download(folder: Path, _model: Path) -> None:
    """The built-in examples as a table."""
    from fairwitness.datasets.download import DownloadConfig
    from fairwitness.datasets.download import download as get

    get(DownloadConfig(dataset="examples", out=folder / "examples.parquet"))


def suite(folder: Path, _model: Path) -> None:
    """Two audits from a TOML file, then their comparison and one page over both."""
    from fairwitness.cli.app import call

    preds = _table(folder.parent / "in" / "texts.parquet")
    written = folder.parent / "in" / "suite.toml"
    audits = "".join(
        f'[[audit]]\nverb = "fairness"\nname = "{name}"\npreds = "{preds}"\nlabel_col = "label"\nid_cols = ["male"]\n'
        f"min_group_size = {size}\ncharts = false\n"
        for name, size in (("a", 1), ("b", 2))
    )
    _put(written, f'out = "{folder}"\n{audits}')
    with contextlib.redirect_stdout(io.StringIO()):
        call(["run", str(written), "--out", str(folder / "report.html")])
        call(["compare", str(folder / "a"), str(folder / "b"), "--out", str(folder / "changes.csv")])
        call(["report", str(folder / "a"), str(folder / "b"), "--out", str(folder / "page" / "report.html")])


def kosbi(folder: Path, _model: Path) -> None:
    """The whole authoring loop, with a service (its address is in the environment) and two annotators who are never tired.

    What was on its way at a kill is asked again, as `--ask again` does; left as it is by default, it is a failure that is counted.
    """
    from fairwitness.authoring.annotation_store import AnnotationStore
    from fairwitness.authoring.loop import run_loop
    from fairwitness.authoring.loop_config import read_loop
    from fairwitness.authoring.votes import Vote
    from fairwitness.cli.kosbi import _audit as audit_filter
    from fairwitness.errors import EvidenceError

    config = read_loop(_loop_file(folder))

    def vote(name: str, row: dict[str, Any]) -> Vote:
        if "sentence" not in row:
            included = not row["context"].split()[0].startswith(("0", "1", "2"))
            return Vote(annotator=name, label="safe" if included else None, includes=included)
        unsafe = "late" in row["sentence"]
        return Vote(annotator=name, label="unsafe" if unsafe else "safe", sub_labels=("stereotype_explicit",) if unsafe else ())

    for kind in ("contexts", "sentences", ""):
        try:
            run_loop(config, audit=audit_filter)
        except EvidenceError:
            store = AnnotationStore(folder / "iter1" / f"{kind}.sqlite")
            for name in ("ann", "bob"):
                store.add_annotator(name)
                while (item := store.next_item(name)) is not None:
                    store.save(item.id, vote(name, item.row))


def _loop_file(folder: Path) -> Path:
    from tests.authoring.conftest import GROUPS, context_demos, sentence_demos

    inputs = folder.parent / "in"
    for name, value in (("groups", GROUPS), ("contexts", context_demos()), ("sentences", sentence_demos())):
        _put(inputs / f"{name}.json", json.dumps(value))
    return _put(
        inputs / "loop.toml",
        f'''name = "little"
folder = "{folder}"
groups = "groups.json"
context_demos = "contexts.json"
sentence_demos = "sentences.json"
annotators_per_item = 2
most_ambiguous_ratio = 0.5
[service]
api_url = "{os.environ["FAULTS_SERVICE"]}"
model = "m"
language = "en"
cache = "{inputs / "answers.sqlite"}"
ask = "again"
near_duplicate = 2.0
[contexts]
num_generations = 3
[sentences]
num_generations_per_context = 2
[filter]
epoch = 2
filter_model_type = "ngram"
''',
    )


AUDITS: dict[str, Callable[[Path, Path], None]] = {
    "zero_shot": zero_shot,
    "stereoset": stereoset,
    "crows": crows,
    "counterfactual": counterfactual,
    "fairness": fairness,
    "user_model": user_model,
    "sensitivity": sensitivity,
    "stereoset_files": stereoset_files,
    "lifeboat": lifeboat,
    "download": download,
    "suite": suite,
    "kosbi": kosbi,
}
