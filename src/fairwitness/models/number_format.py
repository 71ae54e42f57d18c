"""The number format a model computes in, changed where it stands."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def formats_kept(model: Any) -> Iterator[None]:
    """At the end, give every weight its format back: some architectures keep a few in float32 whatever the others are."""
    weights = [(parameter, parameter.dtype) for parameter in model.parameters() if parameter.is_floating_point()]
    packed = [(module, module.compute_dtype) for module in model.modules() if hasattr(module, "compute_dtype")]
    try:
        yield
    finally:
        for parameter, dtype in weights:
            parameter.data = parameter.data.to(dtype)
        for module, dtype in packed:
            module.compute_dtype = dtype


def compute_in(model: Any, number: str) -> None:
    """Give every weight that is a plain number this format, and let packed ones (four_bit.py) be unpacked to it.

    From bfloat16 or float16 to float32 and back nothing is lost: float32 has every number of the other two.
    """
    dtype = getattr(torch, number)
    for parameter in model.parameters():
        if parameter.is_floating_point():
            parameter.data = parameter.data.to(dtype)
    for module in model.modules():
        if hasattr(module, "compute_dtype"):
            module.compute_dtype = dtype
