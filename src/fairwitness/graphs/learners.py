"""What the trainer sees of a model: its batches of users, their class scores, and everybody's scores.

Each learner decides how its model meets the graph: whole, in clusters, or in sampled neighbourhoods.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from fairwitness.graphs.adjacency import Adjacency, normalised
from fairwitness.graphs.catgcn import CatGCN, distinct_rows
from fairwitness.graphs.clustering import inner_edges, members
from fairwitness.graphs.rhgn import RHGN
from fairwitness.graphs.sampling import Block, batch_blocks, full_block, incoming
from fairwitness.graphs.user_graph import Array, Relations

# Neighbourhoods that stay the same from epoch to epoch are kept where the whole graph is small.
KEPT_EDGES = 1_000_000


class Learner(Protocol):
    """One method for a batch, one for everybody; `module` holds the weights."""

    module: nn.Module

    def batches(self, rows: Array) -> Iterator[tuple[Tensor, Array]]:
        """Class scores (logits or log-probabilities) of batches of these rows, and which rows they are."""
        ...

    def everyone(self) -> Tensor:
        """Class scores of all users, without gradients."""
        ...

    def steps(self, n_train: int) -> int:
        """How many batches an epoch has."""
        ...


class WholeGraph:
    """CatGCN over the whole graph: one batch an epoch."""

    def __init__(self, module: CatGCN, fields: Array, edges: Array, device: torch.device) -> None:
        self.module: nn.Module = module.to(device)
        self.graph = normalised(edges, len(fields)).to(device)
        self.fields, self.rows = _distinct(fields, device)

    def batches(self, rows: Array) -> Iterator[tuple[Tensor, Array]]:
        """All rows at once."""
        yield self.module(self.fields, self.graph, self.rows)[torch.from_numpy(rows).to(self.fields.device)], rows

    def everyone(self) -> Tensor:
        """All users."""
        out: Tensor = self.module(self.fields, self.graph, self.rows)
        return out

    def steps(self, n_train: int) -> int:
        """One."""
        return 1


class Clusters(WholeGraph):
    """CatGCN trained cluster by cluster; everybody's scores still come from the whole graph, which needs no gradients."""

    def __init__(self, module: CatGCN, fields: Array, edges: Array, membership: Array, device: torch.device) -> None:
        super().__init__(module, fields, edges, device)
        self.membership = membership
        self.clusters: list[tuple[Array, Adjacency, Tensor]] = [
            (
                rows,
                normalised(inner_edges(edges, membership, rows), len(rows)).to(device),
                torch.from_numpy(fields[rows]).to(device),
            )
            for rows in members(membership)
        ]

    def batches(self, rows: Array) -> Iterator[tuple[Tensor, Array]]:
        """One cluster after another, those that have any of the rows."""
        wanted = np.zeros(len(self.membership), dtype=bool)
        wanted[rows] = True
        for nodes, graph, fields in self.clusters:
            local = np.flatnonzero(wanted[nodes])
            if len(local):
                yield self.module(fields, graph)[torch.from_numpy(local).to(fields.device)], nodes[local]

    def steps(self, n_train: int) -> int:
        """As many as there are clusters."""
        return len(self.clusters)


class Neighbourhoods:
    """RHGN over the whole graph (batch_size 0), or over neighbourhoods of batches of users, all of them or sampled."""

    def __init__(
        self, module: RHGN, relations: Relations, *, batch_size: int, fanouts: Sequence[int | None], seed: int, device: torch.device
    ) -> None:
        self.module: nn.Module = module.to(device)
        self.relations, self.batch_size, self.fanouts, self.device = relations, batch_size, list(fanouts), device
        self.target, self.n_users = relations.target, relations.counts[relations.target]
        self.csr = incoming(relations)
        self.whole = full_block(relations).to(device)
        self.generator = np.random.default_rng(seed)
        n_edges = sum(edges.shape[1] for edges in relations.edges.values())
        self.kept: dict[tuple[int, int], list[Block]] | None = {} if n_edges <= KEPT_EDGES and not any(fanouts) else None

    def batches(self, rows: Array) -> Iterator[tuple[Tensor, Array]]:
        """Rows in order, `batch_size` at a time."""
        if self.batch_size == 0 or self.batch_size >= self.n_users:
            yield self.everyone()[torch.from_numpy(rows).to(self.device)], rows
            return
        for start in range(0, len(rows), self.batch_size):
            part = rows[start : start + self.batch_size]
            yield self.module(self._blocks(part, len(rows), start)), part

    def everyone(self) -> Tensor:
        """All users, over the whole graph with all neighbours."""
        out: Tensor = self.module([self.whole] * len(self.fanouts))
        return out

    def steps(self, n_train: int) -> int:
        """As the published schedule counts them."""
        return 1 if self.batch_size == 0 or self.batch_size >= self.n_users else n_train // self.batch_size + 1

    def _blocks(self, rows: Array, total: int, start: int) -> list[Block]:
        if self.kept is not None and (total, start) in self.kept:
            return self.kept[total, start]
        blocks = batch_blocks(self.csr, self.relations.counts, {self.target: rows}, self.fanouts, self.generator)
        blocks = [block.to(self.device) for block in blocks]
        if self.kept is not None:
            self.kept[total, start] = blocks
        return blocks


class FieldsOnly:
    """A baseline: fields in, scores out, no graph."""

    def __init__(self, module: nn.Module, fields: Array, device: torch.device) -> None:
        self.module = module.to(device)
        self.fields = torch.from_numpy(fields).to(device)

    def batches(self, rows: Array) -> Iterator[tuple[Tensor, Array]]:
        """All rows at once."""
        yield self.module(self.fields[torch.from_numpy(rows).to(self.fields.device)]), rows

    def everyone(self) -> Tensor:
        """All users."""
        out: Tensor = self.module(self.fields)
        return out

    def steps(self, n_train: int) -> int:
        """One."""
        return 1


def _distinct(fields: Array, device: torch.device) -> tuple[Tensor, Tensor | None]:
    unique, rows = distinct_rows(torch.from_numpy(fields))
    return unique.to(device), None if rows is None else rows.to(device)
