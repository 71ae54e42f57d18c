"""Root-mean-square norms in one kernel instead of seven, where torch's own gives the same numbers.

Many architectures define the same norm under their own names. Each is asked once, with random numbers, whether torch's fused
function (with its weight, or with 1 + its weight as Gemma has it) answers alike; only then is it used. Such small steps are bound
by memory.
"""

from typing import Any

import torch
from torch import Tensor


def fuse_norms(model: Any) -> int:
    """Replace the forward of every norm that agrees with the fused one; return how many were replaced."""
    replaced = 0
    for module in model.modules():
        if type(module).__name__.endswith("RMSNorm") and getattr(module, "weight", None) is not None:
            epsilon = float(getattr(module, "variance_epsilon", getattr(module, "eps", 1e-6)))
            shift = _shift(module, epsilon)
            if shift is not None:
                module.forward = _fused(module, epsilon, shift)
                replaced += 1
    return replaced


def _fused(module: Any, epsilon: float, shift: float) -> Any:
    own = module.weight + shift if shift else module.weight

    def forward(states: Tensor) -> Tensor:
        weight = own if own.dtype == states.dtype else own.to(states.dtype)
        if states.requires_grad and not states.is_cuda and states.dtype == torch.float32 and not weight.requires_grad:
            slow: Tensor = _Norm.apply(states, weight, epsilon)  # type: ignore[no-untyped-call]
            return slow
        return torch.nn.functional.rms_norm(states, weight.shape, weight, epsilon)

    return forward


class _Norm(torch.autograd.Function):
    """With a gradient in four steps, where torch has none of one kernel: r = (mean x² + ε)^−½, y = x r w,

    ∂/∂x = r (g w) − x r³ Σ(g w x) / n.
    """

    @staticmethod
    def forward(context: Any, states: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        length = torch.linalg.vector_norm(states, dim=-1, keepdim=True)
        scale = (length.square() / states.shape[-1] + epsilon).rsqrt()
        context.save_for_backward(states, weight, scale)
        out: Tensor = (states * scale).mul_(weight)
        return out

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        states, weight, scale = context.saved_tensors
        weighted = gradients[0] * weight
        along = (weighted * states).sum(dim=-1, keepdim=True)
        return weighted.mul_(scale).addcmul_(states, along * scale**3 / states.shape[-1], value=-1), None, None


def _shift(module: Any, epsilon: float) -> float | None:
    weight = module.weight
    dice = torch.Generator(device="cpu").manual_seed(0)
    states = (3 * torch.randn(4, *weight.shape, generator=dice)).to(weight)
    with torch.no_grad():
        try:
            expected = module(states)
        except (RuntimeError, TypeError, ValueError):
            return None
        tolerance = 1e-5 if weight.dtype == torch.float32 else 2e-2
        for shift in (0.0, 1.0):
            found = torch.nn.functional.rms_norm(states, weight.shape, weight + shift, epsilon)
            if found.dtype == expected.dtype and torch.allclose(found, expected, rtol=tolerance, atol=tolerance):
                return shift
    return None
