"""A tiny model with a byte-level tokenizer, saved as a folder that `--model` takes."""

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

from .tiny_models import tiny_model

_TEMPLATE = (
    "{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>you:{% endif %}"
)


def byte_tokenizer(*, chat: bool = False) -> Any:
    """One token per byte, a start and an end token, nothing put in front."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(["<pad>", "<s>", "</s>", *letters])}
    inner = Tokenizer(BPE(vocabulary, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    if chat:
        tokenizer.chat_template = _TEMPLATE
    return tokenizer


def tiny_folder(folder: Path, kind: str = "llama", *, chat: bool = False, **changes: Any) -> Path:
    """Save model and tokenizer into `folder`."""
    model = tiny_model(kind, vocab_size=259, max_position_embeddings=512, **changes)
    model.save_pretrained(folder)
    byte_tokenizer(chat=chat).save_pretrained(folder)
    return folder
