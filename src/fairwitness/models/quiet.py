"""Silence while transformers reads a model: its bars and its advice stay away, since what matters is said by us."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def quiet() -> Iterator[None]:
    """No bars of transformers inside; afterwards they are as they were. On a terminal the hub still shows what it downloads.

    The advice of transformers stays silent for good: tokenizers give theirs only when texts come.
    """
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
    from transformers import modeling_gguf_pytorch_utils as gguf
    from transformers.utils import logging

    logging.set_verbosity_error()
    shown, hub, bar = logging.is_progress_bar_enabled(), not are_progress_bars_disabled(), gguf.tqdm
    logging.disable_progress_bar()
    if hub and sys.stderr.isatty():
        enable_progress_bars()
    # The reader of GGUF files draws with tqdm itself and asks nobody.
    gguf.tqdm = _no_bar
    try:
        yield
    finally:
        gguf.tqdm = bar
        if shown:
            logging.enable_progress_bar()
        (enable_progress_bars if hub else disable_progress_bars)()


def _no_bar(items: Iterable[Any], **look: Any) -> Iterable[Any]:
    return items
