"""One pass over many prompts, each with several continuations behind it, and nothing computed twice.

    shared head ─┬─ body of row 0 ─┬─ continuation 0          the head's keys and values are computed once for all rows,
                 │                 └─ continuation 1          a body once for all its continuations,
                 └─ body of row 1 ─── continuation 0          and no token is padding where weights are multiplied.

The tokens of all rows go through the model as one flat sequence of shape (1, N), so every linear layer works on real tokens
only. Attention alone needs rows: a function registered with transformers folds the flat sequence into (rows, width), lets
each token see the head, its body up to itself and its own continuation up to itself, and unfolds the answer. Positions are
explicit, so learned, rotary and sliding-window position schemes all see what they would see in a row by itself.
Where tokens stand is tree_layout.py's; what is scored, and how rows are chosen for a batch, causal_lm.py's and packing.py's.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairwitness.models import tree_layout
from fairwitness.models.last_block import last_block_only_at
from fairwitness.models.tree_folding import fold, fold_behind, unfold

NAME = "fairwitness_tree"

Layer = tuple[Tensor, Tensor]


@dataclass
class TreeBatch:
    """One flat batch. Slots are places in the (rows, width) grid that attention works on; most hold one token, the rest none."""

    layout: tree_layout.Layout
    tokens: Tensor
    positions: Tensor
    slots: Tensor
    selected: Tensor
    picks: Tensor
    targets: Tensor
    owners: Tensor
    """These as the layout has them, on the device."""
    sources: Tensor
    """(rows * width,) the token in each slot; an empty slot repeats token 0 and is never looked at."""
    branch: Tensor
    """(rows, width) 0 for the body, k for the k-th continuation, -1 for an empty slot."""
    grid_positions: Tensor
    """(rows, width) position of the token in each slot."""
    head: "Head | None" = None
    heard: dict[int, Layer] | None = None
    """Where to leave every layer's keys and values, when this pass computes a head."""
    calls: int = 0
    masks: dict[tuple[int | None, torch.dtype, int], Tensor] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows the batch has."""
        return self.layout.rows

    @property
    def width(self) -> int:
        """Slots in a row."""
        return self.layout.width

    def mask(self, window: int | None, dtype: torch.dtype, repeats: int = 1) -> Tensor:
        """(rows, 1, repeats * width, head + width), 0 where a token may look and -inf where not; made once per kind of layer."""
        length = self.head.length if self.head else 0
        key = (window, dtype, repeats)
        if key not in self.masks:
            self.masks[key] = self._mask(window, length, dtype).repeat(1, 1, repeats, 1)
        return self.masks[key]

    def _mask(self, window: int | None, length: int, dtype: torch.dtype) -> Tensor:
        place = torch.arange(self.width, device=self.branch.device)
        asks, seen = self.branch[:, :, None], self.branch[:, None, :]
        allowed = ((seen == 0) | (seen == asks)) & (place[None, :, None] >= place[None, None, :])
        # An empty slot looks at itself, so that no row of the softmax is empty; nobody reads its answer.
        allowed &= (seen >= 0) | (place[:, None] == place[None, :])[None]
        if length:
            allowed = torch.cat([allowed.new_ones(self.rows, self.width, length), allowed], dim=2)
        if window is not None:
            keys = self.grid_positions
            if length:
                ahead = torch.arange(length, device=keys.device).expand(self.rows, length)
                keys = torch.cat([ahead, keys], dim=1)
            near = (self.grid_positions[:, :, None] - keys[:, None, :]) < window
            itself = torch.nn.functional.pad(torch.eye(self.width, dtype=torch.bool, device=keys.device), (length, 0))
            allowed = (allowed & near) | itself
        zero = torch.zeros((), dtype=dtype, device=allowed.device)
        return torch.where(allowed, zero, torch.finfo(dtype).min)[:, None]


@dataclass(frozen=True)
class Head:
    """Keys and values of the tokens that all rows of a call begin with, by layer."""

    tokens: tuple[int, ...]
    layers: dict[int, Layer]

    @property
    def length(self) -> int:
        """How many tokens it stands for."""
        return len(self.tokens)


def build(
    rows: Sequence[tree_layout.Row], device: torch.device | str, *, head: Head | None = None, whole: bool = False
) -> TreeBatch:
    """Lay out rows of (body, continuations) behind `head` and bring them to the device. See tree_layout.lay_out."""
    layout = tree_layout.lay_out(rows, start=head.length if head else 0, whole=whole)
    size = layout.rows * layout.width
    sources = np.zeros(size, dtype=np.int64)
    sources[layout.slots] = np.arange(len(layout.tokens))
    branch, grid = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.int64)
    branch[layout.slots], grid[layout.slots] = layout.branch, layout.positions
    named = {name: getattr(layout, name) for name in ("tokens", "positions", "slots", "selected", "picks", "targets", "owners")}
    there = _moved({**named, "sources": sources, "branch": branch, "grid": grid}, torch.device(device))
    # Compared with one another for every pair of tokens, so their size counts.
    branch_there, grid_there = (there[name].to(torch.int32).view(layout.rows, layout.width) for name in ("branch", "grid"))
    return TreeBatch(
        layout=layout,
        tokens=there["tokens"],
        positions=there["positions"],
        slots=there["slots"],
        selected=there["selected"],
        picks=there["picks"],
        targets=there["targets"],
        owners=there["owners"],
        sources=there["sources"],
        branch=branch_there,
        grid_positions=grid_there,
        head=head,
    )


def _moved(arrays: dict[str, np.ndarray], device: torch.device) -> dict[str, Tensor]:
    """The arrays on the device, brought there in one copy that does not wait for what the device is doing."""
    joined = torch.from_numpy(np.concatenate(list(arrays.values())))
    if device.type == "cuda":
        joined = joined.pin_memory()
    pieces = torch.split(joined.to(device, non_blocking=True), [len(array) for array in arrays.values()])
    return dict(zip(arrays, pieces, strict=True))


_current: ContextVar[TreeBatch | None] = ContextVar("fairwitness_tree_batch", default=None)


@contextmanager
def attending(model: Any, batch: TreeBatch) -> Iterator[None]:
    """While this lasts, `model`'s attention follows `batch`; afterwards it is as it was."""
    before = model.config._attn_implementation
    _register()
    model.set_attn_implementation(NAME)
    mark = _current.set(batch)
    try:
        with last_block_only_at(model, batch.selected):
            yield
    finally:
        _current.reset(mark)
        model.set_attn_implementation(before)


