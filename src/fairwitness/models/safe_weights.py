"""Weights in a format that cannot run code, unless the user asks for the other kind.

A `pytorch_model.bin` is a pickle. FAIRWITNESS_ALLOW_PICKLED_WEIGHTS=1 lets transformers open one (with its own guard,
`weights_only`); code that a model brings along (`trust_remote_code`) is never run.
"""

import os
from collections.abc import Mapping
from typing import Any

VARIABLE = "FAIRWITNESS_ALLOW_PICKLED_WEIGHTS"


def pickles_allowed() -> bool:
    """Whether the user asked for weights that are pickles to be opened."""
    return os.environ.get(VARIABLE) == "1"


def safe(extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Arguments for `from_pretrained`: those given, and safetensors alone. A GGUF file holds nothing but numbers as it is.

    >>> safe()
    {'trust_remote_code': False, 'use_safetensors': True}
    """
    given = dict(extra or {})
    only = {} if "gguf_file" in given or pickles_allowed() else {"use_safetensors": True}
    return {**given, "trust_remote_code": False, **only}
