"""How many GPUs this process may use."""


def count_gpus() -> int:
    """CUDA devices that torch sees; none where torch is not installed."""
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.device_count() if torch.cuda.is_available() else 0
