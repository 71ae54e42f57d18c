"""Rotary positions in fewer steps, for architectures whose file has the usual function for them.

transformers keeps that function beside each architecture's attention. On a GPU its small steps are bound by memory, so it is
compiled once. Elsewhere the turn is added in place instead of being built beside, and its gradient is the turn backwards:

    x·cos + (−x₂, x₁)·sin        x₁, x₂ the two halves of x

Only a function that answers alike on random numbers is replaced, and what it computes stays the same.
"""

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from fairwitness.models.compiling import compiled

NAME = "apply_rotary_pos_emb"

Rotary = Callable[..., tuple[Tensor, Tensor]]


def fuse_rotary(model: Any) -> int:
    """Replace the rotary function of the model's architecture; return how many files had one."""
    files = {type(module).__module__ for module in model.modules() if type(module).__name__.endswith("Attention")}
    fused = 0
    for name in files:
        file = sys.modules.get(name)
        plain = getattr(file, NAME, None)
        if file is None or plain is None:
            continue
        if not hasattr(plain, "fairwitness_plain"):
            setattr(file, NAME, _fused(plain))
        fused += 1
    return fused


def _fused(plain: Rotary) -> Rotary:
    in_place = _agrees(plain)

    @cache
    def fast() -> Rotary:  # only when a GPU asks: torch's compiler takes seconds to import
        return compiled(plain)

    def rotary(q: Tensor, k: Tensor, cos: Tensor, sin: Tensor, *others: Any, **named: Any) -> tuple[Tensor, Tensor]:
        if q.is_cuda:
            return fast()(q, k, cos, sin, *others, **named)
        # Where the angles are narrower than the states, only a part of each is turned.
        if not in_place or cos.requires_grad or cos.shape[-1] != q.shape[-1] or others or named:
            return plain(q, k, cos, sin, *others, **named)
        return _Turn.apply(q, cos, sin), _Turn.apply(k, cos, sin)  # type: ignore[no-untyped-call]

    rotary.fairwitness_plain = plain  # type: ignore[attr-defined]
    return rotary


def _turned(states: Tensor, cos: Tensor, sin: Tensor, *, back: bool = False) -> Tensor:
    """(batch, heads, tokens, size) turned by (batch, tokens, size); `back` by the transposed matrix."""
    cos, half = cos[:, None], states.shape[-1] // 2
    first, second = sin[:, None].chunk(2, dim=-1)
    if back:
        first, second = -second, -first
    out = states * cos
    out[..., :half].addcmul_(states[..., half:], first, value=-1)
    out[..., half:].addcmul_(states[..., :half], second)
    return out


class _Turn(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, states: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        context.save_for_backward(cos, sin)
        return _turned(states, cos, sin)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _turned(gradients[0], *context.saved_tensors, back=True), None, None


def _agrees(plain: Rotary) -> bool:
    """Whether the usual formula gives this architecture's own answers: some pair the numbers otherwise, or turn a part only."""
    dice = torch.Generator().manual_seed(0)
    q, k, cos, sin = (torch.randn(1, *shape, generator=dice) for shape in ((4, 3, 8), (2, 3, 8), (3, 8), (3, 8)))
    with torch.no_grad():
        try:
            expected = plain(q, k, cos, sin)
        except (RuntimeError, TypeError, ValueError):
            return False
        return all(
            torch.allclose(_turned(states, cos, sin), want, atol=1e-6) for states, want in zip((q, k), expected, strict=True)
        )
