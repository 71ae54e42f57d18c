"""The slow, obvious way: every continuation in a row by itself, behind its whole prefix, padded on the right.

It is the reference that the fast way is tested against, and what architectures use that the fast way does not fit (recurrent
layers, attention that does not go through transformers' interface, positions that depend on the batch).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def continuation_logprobs(model: Any, rows: Sequence[tuple[Sequence[int], Sequence[int]]], device: torch.device | str) -> Tensor:
    """Log-probability of each row's continuation behind its prefix, (rows,) in float32.

    Real tokens of a causal model never see what stands to their right, so padding there changes nothing.
    """
    width = max(len(prefix) + len(continuation) for prefix, continuation in rows) - 1
    tokens = torch.zeros(len(rows), width, dtype=torch.long)
    mask = torch.zeros(len(rows), width, dtype=torch.long)
    for index, (prefix, continuation) in enumerate(rows):
        row = [*prefix, *continuation[:-1]]
        tokens[index, : len(row)] = torch.tensor(row)
        mask[index, : len(row)] = 1
    arguments: dict[str, Any] = {} if len(rows) == 1 else {"attention_mask": mask.to(device)}
    logits = model(input_ids=tokens.to(device), use_cache=False, **arguments).logits
    sums = []
    for index, (prefix, continuation) in enumerate(rows):
        first = len(prefix) - 1
        scored = torch.log_softmax(logits[index, first : first + len(continuation)].float(), dim=-1)
        sums.append(scored.gather(1, torch.tensor(continuation, device=scored.device)[:, None]).sum())
    return torch.stack(sums)
