"""Readers of what people bring from elsewhere: annotations, scores to analyse, labels to join, raw datasets in further layouts."""

import json
import os
from functools import partial
from pathlib import Path

import polars as pl
from tests.fuzz.reader import Reader
from tests.fuzz.rooms import ROW, _raw

KOSBI = {
    **ROW,
    "raw_annotations": {"label": [["safe"], ["unsafe"]], "sub_label": [[], ["stereotype_explicit"]], "worker": ["a", "b"]},
}
STUDIO = {
    "data": {"context": "A family moved in.", "sentence": "They brought a cake."},
    "annotations": [{"completed_by": "ann", "result": [{"from_name": "label", "value": {"choices": ["safe"]}}]}],
}
CSV = (
    b"id,annotator,adjudicated,includes,label,sub_labels,context,sentence\n"
    b"1,ann,0,,safe,,A family moved in.,They brought a cake.\n1,bob,0,,unsafe,stereotype_explicit,A family moved in.,They left.\n"
)
SCORES = b"id,text,unit,role,score,error,category,sentiment\na/x,hello,a,x,0.1,,race,neutral\na/y,hello,a,y,0.3,,race,neutral\n"
LABELS = b"idx,label,male\n0,1,1\n1,0,0\n2,1,0\n3,0,1\n"
CROWS = b",sent_more,sent_less,stereo_antistereo,bias_type,annotations\n0,He is here.,She is here.,stereo,gender,x\n"
HATECHECK = (
    b"functionality,case_id,test_case,label_gold,target_ident,direction,focus_words,templ_id\n"
    b"f,1,a mild text,hateful,women,general,,2\n"
)


def _annotations(path: Path) -> None:
    from fairwitness.authoring.annotation_store import AnnotationStore
    from fairwitness.authoring.exchange import import_annotations
    from fairwitness.authoring.schema import load_schema

    place = path.parent / "store.sqlite"
    for name in ("store.sqlite", "store.sqlite-wal", "store.sqlite-shm"):
        (path.parent / name).unlink(missing_ok=True)
    schema, store = load_schema("kosbi"), AnnotationStore(place)
    store.create(schema, schema.second, [], per_item=2)
    import_annotations(store, path)


def _scores(path: Path) -> None:
    from fairwitness.audits.counterfactual import read_scores
    from fairwitness.audits.counterfactual_analysis import analysis
    from fairwitness.metrics.paired import Comparison

    analysis(read_scores(path), Comparison(resamples=10))


def _labels(path: Path) -> None:
    from fairwitness.audits.fairness import FairnessConfig, audit_fairness

    preds = path.parent / "preds.parquet"
    if not preds.exists():
        pl.DataFrame({"idx": [0, 1, 2, 3], "pred": [0, 1, 1, 0]}).write_parquet(preds)
    asked = {"label_col": "label", "id_cols": ("male",), "min_group_size": 1, "charts": False, "restart": True}
    audit_fairness(FairnessConfig(preds=preds, labels_file=path, out=path.parent / "out" / "r.csv", **asked))  # type: ignore[arg-type]


def _elsewhere(path: Path) -> None:
    """A run's record that lies in somebody else's bucket."""
    from fairwitness import places, runs

    os.environ["FAIRWITNESS_CACHE"] = str(path.parent / "cache")
    place = places.open_place(f"memory://fuzz-{os.getpid()}")
    place.write("run.json", path.read_bytes())
    folder = places.local(f"{place.url}/zs.parquet").parent
    runs.read_manifest(folder)


_JSON = json.dumps
WORDS = (
    "annotator",
    "label",
    "sub_labels",
    "includes",
    "context",
    "sentence",
    "adjudicated",
    "safe",
    "unsafe",
    "data",
    "annotations",
)

IMPORTS: dict[str, Reader] = {
    "annotations_json": Reader(_annotations, "a.json", (_JSON([KOSBI]).encode(),), (*WORDS, "raw_annotations")),
    "annotations_labelstudio": Reader(_annotations, "s.json", (_JSON([STUDIO]).encode(),), (*WORDS, "result", "value", "choices")),
    "annotations_csv": Reader(_annotations, "a.csv", (CSV,), WORDS),
    "counterfactual_scores": Reader(_scores, "s.csv", (SCORES,), ("unit", "role", "score", "error", "category", "sentiment")),
    "labels_file": Reader(_labels, "l.csv", (LABELS,), ("idx", "label", "male")),
    "record_elsewhere": Reader(
        _elsewhere,
        "r.json",
        (_JSON({"format": 1, "audits": {"zs": {"outputs": {"zs.parquet": "0", "../x": "1"}, "status": "done"}}}).encode(),),
        ("audits", "outputs", "zs", "../x", "/etc/passwd", "status"),
    ),
    "raw_crows": Reader(
        partial(_raw, "crows_pairs"), "crows_pairs_anonymized.csv", (CROWS,), ("sent_more", "sent_less", "bias_type")
    ),
    "raw_hatecheck": Reader(partial(_raw, "hatecheck"), "test_suite_cases.csv", (HATECHECK,), ("test_case", "label_gold")),
}
