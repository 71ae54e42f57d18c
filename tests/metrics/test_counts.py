"""The count tensor: counting in parts is counting at once, order changes nothing, failed and missing rows are in no cell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fairwitness.metrics.counts import FlagCounter, bitmap, count_groups, from_bitmap, merge, ordered


def rows(most: int = 60, classes: int = 3, groups: int = 4) -> st.SearchStrategy[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    def columns(n: int) -> st.SearchStrategy[tuple[np.ndarray, ...]]:
        return st.tuples(
            hnp.arrays(np.int8, n, elements=st.integers(-1, classes - 1)),
            hnp.arrays(np.int8, n, elements=st.integers(-1, classes - 1)),
            hnp.arrays(np.int8, n, elements=st.integers(-1, groups - 1)),
        )

    return st.integers(0, most).flatmap(columns)


NAMES = {"attribute": "age", "groups": ["a", "b", "c", "d"], "classes": ["0", "1", "2"]}


@given(rows())
def test_counting_equals_a_plain_loop(columns: tuple[np.ndarray, ...]) -> None:
    truth, predicted, group = columns
    counts = count_groups(truth, predicted, group, **NAMES)
    expected = np.zeros((4, 3, 3), int)
    failed, missing = np.zeros(4, int), 0
    for t, p, g in zip(*columns, strict=True):
        if t < 0:
            continue
        if g < 0:
            missing += 1
        elif p < 0:
            failed[g] += 1
        else:
            expected[g, t, p] += 1
    assert (counts.cells == expected).all()
    assert (counts.failed == failed).all()
    assert counts.missing == missing


@given(rows(), st.integers(0, 60), st.randoms())
def test_parts_add_up_in_any_order(columns: tuple[np.ndarray, ...], cut: int, random: object) -> None:
    whole = count_groups(*columns, **NAMES)
    parts = [count_groups(*(column[piece] for column in columns), **NAMES) for piece in (slice(cut), slice(cut, None))]
    order = np.random.default_rng(0).permutation(len(columns[0]))
    shuffled = count_groups(*(column[order] for column in columns), **NAMES)
    for other in (merge(parts), merge(parts[::-1]), shuffled):
        assert (other.cells == whole.cells).all()
        assert (other.failed == whole.failed).all()
        assert other.missing == whole.missing


def test_parts_with_different_labels_are_added_over_their_union() -> None:
    one = count_groups([0], [1], [0], attribute="age", groups=["young"], classes=["a", "b"])
    two = count_groups([0], [0], [0], attribute="age", groups=["old"], classes=["c"])
    both = one + two
    assert both.groups == ("old", "young")
    assert both.classes == ("a", "b", "c")
    assert both.cells[1, 0, 1] == 1
    assert both.cells[0, 2, 2] == 1
    assert both.sizes.tolist() == [1, 1]


def test_counts_of_different_attributes_are_not_added() -> None:
    one = count_groups([0], [0], [0], attribute="age", groups=["a"], classes=["0"])
    two = count_groups([0], [0], [0], attribute="sex", groups=["a"], classes=["0"])
    with pytest.raises(AssertionError):
        one + two


@pytest.mark.parametrize("classes", [2, 3, 12])
def test_flags_are_counted_as_groups_are(classes: int) -> None:
    random = np.random.default_rng(classes)
    truth, predicted = random.integers(-1, classes, 500), random.integers(-1, classes, 500)
    value = random.integers(-1, 2, 500)
    names = [str(index) for index in range(classes)]
    flag = FlagCounter(truth, predicted, classes=names).count("male", bitmap(value == 1), bitmap(value == -1))
    group = count_groups(truth, predicted, value, attribute="male", groups=["0", "1"], classes=names)
    assert (flag.cells == group.cells).all()
    assert (flag.failed == group.failed).all()
    assert flag.missing == group.missing


@given(hnp.arrays(bool, st.integers(0, 300)))
def test_bitmap_is_read_back(mask: np.ndarray) -> None:
    assert (from_bitmap(bitmap(mask), len(mask)) == mask).all()
    assert int(np.bitwise_count(bitmap(mask)).sum()) == int(mask.sum())


def test_numbers_are_ordered_by_value_and_words_after_them() -> None:
    assert ordered(["b", "10", "2", "-1", "a"]) == ("-1", "2", "10", "a", "b")


def test_folding_and_binarising_keep_every_row() -> None:
    random = np.random.default_rng(0)
    counts = count_groups(random.integers(0, 3, 200), random.integers(0, 3, 200), random.integers(0, 4, 200), **NAMES)
    two = counts.binary(["1", "2"]).fold(["a"])
    assert two.cells.sum() == 200
    assert two.cells[1, 1, 1] == counts.cells[0, 1:, 1:].sum()
