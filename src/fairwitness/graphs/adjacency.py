"""The normalised adjacency D̃^{-½}(A+I)D̃^{-½} of the user graph, stored once as CSR, and its product with user features.

It holds no parameters and is symmetric, so it is computed once for a training, and its own product is its gradient.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

Array = np.ndarray[Any, Any]
# Most numbers gathered at once on a GPU: 1 GiB of them; wider features are taken in several columns at a time.
GATHERED = 2**28


@dataclass(frozen=True)
class Adjacency:
    """A graph of n users with self loops. `matrix` is sparse CSR [n, n]; isolated users have their self loop only."""

    matrix: Tensor

    @property
    def n_users(self) -> int:
        """How many users it joins."""
        return int(self.matrix.shape[0])

    def propagate(self, features: Tensor) -> Tensor:
        """Â · features."""
        product: Tensor = _Product.apply(features, self.matrix)  # type: ignore[no-untyped-call]
        return product

    def edge_index(self) -> Tensor:
        """The edges as [2, E], source first, self loops included, as torch-geometric reads them."""
        rows = torch.repeat_interleave(torch.arange(self.n_users, device=self.matrix.device), self.matrix.crow_indices().diff())
        return torch.stack([self.matrix.col_indices(), rows])

    def to(self, device: torch.device) -> "Adjacency":
        """The same graph on another device."""
        return Adjacency(self.matrix.to(device))


class _Product(torch.autograd.Function):
    """Â·x with gradient Â·g: Â is symmetric, so nothing has to be transposed or stored."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, matrix: Tensor) -> Tensor:
        ctx.matrix = matrix
        return product(matrix, features)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return product(ctx.matrix, gradient.contiguous()), None


def product(matrix: Tensor, features: Tensor) -> Tensor:
    """Sparse CSR times dense, with the same bits every time.

    On a GPU the library's sparse product sums in an order that changes from run to run; a segment per row does not.
    """
    if not features.is_cuda:
        return matrix @ features
    lengths, columns = matrix.crow_indices().diff().long(), matrix.col_indices()
    values = matrix.values().unsqueeze(1)
    width = max(1, GATHERED // max(1, len(columns)))
    parts = [
        torch.segment_reduce(values * part.contiguous().index_select(0, columns), "sum", lengths=lengths, axis=0, unsafe=True)
        for part in torch.split(features, width, dim=1)
    ]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def normalised(edges: Array, n_users: int) -> Adjacency:
    """Â from undirected edges [2, E] over rows 0…n−1. A pair counts once, whichever way and however often it is named; so does
    a user's self loop.

    >>> normalised(np.array([[0], [1]]), 3).matrix.to_dense()
    tensor([[0.5000, 0.5000, 0.0000],
            [0.5000, 0.5000, 0.0000],
            [0.0000, 0.0000, 1.0000]])
    """
    loops = np.arange(n_users, dtype=np.int64)
    keys = np.concatenate([edges[0] * n_users + edges[1], edges[1] * n_users + edges[0], loops * n_users + loops])
    keys.sort()
    if (keys[1:] == keys[:-1]).any():
        keys = np.unique(keys)
    rows, columns = keys // n_users, keys % n_users
    del keys
    degree = np.bincount(rows, minlength=n_users)
    scale = (1.0 / np.sqrt(degree)).astype(np.float32)
    starts = np.concatenate([[0], np.cumsum(degree)])
    weights = scale[rows] * scale[columns]
    # 32-bit indices halve the traffic; they hold up to two thousand million edges.
    index = torch.int32 if len(columns) < 2**31 - 1 else torch.int64
    with warnings.catch_warnings():
        # torch announces on first use that CSR is young; what is used of it here is tested against dense products.
        warnings.simplefilter("ignore", UserWarning)
        matrix = torch.sparse_csr_tensor(
            torch.from_numpy(starts).to(index),
            torch.from_numpy(columns).to(index),
            torch.from_numpy(weights),
            size=(n_users, n_users),
            check_invariants=False,
        )
    return Adjacency(matrix)
