"""Which device and which number format, when the user leaves it to us."""

import torch

from fairwitness.errors import InputError, ModelError

DTYPES = ("auto", "float32", "bfloat16", "float16")


def choose_device(asked: str = "auto") -> torch.device:
    """`asked`, or for "auto" the best there is: CUDA, then Apple's MPS, then the CPU. A device that is not there is an error."""
    if asked == "auto":
        asked = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(asked)
    except RuntimeError:
        raise InputError(f"Unknown device '{asked}'. Expected auto, cpu, cuda, cuda:1 or mps.") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ModelError("--device cuda was asked for, but torch sees no CUDA device here. Use --device cpu or auto.")
    if device.type == "cuda" and device.index is not None and device.index >= torch.cuda.device_count():
        raise ModelError(f"--device {asked} was asked for, but there are {torch.cuda.device_count()} CUDA devices.")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ModelError("--device mps was asked for, but this is not a Mac with Metal. Use --device cpu or auto.")
    return device


def choose_dtype(asked: str, device: torch.device) -> str:
    """`asked`, or for "auto" bfloat16 where the hardware multiplies it natively, else float32."""
    if asked not in DTYPES:
        raise InputError(f"Unknown --dtype '{asked}'. Expected one of: {', '.join(DTYPES)}.")
    if asked != "auto":
        return asked
    return "bfloat16" if multiplies_bfloat16(device) else "float32"


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether this device has instructions for bfloat16 products, rather than emulating them more slowly than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "cpu":
        return any(_has(name) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported", "_is_arm_bf16_supported"))
    return False


def _has(name: str) -> bool:
    # Private in torch, so a version without it counts as a CPU without it.
    ask = getattr(torch.cpu, name, None)
    return bool(ask()) if ask is not None else False
