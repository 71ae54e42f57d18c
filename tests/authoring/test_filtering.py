"""Variability and what it selects, augmentation, and loud refusals where there is no evidence."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.authoring.conftest import write

from fairwitness.authoring import augmentation, filtering
from fairwitness.authoring.augmentation import AugmentContextsConfig, AugmentSentencesConfig, augment_contexts, augment_sentences
from fairwitness.authoring.filtering import FilterSentencesConfig, filter_sentences
from fairwitness.authoring.variability import estimated_max_variability, most_variable, most_variable_of_each
from fairwitness.errors import EvidenceError, InputError, ModelError
from fairwitness.models.text_classifier import Checkpoint

# What three checkpoints say of each sentence, as the logit of class 1 (safe); its spread is what counts.
LOGITS = {"s0": (0, 0, 0), "s1": (2, -2, 0), "s2": (1, -1, 0), "u0": (3, -3, 0), "u1": (0, 0, 1), "u2": (1, 1, 1), "t0": (0, 4, -4)}


class FakeModel:
    about: dict = {}  # noqa: RUF012

    def __init__(self, number: int) -> None:
        self.number = number

    def logits(self, items):
        values = np.array([LOGITS[item[1]][self.number] for item in items], float)
        return np.stack([-values, values], axis=1)


class FakeCheckpoint(Checkpoint):
    def load(self):
        return FakeModel(self.epoch)


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [FakeCheckpoint(number, 0.5, Path(f"ckpt-{number}")) for number in range(3)]
    for module in (filtering, augmentation):
        monkeypatch.setattr(module, "usable_checkpoints", lambda _folder, epochs: found[:epochs])


def drafted(texts: dict[str, list[tuple[str | None, str | None]]]) -> list[dict]:
    return [
        {
            "id": f"id-{context}",
            "demographic_category": "age",
            "demographic_group_set": "a, b",
            "demographic_group": "a",
            "context": context,
            "context_label": "safe",
            "context_sub_label": None,
            "generations": [{"sentence_safe": safe, "sentence_unsafe": unsafe} for safe, unsafe in pairs],
        }
        for context, pairs in texts.items()
    ]


DRAFTS = {"c1": [("s0", "u0"), ("s1", "u1"), ("s2", "u2")], "c2": [("t0", None)]}


def config(tmp_path: Path, **more: object) -> FilterSentencesConfig:
    path = write(tmp_path / "drafts.json", drafted(DRAFTS))
    return FilterSentencesConfig(**{"input_fname": path, "filter_model_ckpt_dir": tmp_path, "output_dir": tmp_path / "out", **more})


def texts(filtered) -> list[str]:
    return [row["sentence"] for row in filtered.rows]


def test_published_selection(tmp_path: Path, three: None) -> None:
    """Of every three drafts of a context and class the most variable; one draft alone is kept; empty sides are no rows."""
    done = filter_sentences(config(tmp_path))
    assert texts(done) == ["s1", "t0", "u0"]
    assert [row["generation_info"]["intended_label"] for row in done.rows] == ["safe", "safe", "unsafe"]
    assert done.rows[0]["generation_info"]["demographic_group_set"] == "a, b"
    assert done.rows[0]["context_id"] == "id-c1"
    assert {row["sentence"] for row in done.rejected} == {"s0", "s2", "u1", "u2"}
    extra = filter_sentences(config(tmp_path, num_extra_ambiguous_samples=2, output_dir=tmp_path / "b"))
    assert texts(extra) == ["s1", "t0", "u0", "s2", "u1"]


def test_top_k_and_all(tmp_path: Path, three: None) -> None:
    assert texts(filter_sentences(config(tmp_path, selection="top_k", top_k=2))) == ["t0", "s1", "u0", "u1"]
    everything = filter_sentences(config(tmp_path, selection="all", output_dir=tmp_path / "b"))
    assert len(everything.rows) == 7
    with pytest.raises(InputError, match="needs --top_k"):
        filter_sentences(config(tmp_path, selection="top_k", output_dir=tmp_path / "c"))


def test_without_a_model_everything_stays(tmp_path: Path) -> None:
    done = filter_sentences(config(tmp_path, filter_model_ckpt_dir=None))
    assert texts(done) == ["s0", "s1", "s2", "t0", "u0", "u1", "u2"]
    assert "variability" not in done.rows[0]["generation_info"]


def test_no_checkpoints_is_refused_loudly(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"There are no checkpoints in .* Train some: fairwitness kosbi train-filter"):
        filter_sentences(config(tmp_path))
    (tmp_path / "lightning.ckpt").write_bytes(b"pickle")
    with pytest.raises(ModelError, match=r"lightning.ckpt, a pickle that could run code"):
        filter_sentences(config(tmp_path))
    with pytest.raises(ModelError, match="is not a folder"):
        filter_sentences(config(tmp_path, filter_model_ckpt_dir=tmp_path / "nowhere"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("shape", [(0, 3, 2), (1, 3, 2)])
def test_variability_of_too_few_checkpoints(shape: tuple[int, int, int]) -> None:
    with pytest.raises(EvidenceError, match="at least two checkpoints"):
        estimated_max_variability(np.zeros(shape))


def test_variability_of_nonsense() -> None:
    with pytest.raises(EvidenceError, match="not a finite number"):
        estimated_max_variability([[[np.nan, 0.5]], [[0.5, 0.5]]])
    with pytest.raises(InputError, match="shape"):
        estimated_max_variability([[0.5, 0.5]])


@settings(deadline=None)
@given(st.lists(st.floats(0, 0.5), min_size=1, max_size=30), st.integers(1, 5))
def test_selections_of_any_values(values: list[float], size: int) -> None:
    units = [place // 4 for place in range(len(values))]
    chosen = most_variable_of_each(units, values, size)
    assert len(set(chosen)) == len(chosen)
    assert {units[place] for place in chosen} == set(units)
    best = most_variable(values, size)
    assert [values[place] for place in best] == sorted(values, reverse=True)[:size]


def annotated(text: str, label: str, *said: str) -> dict:
    raw = [{"workerID": number, "sentence_label": one} for number, one in enumerate(said)]
    return {"context": "c", "sentence": text, "sentence_label": label, "raw_annotations": {"Q2: Safe or Unsafe": raw}}


def augment(tmp_path: Path, rows: list[dict], **more: object) -> list[dict]:
    fixed = {"filter_model_ckpt_dir": tmp_path, "most_ambiguous_ratio": 0.5, "output_dir": tmp_path / "demo"}
    return augment_sentences(AugmentSentencesConfig(**{"input_fname": write(tmp_path / "r.json", rows), **fixed, **more}))


ANNOTATED = [
    annotated("s0", "safe", "safe", "safe"),
    annotated("s1", "safe", "safe", "SAFE"),
    annotated("s2", "safe", "safe", "unsafe"),
    annotated("u0", "unsafe", "unsafe", "unsafe", "unsafe"),
    annotated("u1", "unsafe", "0", "unsafe"),
    annotated("u2", "unsafe", "unsafe", "safe"),
]


def test_augmentation_takes_the_unanimous_and_ambiguous(tmp_path: Path, three: None) -> None:
    pool = augment(tmp_path, ANNOTATED)
    assert [row["sentence"] for row in pool] == ["u0", "s1"], "unsafe first, then safe; the more variable half of each"


def test_a_previous_pool_is_extended_and_ranked_anew(tmp_path: Path, three: None) -> None:
    previous = [{"context": "c", "sentence": "t0", "sentence_label": "safe", "sentence_sub_label": ["stereotypical_explicit"]}]
    pool = augment(tmp_path, ANNOTATED, prev_demo_fname=write(tmp_path / "p.json", previous))
    assert [row["sentence"] for row in pool] == ["u0", "t0"]
    assert pool[1] == previous[0], "a row is handed on as it is, whatever its spelling"


def test_annotations_from_one_annotator_only(tmp_path: Path, three: None, capsys: pytest.CaptureFixture[str]) -> None:
    alone = [annotated(text, "safe", "safe") for text in ("s0", "s1", "s2", "t0")]
    with pytest.raises(EvidenceError, match="fewer than 2 annotators"):
        augment(tmp_path, alone)
    assert len(augment(tmp_path, alone, min_annotators=1)) == 2
    mixed = augment(tmp_path, [*alone, *ANNOTATED], output_dir=tmp_path / "b")
    assert [row["sentence"] for row in mixed] == ["u0", "s1"]
    assert "4 of 10 rows" in capsys.readouterr().err


def test_augmentation_of_bad_rows(tmp_path: Path, three: None) -> None:
    with pytest.raises(InputError, match="has 'raw_annotations'"):
        augment(tmp_path, [{"context": "c", "sentence": "s0", "sentence_label": "safe"}])
    with pytest.raises(InputError, match=r"row 1.*Unknown label 'maybe'"):
        augment(tmp_path, [annotated("s0", "safe", "safe", "maybe")])
    with pytest.raises(EvidenceError, match="is not one row"):
        augment(tmp_path, ANNOTATED[:1])


def test_augmenting_contexts(tmp_path: Path) -> None:
    rows = [{"context": f"x{n}", "include?": value} for n, value in enumerate([0, 1, None, "1", True])]
    asked = AugmentContextsConfig(input_fname=write(tmp_path / "c.json", rows), output_dir=tmp_path / "demo")
    assert [row["context"] for row in augment_contexts(asked)] == ["x1", "x3", "x4"]
    previous = write(tmp_path / "p.json", [{"context": "p"}])
    extended = augment_contexts(replace(asked, prev_demo_fname=previous, output_demo_fname="b.json"))
    assert [row["context"] for row in extended] == ["p", "x1", "x3", "x4"]
    with pytest.raises(InputError, match=r"No row of .* has 'include"):
        augment_contexts(replace(asked, input_fname=previous, output_demo_fname="c.json"))
