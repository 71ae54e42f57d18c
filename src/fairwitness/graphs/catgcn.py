"""CatGCN: a user's category fields interact, globally and locally, are pooled, and are then smoothed over the user graph.

Names of parameters are those of the published checkpoints. Users with the same fields are computed once until dropout tells
them apart: the result is the same, and in two of the four datasets there are few different rows.
"""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairwitness.errors import InputError
from fairwitness.graphs.adjacency import Adjacency
from fairwitness.graphs.layers import build_layer
from fairwitness.graphs.refining import FieldAttention, ProbedConvolution, bi_interaction, cosine_refined
from fairwitness.graphs.settings import CatGCNSettings


def whole_numbers(text: str, flag: str) -> list[int]:
    """The widths in a list such as "64,64"; "none" has none.

    >>> whole_numbers("64, 32", "--grn-units"), whole_numbers("none", "--grn-units")
    ([64, 32], [])
    """
    if text.strip().lower() in ("none", ""):
        return []
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{flag} is '{text}'; whole numbers with commas, or none, were expected.") from None
    if min(found) < 1:
        raise InputError(f"{flag} is '{text}'; every number is at least 1.")
    return found


class CatGCN(nn.Module):
    """Log-probabilities of the classes for every user of a graph."""

    def __init__(self, settings: CatGCNSettings, field_count: int, n_classes: int) -> None:
        super().__init__()
        settings.check()
        self.settings = settings
        width = settings.field_dim
        self.field_embedding = nn.Embedding(field_count, width)
        heads = whole_numbers(settings.multi_heads, "--multi-heads") or [1]
        refined = width
        if settings.graph_refining == "agc":
            self.grn: nn.Module = ProbedConvolution(width, settings.diag_probe)
        elif settings.graph_refining == "gat":
            units = whole_numbers(settings.gat_units, "--gat-units") or [width]
            self.grn = FieldAttention([width, *units], [*heads, *[1] * len(units)][: len(units)], settings.dropout)
            refined = units[-1]
        if settings.graph_refining != "none":
            self.grn_layer_stack = _stack([refined, *whole_numbers(settings.grn_units, "--grn-units"), n_classes])
        if settings.bi_interaction == "nfm":
            self.nfm_layer_stack = _stack([width, *whole_numbers(settings.nfm_units, "--nfm-units"), n_classes])
        raw = settings.graph_refining == "none" and settings.bi_interaction == "none"
        self.graph_layer = build_layer(
            settings.graph_layer,
            width if raw else n_classes,
            n_classes,
            units=whole_numbers(settings.gnn_units, "--gnn-units"),
            heads=heads,
            hops=settings.gnn_hops,
            alpha=settings.alpha,
            theta=settings.theta,
            dropout=settings.dropout,
        )

    def forward(self, fields: Tensor, graph: Adjacency, rows: Tensor | None = None) -> Tensor:
        """Log-probabilities [n, C] from field codes [n, S]; or from the distinct rows of codes and each user's row among them."""
        return F.log_softmax(self.graph_layer(self.user_features(fields, rows), graph), dim=1)

    def user_features(self, fields: Tensor, rows: Tensor | None = None) -> Tensor:
        """What the graph layer sees: z = β·global + (1−β)·local, or the one that is there, or the mean embedding."""
        parts = []
        if self.settings.graph_refining != "none":
            parts.append(self._global(fields, rows))
        if self.settings.bi_interaction == "nfm":
            local = bi_interaction(self.field_embedding(fields))
            parts.append(self._perceptron(local, self.nfm_layer_stack, rows))
        if not parts:
            return _spread(self.field_embedding(fields).mean(dim=1), rows)
        if len(parts) == 1:
            return parts[0]
        return self.settings.balance_ratio * parts[0] + (1 - self.settings.balance_ratio) * parts[1]

    def _global(self, fields: Tensor, rows: Tensor | None) -> Tensor:
        refined = self._refined(fields)
        if self.settings.graph_refining != "agc" or not self.training or self.settings.dropout == 0:
            return self._perceptron(self._pooled(refined), self.grn_layer_stack, rows)
        if self.settings.aggr_pooling == "mean" and bool((fields == fields[:, :1]).all()):
            pooled = _dropped_mean(_spread(refined[:, 0], rows), fields.shape[1], self.settings.dropout)
        else:
            pooled = self._pooled(F.dropout(_spread(refined, rows), self.settings.dropout))
        return self._perceptron(pooled, self.grn_layer_stack, None)

    def _refined(self, fields: Tensor) -> Tensor:
        if self.settings.graph_refining == "agc":
            return F.relu(self.grn(self.field_embedding.weight, fields))
        embedded = self.field_embedding(fields)
        if self.settings.graph_refining == "gat":
            refined: Tensor = self.grn(embedded)
            return refined
        return cosine_refined(embedded)

    def _pooled(self, x: Tensor) -> Tensor:
        if self.settings.aggr_pooling == "mean":
            return x.mean(dim=1)
        return x.sum(dim=1) if self.settings.aggr_pooling == "sum" else x.amax(dim=1)

    def _perceptron(self, x: Tensor, stack: nn.ModuleList, rows: Tensor | None) -> Tensor:
        """Linear maps with relu and dropout between; distinct rows become users where the first dropout needs them to."""
        for index, linear in enumerate(stack):
            x = linear(x)
            if index + 1 < len(stack):
                x = F.relu(x)
                if self.training and self.settings.dropout > 0:
                    x, rows = F.dropout(_spread(x, rows), self.settings.dropout), None
        return _spread(x, rows)


def _spread(x: Tensor, rows: Tensor | None) -> Tensor:
    return x if rows is None else F.embedding(rows, x) if x.dim() == 2 else x.index_select(0, rows)


def _dropped_mean(x: Tensor, copies: int, dropout: float) -> Tensor:
    """The mean over `copies` copies of x, each with a dropout of its own: x·K/(copies·(1−p)) with K binomial, drawn at once."""
    kept = 1 - dropout
    chances = torch.tensor([math.comb(copies, k) * kept**k * dropout ** (copies - k) for k in range(copies)], device=x.device)
    counts = torch.bucketize(torch.rand_like(x), chances.cumsum(0))
    return x * (counts.to(x.dtype) / (copies * kept))


def _stack(units: list[int]) -> nn.ModuleList:
    return nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(units))


def distinct_rows(fields: Tensor) -> tuple[Tensor, Tensor | None]:
    """The distinct rows of field codes and each user's row among them; or all rows and None where that would save little."""
    unique, rows = torch.unique(fields, dim=0, return_inverse=True)
    return (unique, rows) if len(unique) * 2 < len(fields) else (fields, None)
