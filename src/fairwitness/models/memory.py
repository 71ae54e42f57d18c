"""How much may be in flight on a device, and how to tell that it was too much."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from fairwitness.errors import ModelError

# Tokens in one pass. A CPU is fastest while a pass stays in its caches; a GPU wants enough rows to fill every multiprocessor.
_TOKENS = {"cuda": 65_536, "mps": 8_192, "cpu": 2_048}
_SIGNS = ("out of memory", "can't allocate memory", "not enough memory", "failed to allocate", "bad alloc")


def token_budget(device: torch.device) -> int:
    """Tokens to send through a model at once on this device, before anything is known of the model."""
    return _TOKENS.get(device.type, 1_024)


def out_of_memory(error: BaseException, device: torch.device) -> bool:
    """Whether this error means that memory ran out. When so, what can be given back is given back."""
    words = str(error).lower()
    if not (isinstance(error, MemoryError | torch.OutOfMemoryError) or any(sign in words for sign in _SIGNS)):
        return False
    if device.type == "cuda":
        gc.collect()
        torch.cuda.empty_cache()
    return True


_ADVICE = "Take a smaller model, --dtype bfloat16 or --quantize where there is one, or another --device"


@contextmanager
def enough_memory(what: str, device: torch.device, advice: str = _ADVICE) -> Iterator[None]:
    """Hold this around what cannot be done in smaller pieces: that it does not fit is then said in one sentence."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error, device):
            raise
        raise ModelError(
            f"Out of memory: {what} does not fit on {device}. {advice}, and see what else uses that memory."
        ) from error


def in_batches(places: Sequence[int], size: int, one_batch: Callable[[Sequence[int]], None], device: torch.device) -> None:
    """Call `one_batch` with some places at a time, `size` of them, or fewer from where memory runs out."""
    start = 0
    while start < len(places):
        some = places[start : start + size]
        try:
            one_batch(some)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error, device):
                raise
            if len(some) == 1:
                raise ModelError(f"Out of memory: one text alone does not fit on {device}. {_ADVICE}.") from error
            size = len(some) // 2
            continue
        start += len(some)
