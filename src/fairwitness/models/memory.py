"""How much may be in flight on a device, and how to tell that it was too much."""

import gc

import torch

# Tokens in one pass. A CPU is fastest while a pass stays in its caches; a GPU wants enough rows to fill every multiprocessor.
_TOKENS = {"cuda": 32_768, "mps": 8_192, "cpu": 2_048}
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
