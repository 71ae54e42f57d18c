"""Where each token of a tree batch stands: lists of token ids in, arrays of whole numbers out. No model, no device.

A row is a body and its continuations. In the flat sequence a row is its body, then each continuation without its last token, which
is scored but never fed. Everything is counted with arrays over the whole batch: on a GPU this runs while the pass before computes,
and a loop over rows would not keep up with it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

Array = np.ndarray
Row = tuple[Sequence[int], Sequence[Sequence[int]]]


@dataclass(frozen=True)
class Layout:
    """One flat batch of N tokens, S of them selected, T scored. Slots are places in the (rows, width) grid attention works on."""

    tokens: Array
    """(N,) token ids."""
    positions: Array
    """(N,) where each token stands in its own row, counted from the start of the head."""
    branch: Array
    """(N,) 0 for a body's token, k for the k-th continuation's."""
    slots: Array
    """(N,) the slot of each token."""
    selected: Array
    """(S,) the tokens whose next-token distribution is needed."""
    picks: Array
    """(T,) for each scored token, which of the selected predicts it."""
    targets: Array
    """(T,) the token ids that are scored."""
    owners: Array
    """(T,) which continuation, counted through the batch, a scored token belongs to."""
    body_starts: Array
    """(rows,) the first token of each row in the flat sequence."""
    rows: int
    width: int
    n_continuations: int
    chain: bool
    """Whether every row is a plain sequence: at most one of its continuations has tokens that are fed back."""


def lay_out(rows: Sequence[Row], *, start: int = 0, whole: bool = False) -> Layout:
    """Lay out rows whose bodies begin at position `start`. Every body and every continuation has at least one token.

    With `whole`, each continuation's sum also holds its body's tokens behind the body's first.

    >>> lay_out([([7, 8], [[1], [2, 3]])]).tokens.tolist()
    [7, 8, 2]
    """
    ends = [tokens for _, continuations in rows for tokens in continuations]
    bodies = np.array([len(body) for body, _ in rows])
    counts = np.array([len(continuations) for _, continuations in rows])
    end_lengths = np.array([len(tokens) for tokens in ends])
    end_rows = np.repeat(np.arange(len(rows)), counts)
    # A segment is a body or what is fed of a continuation; a row's body comes before its continuations.
    segment_rows = np.repeat(np.arange(len(rows)), counts + 1)
    row_segments = np.cumsum(counts + 1) - (counts + 1)
    branches = np.arange(len(segment_rows)) - row_segments[segment_rows]
    is_end = branches > 0
    lengths = np.empty(len(segment_rows), dtype=np.int64)
    lengths[~is_end], lengths[is_end] = bodies, end_lengths - 1
    firsts = np.where(is_end, start + bodies[segment_rows], start)
    starts = np.cumsum(lengths) - lengths
    tokens = _flat(chain.from_iterable((body, *(each[:-1] for each in continuations)) for body, continuations in rows))
    places = np.arange(len(tokens))
    body_starts = starts[~is_end]
    row_lengths = np.bincount(segment_rows, weights=lengths, minlength=len(rows)).astype(np.int64)
    branch = np.repeat(branches, lengths)
    own = bodies - 1 if whole else np.zeros_like(bodies)
    chosen = (branch > 0) | (places >= np.repeat(body_starts + bodies - 1 - own, row_lengths))
    width = int(row_lengths.max())
    return Layout(
        tokens=tokens,
        positions=np.repeat(firsts - starts, lengths) + places,
        branch=branch,
        slots=np.repeat(np.arange(len(rows)) * width - body_starts, row_lengths) + places,
        selected=np.flatnonzero(chosen),
        **_scored(tokens, ends, end_lengths, own[end_rows], (body_starts + bodies - 1)[end_rows], starts[is_end], chosen),
        body_starts=body_starts,
        rows=len(rows),
        width=width,
        n_continuations=len(ends),
        chain=bool((np.bincount(end_rows[end_lengths > 1], minlength=len(rows)) <= 1).all()),
    )


def _scored(
    tokens: Array, ends: Sequence[Sequence[int]], lengths: Array, own: Array, body_last: Array, fed: Array, chosen: Array
) -> dict[str, Array]:
    """Which selected token predicts which scored one: per continuation `own` tokens of its body, then all of its own.

    `body_last` is the flat place of the body's last token, `fed` that of the continuation's first fed one.
    """
    totals = own + lengths
    owners = np.repeat(np.arange(len(ends)), totals)
    step = np.arange(len(owners)) - np.repeat(np.cumsum(totals) - totals, totals)
    behind = step - own[owners]
    # A token is predicted by the one before it; a continuation's first by the body's last.
    before = np.where(behind <= 0, body_last[owners] + behind, fed[owners] + behind - 1)
    words = _flat(ends)
    word_starts = np.cumsum(lengths) - lengths
    of_body = tokens[np.minimum(before + 1, len(tokens) - 1)]
    of_end = words[np.maximum(word_starts[owners] + behind, 0)]
    return {
        "owners": owners,
        "picks": (np.cumsum(chosen) - 1)[before],
        "targets": np.where(behind < 0, of_body, of_end),
    }


def _flat(lists: Iterable[Sequence[int]]) -> Array:
    return np.fromiter(chain.from_iterable(lists), dtype=np.int64)
