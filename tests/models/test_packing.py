"""Batches hold every row once and keep to the budget."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fairwitness.models.packing import plan, shared_head

LENGTHS = st.lists(st.integers(1, 50), max_size=40)


@settings(deadline=None, max_examples=50)
@given(LENGTHS, st.integers(1, 200), st.integers(1, 20))
def test_every_row_once_and_within_the_budget(lengths: list[int], budget: int, scored_budget: int) -> None:
    scored = [1 + length % 5 for length in lengths]
    batches = plan(lengths, budget=budget, scored=scored, scored_budget=scored_budget)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= budget
        assert len(batch) == 1 or sum(scored[row] for row in batch) <= scored_budget


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.integers(0, 3), max_size=12), st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=2, max_size=5)
)
def test_a_shared_head_is_shared_and_leaves_a_token(front: list[int], tails: list[list[int]]) -> None:
    prefixes = [front + tail for tail in tails]
    n = shared_head(prefixes, least=1)
    assert len({tuple(prefix[:n]) for prefix in prefixes}) == 1
    assert n < min(map(len, prefixes))
    assert n >= len(front)


def test_a_short_or_lonely_head_is_not_worth_it() -> None:
    assert shared_head([[1, 2, 3]]) == 0
    assert shared_head([[1, 2, 3], [1, 2, 4]]) == 0
