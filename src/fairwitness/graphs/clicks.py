"""What users and the items they click become: a co-click graph among users, and each user's category fields."""

import numpy as np

from fairwitness.graphs.user_graph import Array, distinct_pairs

FIELD_SIZE = 10


def co_click_edges(users: Array, items: Array, n_users: int) -> Array:
    """Directed pairs [2, E] of users who clicked the same item, self pairs included, each once, in order.

    >>> co_click_edges(np.array([0, 1, 2]), np.array([5, 5, 6]), 3).tolist()
    [[0, 0, 1, 1, 2], [0, 1, 0, 1, 2]]
    """
    order = np.lexsort((users, items))
    users, items = users[order], items[order]
    starts = np.flatnonzero(np.concatenate([[True], items[1:] != items[:-1]]))
    sizes = np.diff(np.concatenate([starts, [len(items)]]))
    size_of_click, start_of_click = np.repeat(sizes, sizes), np.repeat(starts, sizes)
    offset = np.arange(size_of_click.sum()) - np.repeat(np.cumsum(size_of_click) - size_of_click, size_of_click)
    right = users[np.repeat(start_of_click, size_of_click) + offset]
    keys = np.unique(np.repeat(users, size_of_click) * n_users + right)
    return np.stack([keys // n_users, keys % n_users])


def sample_fields(users: Array, categories: Array, n_users: int, *, seed: int = 42, size: int = FIELD_SIZE) -> Array:
    """`size` categories a user, drawn from those of the user's clicks: without replacement where there are enough, else with.

    `users` and `categories` are the clicks. Every user has at least one.
    """
    generator = np.random.default_rng(seed)
    pairs = distinct_pairs(np.stack([users, categories]), int(categories.max()) + 1)
    counts = np.bincount(pairs[0], minlength=n_users)
    starts = np.cumsum(counts) - counts
    fields = np.empty((n_users, size), dtype=np.int64)
    few = counts < size
    picks = (generator.random((int(few.sum()), size)) * counts[few][:, None]).astype(np.int64)
    fields[few] = pairs[1][starts[few][:, None] + picks]
    for user in np.flatnonzero(~few).tolist():
        chosen = generator.choice(counts[user], size, replace=False)
        fields[user] = pairs[1][starts[user] + chosen]
    return fields
