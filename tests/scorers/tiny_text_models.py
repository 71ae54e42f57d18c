"""Tiny models with real tokenizers, saved as folders: what a user would name with --model."""

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
)

from fairwitness.datasets.stereoset_items import read_items

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<turn>{{ message['role'] }}: {{ message['content'] }}</turn>{% endfor %}"
    "{% if add_generation_prompt %}<turn>assistant:{% endif %}"
)
BERT_SPECIAL = {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
ROBERTA_SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
ROBERTA_SPECIAL |= {"pad_token": "<pad>", "unk_token": "<unk>"}


def corpus() -> list[str]:
    """The built-in items' own words."""
    items = read_items()
    return [*items["context"].to_list(), *items["text"].to_list()]


def byte_level(special: list[str], size: int) -> Any:
    """Byte-level BPE, as GPT-2, Llama 3 and RoBERTa have it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def spread(model: Any) -> Any:
    """Weights large enough that every token matters."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.data.normal_(0, 0.25)
    model.tie_weights()
    return model.eval()


def causal_folder(path: Path, *, chat: bool = True) -> str:
    """A Llama with a start token and, unless told otherwise, a chat template."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=byte_level(["<s>", "</s>"], 420), bos_token="<s>", eos_token="</s>")
    if chat:
        tokenizer.chat_template = TEMPLATE
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=128, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    tokenizer.save_pretrained(path)
    spread(LlamaForCausalLM(config)).save_pretrained(path)
    return str(path)


def bert_folder(path: Path) -> str:
    """A BERT with WordPiece, so that words have pieces."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=160, special_tokens=list(BERT_SPECIAL.values()), show_progress=False)
    tokenizer.train_from_iterator(corpus(), trainer)
    ends = [(word, tokenizer.token_to_id(word)) for word in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **BERT_SPECIAL)
    wrapped.save_pretrained(path)
    config = BertConfig(
        vocab_size=len(wrapped), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=64,
    )  # fmt: skip
    spread(BertForMaskedLM(config)).save_pretrained(path)
    return str(path)


def roberta_folder(path: Path) -> str:
    """A RoBERTa with byte-level BPE."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = byte_level(special, 420)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ROBERTA_SPECIAL)
    wrapped.save_pretrained(path)
    config = RobertaConfig(
        vocab_size=len(wrapped), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=66, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2,
    )  # fmt: skip
    spread(RobertaForMaskedLM(config)).save_pretrained(path)
    return str(path)


def rows(subset: str = "both") -> list[tuple[str, str, str]]:
    """The built-in items as the scorers take them."""
    return [tuple(row) for row in read_items(subset=subset).select("subset", "context", "text").iter_rows()]


def write_json(path: Path, content: Any) -> Path:
    """JSON on disk; NaN stays NaN, as careless programs write it."""
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
