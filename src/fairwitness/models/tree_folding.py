"""Between the flat sequence of tokens that weights are multiplied with and the grid of rows that attention works on.

    fold      (1, heads, N, size) → (rows, heads, width, size)        slot by slot, `sources` says which token
    unfold    (rows, heads, width, size) → (1, N, heads, size)        token by token, `slots` says from where

The two maps are each other's inverse on the slots that hold a token, so the gradient of either is the other: a copy, where torch's
own gradient of indexing adds element by element.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from fairwitness.models.compiling import compiled


def fold(states: Tensor, sources: Tensor, slots: Tensor, rows: int) -> Tensor:
    """Put each token in its slot. An empty slot holds some token's numbers, which nobody reads."""
    _, heads, _, size = states.shape
    flat = states[0].transpose(0, 1)
    if len(sources) != len(flat):
        flat = _Place.apply(flat, sources, slots)  # type: ignore[no-untyped-call]
    return flat.reshape(rows, -1, heads, size).transpose(1, 2)


def fold_behind(head: Tensor, states: Tensor, sources: Tensor, slots: Tensor, rows: int) -> Tensor:
    """The same with the head's (1, heads, L, size) in front of every row: (rows, heads, L + width, size)."""
    if states.is_cuda and not torch.is_grad_enabled():
        length = head.shape[2]
        grid = torch.cat([torch.arange(length, device=sources.device).expand(rows, length), sources.view(rows, -1) + length], dim=1)
        out: Tensor = _gather()(head[0].transpose(0, 1), states[0].transpose(0, 1), grid.flatten())
        return out.view(rows, grid.shape[1], *out.shape[1:]).transpose(1, 2)
    return torch.cat([head.expand(rows, -1, -1, -1), fold(states, sources, slots, rows)], dim=2)


def unfold(grid: Tensor, sources: Tensor, slots: Tensor) -> Tensor:
    """Take each token out of its slot."""
    flat = grid.transpose(1, 2).reshape(len(sources), grid.shape[1], grid.shape[3])
    if len(sources) != len(slots):
        flat = _Take.apply(flat, slots)  # type: ignore[no-untyped-call]
    return flat[None]


@cache
def _gather() -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """One kernel that reads a key where it lies, head or flat sequence, and writes it where it is wanted."""

    def gather(head: Tensor, flat: Tensor, index: Tensor) -> Tensor:
        length = head.shape[0]
        early, late = head[index.clamp(max=length - 1)], flat[(index - length).clamp(min=0)]
        return torch.where((index < length)[:, None, None], early, late)

    return compiled(gather)


class _Place(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, flat: Tensor, sources: Tensor, slots: Tensor) -> Tensor:
        context.save_for_backward(slots)
        return flat[sources]

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (slots,) = context.saved_tensors
        return gradients[0][slots], None, None


class _Take(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, grid: Tensor, slots: Tensor) -> Tensor:
        context.save_for_backward(slots)
        context.size = len(grid)
        return grid[slots]

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (slots,), gradient = context.saved_tensors, gradients[0]
        # An empty slot must carry nothing back: its query looked at real keys.
        return gradient.new_zeros(context.size, *gradient.shape[1:]).index_copy_(0, slots, gradient), None
