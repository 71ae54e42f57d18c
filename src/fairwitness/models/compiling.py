"""torch's compiler for small steps on a GPU that are bound by memory: one kernel instead of several."""

from collections.abc import Callable
from typing import Any

import torch

# One step is compiled anew for each number format, with and without gradients, and for several models in a process. From its limit
# on (8, unless somebody raised it) the compiler gives up on a step with a warning, and it runs uncompiled.
_VERSIONS = 64


def compiled(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step`, compiled when it is first called."""
    import torch._dynamo.config as limits

    if hasattr(limits, "recompile_limit"):
        limits.recompile_limit = max(limits.recompile_limit, _VERSIONS)
    fast: Callable[..., Any] = torch.compile(step)
    return fast
