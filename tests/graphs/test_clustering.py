"""Clusters are over rows of the user table, cover everybody once, and METIS cuts fewer edges than chance."""

import numpy as np
import pytest

from fairwitness.errors import InputError
from fairwitness.graphs.clustering import cluster, inner_edges, members


def two_rings(n: int = 20) -> np.ndarray:
    ring = np.stack([np.arange(n), (np.arange(n) + 1) % n])
    return np.sort(np.concatenate([ring, ring + n], axis=1), axis=0)


@pytest.mark.parametrize("method", ["random", "metis"])
def test_everybody_is_in_one_cluster(method: str) -> None:
    membership = cluster(two_rings(), 41, method=method, number=3, seed=1)
    assert sorted(np.concatenate(members(membership)).tolist()) == list(range(41))
    assert np.array_equal(membership, cluster(two_rings(), 41, method=method, number=3, seed=1))


def test_metis_finds_the_two_rings() -> None:
    membership = cluster(two_rings(), 40, method="metis", number=2, seed=0)
    inside = sum(inner_edges(two_rings(), membership, rows).shape[1] for rows in members(membership))
    assert inside == 40


def test_inner_edges_are_in_local_numbers() -> None:
    membership = np.array([0, 1, 0, 0])
    found = inner_edges(np.array([[0, 0, 2], [1, 2, 3]]), membership, np.array([0, 2, 3]))
    assert found.tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(("method", "number"), [("mets", 2), ("random", 0), ("metis", 99)])
def test_wrong_asks_are_refused(method: str, number: int) -> None:
    with pytest.raises(InputError, match="--cluster"):
        cluster(two_rings(), 40, method=method, number=number, seed=0)
