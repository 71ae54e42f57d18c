"""Every token's value lands in exactly one word, and identity words are found whatever stands around them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairwitness.errors import InputError
from fairwitness.explain.rationale_agreement import agreement, average_precision
from fairwitness.explain.words import groups_of, identity_share, join, read_identity_words


@settings(deadline=None, max_examples=50)
@given(st.text(min_size=1, max_size=30).filter(lambda text: text.strip()), st.integers(1, 5))
def test_nothing_is_lost_between_tokens_and_words(text: str, size: int) -> None:
    spans = [(start, min(start + size, len(text))) for start in range(0, len(text), size)]
    words, sums = join(text, spans, [1.0] * len(spans))
    assert words == text.split() or len(words) == len(sums)
    assert sums.sum() == pytest.approx(len(spans))


def test_identity_words() -> None:
    words = ["“Black", "WOMEN’s", "rights,", "(muslims)", "blackboard"]
    assert groups_of(words) == ["black", "women", "", "muslim", ""]
    assert np.isnan(identity_share(["a"], np.zeros(1)))


def test_a_list_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "words.toml"
    path.write_text('left-handed = ["Lefty", "southpaw"]\n', encoding="utf-8")
    assert groups_of(["lefty!"], read_identity_words(path)) == ["left-handed"]
    for words, message in (
        ("", "is empty"),
        ("# none\n", "lists no groups"),
        ('a = "b"', "must be a list"),
        ("a = [", "not valid TOML"),
    ):
        path.write_text(words, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            read_identity_words(path)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1)), min_size=1, max_size=20))
def test_average_precision_is_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    values, marks = np.array([float(v) for v, _ in pairs]), np.array([m for _, m in pairs])
    if not marks.any():
        assert np.isnan(average_precision(values, marks))
    else:
        assert average_precision(values, marks) == pytest.approx(metrics.average_precision_score(marks, values))


def test_agreement_is_undefined_without_a_contrast() -> None:
    assert np.isnan(agreement([1.0, 2.0], [0, 0], length=0.5).auprc)
    assert np.isnan(agreement([1.0, 2.0], [1, 1], length=0.5).iou)
    half = agreement([3.0, 2.0, 1.0, 0.0], [0, 1, 1, 0], length=0.5)
    assert (half.token_f1, half.iou) == (0.5, pytest.approx(1 / 3))
