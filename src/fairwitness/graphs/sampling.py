"""Neighbourhoods for RHGN: the incoming edges of every node in CSR, and blocks of them for a batch of users.

A block is one layer's work: source nodes, of which the first are the layer's targets, and edges in local numbers. With no
fan-out all neighbours are taken, and a batch gives exactly what the full graph gives; with one, at most that many per node
and relation, drawn without replacement by the generator that is passed in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairwitness.graphs.user_graph import Array, Relation, Relations


@dataclass(frozen=True)
class Block:
    """One layer's view: node ids per type (None = all), how many of them are targets, and edges as local (source, target)."""

    nodes: dict[str, Tensor | None]
    n_targets: dict[str, int]
    edges: dict[Relation, tuple[Tensor, Tensor]]

    def to(self, device: torch.device) -> "Block":
        """The same block on another device."""
        nodes = {kind: None if ids is None else ids.to(device) for kind, ids in self.nodes.items()}
        edges = {relation: (source.to(device), target.to(device)) for relation, (source, target) in self.edges.items()}
        return Block(nodes, self.n_targets, edges)


@dataclass(frozen=True)
class Incoming:
    """Incoming edges of one relation in CSR: sources of target node i are `sources[starts[i]:starts[i+1]]`."""

    starts: Array
    sources: Array

    @classmethod
    def of(cls, edges: Array, n_targets: int) -> "Incoming":
        """From [2, E] edges (source, target)."""
        order = np.argsort(edges[1], kind="stable")
        counts = np.bincount(edges[1], minlength=n_targets)
        return cls(np.concatenate([[0], np.cumsum(counts)]), edges[0][order])

    def neighbours(self, targets: Array, fanout: int | None, generator: np.random.Generator) -> tuple[Array, Array]:
        """Sources of these targets, and the position in `targets` that each belongs to."""
        counts = self.starts[targets + 1] - self.starts[targets]
        owner = np.repeat(np.arange(len(targets)), counts)
        offset = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        if fanout is not None and len(counts) and counts.max() > fanout:
            keep = _at_most(owner, counts, fanout, generator)
            owner, offset = owner[keep], offset[keep]
        return self.sources[self.starts[targets][owner] + offset], owner


def _at_most(owner: Array, counts: Array, fanout: int, generator: np.random.Generator) -> Array:
    """Positions that keep at most `fanout` edges of each owner: the first ones after a shuffle within the owner."""
    order = np.lexsort((generator.random(len(owner)), owner))
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.sort(order[rank < fanout])


def incoming(relations: Relations) -> dict[Relation, Incoming]:
    """CSR of every relation."""
    return {relation: Incoming.of(edges, relations.counts[relation[2]]) for relation, edges in relations.edges.items()}


def full_block(relations: Relations) -> Block:
    """The whole graph as a block, edges in order of their target."""
    edges = {}
    for relation, pairs in relations.edges.items():
        order = np.argsort(pairs[1], kind="stable")
        edges[relation] = (torch.from_numpy(pairs[0][order]), torch.from_numpy(pairs[1][order]))
    return Block(dict.fromkeys(relations.counts), dict(relations.counts), edges)


def batch_blocks(
    csr: Mapping[Relation, Incoming],
    counts: Mapping[str, int],
    seeds: Mapping[str, Array],
    fanouts: Sequence[int | None],
    generator: np.random.Generator,
) -> list[Block]:
    """Blocks for these target nodes, the one nearest the input first; a fan-out per layer, input side first."""
    frontier = {kind: np.asarray(seeds.get(kind, np.empty(0, np.int64)), dtype=np.int64) for kind in counts}
    blocks: list[Block] = []
    for fanout in reversed(list(fanouts)):
        found = {
            relation: table.neighbours(frontier[relation[2]], fanout, generator)
            for relation, table in csr.items()
            if len(frontier[relation[2]])
        }
        nodes = {
            kind: _targets_first(frontier[kind], [s for r, (s, _) in found.items() if r[0] == kind], counts[kind])
            for kind in counts
        }
        edges = {
            relation: (torch.from_numpy(_local(source, nodes[relation[0]], counts[relation[0]])), torch.from_numpy(target))
            for relation, (source, target) in found.items()
        }
        sizes = {kind: len(ids) for kind, ids in frontier.items()}
        blocks.insert(0, Block({kind: torch.from_numpy(ids) for kind, ids in nodes.items()}, sizes, edges))
        frontier = nodes
    return blocks


def _targets_first(targets: Array, sources: list[Array], count: int) -> Array:
    seen = np.zeros(count, dtype=bool)
    for ids in sources:
        seen[ids] = True
    seen[targets] = False
    return np.concatenate([targets, np.flatnonzero(seen)])


def _local(ids: Array, nodes: Array, count: int) -> Array:
    position: np.ndarray[Any, Any] = np.empty(count, dtype=np.int64)
    position[nodes] = np.arange(len(nodes))
    return position[ids]
