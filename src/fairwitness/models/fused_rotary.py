"""Rotary positions in one kernel instead of ten, for architectures whose file has the usual function for them.

transformers keeps that function beside each architecture's attention; on a GPU its small steps are bound by memory, so it is
compiled once and put back in its place. What it computes stays the same.
"""

import sys
from typing import Any

import torch

NAME = "apply_rotary_pos_emb"


def fuse_rotary(model: Any) -> int:
    """Compile the rotary function of the model's architecture; return how many files had one."""
    files = {type(module).__module__ for module in model.modules() if type(module).__name__.endswith("Attention")}
    fused = 0
    for name in files:
        file = sys.modules.get(name)
        plain = getattr(file, NAME, None)
        if file is None or plain is None:
            continue
        if not getattr(plain, "fairwitness_fused", False):
            compiled: Any = torch.compile(plain, dynamic=True)
            compiled.fairwitness_fused = True
            setattr(file, NAME, compiled)
        fused += 1
    return fused
