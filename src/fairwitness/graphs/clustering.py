"""Cutting a user graph into clusters, for graphs that do not fit in memory: METIS, or at random.

A cluster keeps the edges within it. Membership is an array over the rows of the user table, so it cannot be taken for an
enumeration of anything else.
"""

import numpy as np

from fairwitness.errors import InputError, MissingExtraError, suggestion
from fairwitness.graphs.user_graph import Array

METHODS = ("none", "metis", "random")


def cluster(edges: Array, n_users: int, *, method: str, number: int, seed: int) -> Array:
    """The cluster of every user, 0…number−1 (METIS may leave some empty)."""
    if method not in METHODS:
        raise InputError(f"--clustering-method is '{method}'; it is one of: {', '.join(METHODS)}.{suggestion(method, METHODS)}")
    if not 1 <= number <= n_users:
        raise InputError(f"--cluster-number is {number}; it lies between 1 and the number of users, {n_users}.")
    if method == "none" or number == 1:
        return np.zeros(n_users, dtype=np.int64)
    if method == "random":
        return np.random.default_rng(seed).integers(0, number, n_users)
    return _metis(edges, n_users, number, seed)


def members(membership: Array) -> list[Array]:
    """The rows of every cluster that has any."""
    order = np.argsort(membership, kind="stable")
    cuts = np.flatnonzero(np.diff(membership[order])) + 1
    return np.split(order, cuts)


def inner_edges(edges: Array, membership: Array, rows: Array) -> Array:
    """The edges within one cluster, in local numbers (positions in `rows`)."""
    position = np.full(len(membership), -1, dtype=np.int64)
    position[rows] = np.arange(len(rows))
    local = position[edges]
    return local[:, (local >= 0).all(axis=0)]


def _metis(edges: Array, n_users: int, number: int, seed: int) -> Array:
    try:
        import pymetis
    except ImportError as error:
        raise MissingExtraError("pymetis", "graphs", "--clustering-method metis") from error
    sources = np.concatenate([edges[0], edges[1]])
    targets = np.concatenate([edges[1], edges[0]])
    order = np.argsort(sources, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=n_users))])
    options = pymetis.Options(seed=seed)
    _, membership = pymetis.part_graph(number, pymetis.CSRAdjacency(starts, targets[order]), options=options)
    return np.asarray(membership, dtype=np.int64)
