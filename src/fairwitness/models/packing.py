"""Which rows share a pass: neighbours in length, under a budget of tokens. Lists of numbers in, lists of row numbers out.

Knows nothing of models. The budget is the caller's, who halves it when memory runs out.
"""

from collections.abc import Sequence


def plan(lengths: Sequence[int], *, budget: int, scored: Sequence[int] | None = None, scored_budget: int = 0) -> list[list[int]]:
    """Row numbers in batches, longest rows first, each batch within `budget` slots (rows times its longest row).

    `scored` and `scored_budget` bound a second cost: the positions at which the whole vocabulary is computed. A row over the
    budget stands alone rather than being refused. Longest first, so that a batch that does not fit is met at the beginning.

    >>> plan([3, 9, 4, 10], budget=20)
    [[3, 1], [2, 0]]
    >>> plan([50], budget=20)
    [[0]]
    """
    order = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    batches: list[list[int]] = []
    widest = cost = 0
    for row in order:
        extra = scored[row] if scored else 0
        full = batches and ((len(batches[-1]) + 1) * widest > budget or (scored_budget and cost + extra > scored_budget))
        if not batches or full:
            batches.append([])
            widest, cost = lengths[row], 0
        batches[-1].append(row)
        cost += extra
    return batches


def shared_head(prefixes: Sequence[Sequence[int]], *, least: int = 8) -> int:
    """How many leading tokens all prefixes share, leaving at least one token to each; 0 when fewer than `least` or one row only.

    >>> shared_head([[1, 2, 3, 9], [1, 2, 3, 4, 5]], least=2)
    3
    >>> shared_head([[1, 2, 3], [1, 2, 3]], least=2)
    2
    """
    if len(prefixes) < 2:
        return 0
    # What the first and the last in alphabetical order share, all share.
    low, high = min(map(tuple, prefixes)), max(map(tuple, prefixes))
    shortest = min(len(prefix) for prefix in prefixes) - 1
    same = 0
    while same < shortest and low[same] == high[same]:
        same += 1
    return same if same >= least else 0