def run(model: Any, batch: TreeBatch, embeddings: Tensor | None = None) -> Tensor:
    """Log-probability of every continuation, (n_continuations,) in float32. Differentiable in `embeddings` (N, hidden)."""
    logits = forward(model, batch, embeddings)
    normaliser = torch.logsumexp(logits, dim=-1)
    scored = logits[batch.picks, batch.targets] - normaliser[batch.picks]
    sums = torch.zeros(batch.layout.n_continuations, dtype=torch.float32, device=scored.device)
    return sums.index_add(0, batch.owners, scored)


def forward(model: Any, batch: TreeBatch, embeddings: Tensor | None = None) -> Tensor:
    """The model's own logits, in float32, at the selected tokens: its own final norm, head, softcap and scale included."""
    inputs = {"input_ids": batch.tokens[None]} if embeddings is None else {"inputs_embeds": embeddings[None]}
    with attending(model, batch):
        out = model(**inputs, position_ids=batch.positions[None], use_cache=False, logits_to_keep=batch.selected)
    logits: Tensor = out.logits[0].float()
    return logits


def hear(model: Any, tokens: Sequence[int], device: torch.device | str) -> Head:
    """Compute the keys and values of a head once."""
    batch = build([(tokens, [[0]])], device)
    batch.heard = {}
    with torch.no_grad():
        forward(model, batch)
    return Head(tuple(tokens), batch.heard)


def _register() -> None:
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, tree_attention)


def tree_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """Attention over the current TreeBatch. Called by transformers with (1, heads, N, size); returns (1, N, heads, size)."""
    batch = _current.get()
    assert batch is not None, "tree attention outside of attending()"
    if others.get("s_aux") is not None or others.get("position_bias") is not None:
        raise NotImplementedError("attention sinks and position biases are not folded")
    batch.calls += 1
    if batch.heard is not None:
        batch.heard[module.layer_idx] = (key.detach(), value.detach())
    places = (batch.sources, batch.slots, batch.rows)
    asking = fold(query, *places)
    if batch.head is None:
        known = [fold(states, *places) for states in (key, value)]
    else:
        early = batch.head.layers[module.layer_idx]
        known = [fold_behind(first, states, *places) for first, states in zip(early, (key, value), strict=True)]
    window = sliding_window if sliding_window is not None and int(sliding_window) < _reach(batch) else None
    out = _attend(asking, *known, batch=batch, window=window, scaling=scaling, softcap=softcap)
    return unfold(out, batch.sources, batch.slots), None


def _reach(batch: TreeBatch) -> int:
    # The longest row decides whether a window can cut anything. Counted from shapes: reading the device would stall it.
    return batch.width + (batch.head.length if batch.head else 0)


# Where a row is this long, a mask for each query head would weigh more than keys for each.
_LONG = 1024
# Up to here a CPU is quicker back through plain products than through its own kernel for attention.
_SHORT = 256


def _attend(
    query: Tensor, key: Tensor, value: Tensor, *, batch: TreeBatch, window: int | None, scaling: float | None, softcap: float | None
) -> Tensor:
    """Softmax attention of (rows, heads, width, size) against fewer key heads: short rows without repeating the keys."""
    plainly = softcap is not None or (query.requires_grad and not query.is_cuda and query.shape[2] <= _SHORT)
    # A CPU has the kernel without masks for whole rows only, not for rows behind a head.
    if batch.layout.chain and (query.is_cuda or batch.head is None) and window is None and not plainly:
        return _attend_in_order(query, key, value, scaling)
    rows, heads, width, size = query.shape
    groups = heads // key.shape[1]
    if width > _LONG:
        key, value = (states.repeat_interleave(groups, dim=1) for states in (key, value))
        groups = 1
    mask = batch.mask(window, query.dtype, groups)
    query = query.reshape(rows, heads // groups, groups * width, size)
    if plainly:
        weights = (query * (scaling if scaling is not None else size**-0.5)) @ key.transpose(2, 3)
        weights = weights if softcap is None else torch.tanh(weights / softcap) * softcap
        out = torch.softmax(weights + mask, dim=-1, dtype=torch.float32).to(value.dtype) @ value
    else:
        out = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling)
    return out.reshape(rows, heads, width, value.shape[-1])


def _attend_in_order(query: Tensor, key: Tensor, value: Tensor, scaling: float | None) -> Tensor:
    """The same where a row is a plain sequence: each token sees what stands before it, which GPUs have a kernel without masks for.

    Empty slots stand at the end of a row, where no token looks.
    """
    from torch.nn.attention.bias import causal_lower_right

    grouped = query.shape[1] != key.shape[1]
    if query.shape[2] == key.shape[2]:
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, scale=scaling, enable_gqa=grouped
        )
    mask: Any = causal_lower_right(query.shape[2], key.shape[2])
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling, enable_gqa=grouped)
