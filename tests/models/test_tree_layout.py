"""The layout counted with arrays equals one counted row by row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairwitness.models.tree_layout import Row, lay_out

_tokens = st.lists(st.integers(0, 99), min_size=1, max_size=5)
_rows = st.lists(st.tuples(_tokens, st.lists(_tokens, min_size=1, max_size=3)), min_size=1, max_size=5)


@given(rows=_rows, start=st.integers(0, 7), whole=st.booleans())
def test_equal_to_counting_row_by_row(rows: list[Row], start: int, whole: bool) -> None:
    layout = lay_out(rows, start=start, whole=whole)
    tokens, positions, branch, slots, targets, owners, predicted_by = [], [], [], [], [], [], []
    owner = 0
    for number, (body, continuations) in enumerate(rows):
        first = len(tokens)
        tokens += body
        positions += range(start, start + len(body))
        branch += [0] * len(body)
        body_last = len(tokens) - 1
        for index, continuation in enumerate(continuations):
            fed = len(tokens)
            tokens += continuation[:-1]
            positions += range(start + len(body), start + len(body) + len(continuation) - 1)
            branch += [index + 1] * (len(continuation) - 1)
            own = range(1, len(body)) if whole else range(0)
            targets += [*(body[k] for k in own), *continuation]
            predicted_by += [*(first + k - 1 for k in own), body_last, *range(fed, fed + len(continuation) - 1)]
            owners += [owner] * (len(own) + len(continuation))
            owner += 1
        slots += range(number * layout.width, number * layout.width + len(tokens) - first)
    assert layout.width == max(np.bincount(np.array(slots) // layout.width))
    assert layout.tokens.tolist() == tokens
    assert layout.positions.tolist() == positions
    assert layout.branch.tolist() == branch
    assert layout.slots.tolist() == slots
    assert layout.targets.tolist() == targets
    assert layout.owners.tolist() == owners
    assert layout.selected[layout.picks].tolist() == predicted_by
    assert set(layout.selected.tolist()) == set(predicted_by)
    assert layout.n_continuations == owner
    assert layout.chain == all(sum(len(each) > 1 for each in continuations) <= 1 for _, continuations in rows)
