"""Majorities and "undefined", and annotations that go out and come back the same."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.authoring.test_annotation_store import sentences

from fairwitness.authoring.agreement import measure_agreement
from fairwitness.authoring.annotation_store import AnnotationStore
from fairwitness.authoring.exchange import export, import_annotations, render
from fairwitness.authoring.records import read_rows
from fairwitness.authoring.schema import load_schema
from fairwitness.authoring.votes import Vote, apply, decide, raw_annotations, read_votes
from fairwitness.errors import InputError

KOSBI, SQUARE = load_schema("kosbi"), load_schema("square")


def votes(*said: tuple) -> list[Vote]:
    return [
        Vote(annotator=f"p{n}", label=one[0], sub_labels=tuple(one[1]), includes=one[2] if len(one) > 2 else None)
        for n, one in enumerate(said)
    ]


@pytest.mark.parametrize(
    ("said", "label", "sub_label", "include"),
    [
        ([("safe", (), True)] * 3, "safe", None, 1),
        ([("safe", (), True), ("safe", (), True), ("unsafe", ("other",), False)], "safe", None, 1),
        ([("unsafe", ("stereotype",), True)] * 2 + [("safe", (), True)], "unsafe", "stereotype", 1),
        ([("unsafe", ("stereotype",), True), ("unsafe", ("other",), True), ("safe", (), True)], "unsafe", "undefined", 1),
        ([("unsafe", ("stereotype",), True), ("undecided", (), True), ("safe", (), True)], "undecided", None, 1),
        ([("safe", (), True), ("unsafe", ("other",), False)], "undecided", None, None),
        ([("undecided", (), True)] * 3, "undecided", None, 1),
        ([(None, (), False)] * 3, None, None, 0),
        ([("unsafe", ("other",), True)], "unsafe", "other", 1),
    ],
)
def test_contexts(said: list, label: str | None, sub_label: str | None, include: int | None) -> None:
    row = apply(KOSBI.first, {"context": "c"}, decide(KOSBI.first, votes(*said)))
    assert (row["context_label"], row["context_sub_label"], row["include?"]) == (label, sub_label, include)


@pytest.mark.parametrize(
    ("said", "label", "sub_labels"),
    [
        ([("unsafe", ("stereotype_explicit", "prejudice_explicit"))] * 2 + [("safe", ())], "unsafe",
         ["stereotype_explicit", "prejudice_explicit"]),
        ([("unsafe", ("stereotype_explicit", "other")), ("unsafe", ("stereotype_explicit",)), ("safe", ())], "unsafe",
         ["stereotype_explicit"]),
        ([("unsafe", ("stereotype_explicit",)), ("unsafe", ("other",)), ("unsafe", ("prejudice_implicit",))], "unsafe",
         ["undefined"]),
        ([("safe", ()), ("unsafe", ("other",))], None, None),
        ([], None, None),
    ],
)  # fmt: skip
def test_sentences(said: list, label: str | None, sub_labels: list | None) -> None:
    verdict = decide(KOSBI.second, votes(*said))
    row = apply(KOSBI.second, {}, verdict)
    assert (row["sentence_label"], row["sentence_sub_label"]) == (label, sub_labels)
    assert verdict.decided == (label is not None or not said)


def vote_of(kind) -> st.SearchStrategy[Vote]:
    def build(label: str, include: bool | None, chosen: list[str]) -> Vote:
        allowed = [name for name in kind.sub_labels.get(label, ()) if name in chosen]
        return Vote(annotator="p", label=label, includes=include, sub_labels=tuple(allowed if kind.several else allowed[:1]))

    names = [name for names in kind.sub_labels.values() for name in names]
    include = st.booleans() if kind.include else st.none()
    return st.builds(build, st.sampled_from(kind.labels), include, st.lists(st.sampled_from(names)))


@pytest.mark.parametrize("kind", [KOSBI.first, KOSBI.second, SQUARE.first, SQUARE.second], ids=lambda kind: kind.name)
def test_raw_annotations_are_read_back(kind) -> None:
    @settings(max_examples=40, deadline=None)
    @given(st.lists(vote_of(kind), max_size=4))
    def check(said: list[Vote]) -> None:
        named = [Vote(**{**vars(vote), "annotator": f"p{number}"}) for number, vote in enumerate(said)]
        assert read_votes(kind, {"raw_annotations": raw_annotations(kind, named)}, "x") == named

    check()


def filled(path: Path) -> AnnotationStore:
    store = AnnotationStore(path)
    store.create(KOSBI, KOSBI.second, sentences(4), per_item=2)
    for name in ("ann", "bob", 'eve "the comma, "'):
        store.add_annotator(name)
    for place, item in enumerate(store.items()):
        store.save(item.id, Vote(annotator="ann", label="safe"))
        label, sub = ("safe", ()) if place else ("unsafe", ("stereotype_explicit", "other"))
        store.save(item.id, Vote(annotator='eve "the comma, "', label=label, sub_labels=sub))
    return store


@pytest.mark.parametrize("form", ["kosbi", "labelstudio", "csv"])
def test_formats_go_out_and_come_back(tmp_path: Path, form: str) -> None:
    store = filled(tmp_path / "a.sqlite")
    store.rule(store.items()[0].id, Vote(annotator="lead", label="unsafe", sub_labels=("other",)))
    path = export(store, tmp_path / f"out.{'csv' if form == 'csv' else 'json'}", form)
    other = AnnotationStore(tmp_path / "b.sqlite")
    other.create(KOSBI, KOSBI.second, [], per_item=2)
    assert import_annotations(other, path) == (4, 8)
    assert sorted(map(str, other.votes().values())) == sorted(map(str, store.votes().values()))
    assert list(other.rulings().values()) == list(store.rulings().values())
    assert import_annotations(other, path) == (0, 0), "what is there is not taken twice"
    if form == "kosbi":
        assert render(other, other.items(), "kosbi") == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("a.json", '[{"data": {}, "annotations": [{"result": 3}]}]', "row 1 is not a task of Label Studio"),
        ("a.json", '[{"sentence": "x", "raw_annotations": []}]', "'raw_annotations' is list"),
        ("a.csv", "id,annotator,label\n1,ann,safe\n", "no column 'sentence'"),
        ("a.csv", "annotator,label,sentence,context\nann,sfae,x,c\n", "line 2: Unknown label 'sfae'. .*Did you mean|line 2"),
    ],
)
def test_bad_imports(tmp_path: Path, name: str, text: str, match: str) -> None:
    store = filled(tmp_path / "a.sqlite")
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=match):
        import_annotations(store, tmp_path / name)


def test_agreement_of_one_annotator_is_undefined(tmp_path: Path) -> None:
    store = AnnotationStore(tmp_path / "a.sqlite")
    store.create(KOSBI, KOSBI.second, sentences(3), per_item=1)
    store.add_annotator("ann")
    for item in store.items():
        store.save(item.id, Vote(annotator="ann", label="safe"))
    measured = measure_agreement(KOSBI, store.items(), store.votes())
    assert measured.alpha["value"].is_nan().all()
    assert measured.alpha["n"].to_list() == [0, 0, 0]
    assert measured.kappa.height == 0
    assert measured.annotators["value"].is_nan().all()


def test_agreement_of_square(shared: Path) -> None:
    """Real annotations: 480 responses; α as the krippendorff package gives it."""
    import krippendorff
    import numpy as np

    from fairwitness.metrics.agreement import krippendorff_alpha

    rows = read_rows(shared / "data" / "square" / "response_test_ood_annotations.json")
    answers: dict[str, dict[int, str]] = {}
    for number, row in enumerate(rows):
        for vote in read_votes(SQUARE.second, row, "x"):
            if vote.label:
                answers.setdefault(vote.annotator, {})[number] = vote.label
    table = np.full((len(answers), len(rows)), np.nan)
    for place, said in enumerate(answers.values()):
        for number, label in said.items():
            table[place, number] = SQUARE.second.classes.index(label)
    assert krippendorff_alpha(list(answers.values())) == pytest.approx(krippendorff.alpha(table, level_of_measurement="nominal"))
