"""Tiny causal models of many shapes, with random weights large enough that attention matters."""

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from fairwitness.models.causal_lm import CausalLM

# Models this small are slower on many threads than on one.
torch.set_num_threads(1)

VOCABULARY = 97
_BASE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_WINDOW = {"sliding_window": 8}
SHAPES: dict[str, dict[str, Any]] = {
    "llama": {},
    "gemma3_text": {"head_dim": 8, **_WINDOW, "layer_types": ["sliding_attention", "full_attention"] * 2},
    "gemma2": {"head_dim": 8, **_WINDOW, "final_logit_softcapping": 5.0, "attn_logit_softcapping": 10.0},
    "qwen2": {},
    "qwen3": {"head_dim": 8, **_WINDOW, "use_sliding_window": True, "max_window_layers": 2},
    "gpt2": {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 128},
    "mistral": _WINDOW,
    "phi": {"num_key_value_heads": 4},
    "phi3": {"pad_token_id": 0, **_WINDOW},
    "gpt_neox": {},
    "cohere": {"logit_scale": 0.3},
    "bloom": {"n_layer": 2, "n_head": 4},
    "mamba": {"num_hidden_layers": 2},
}
UNPACKED = {"bloom", "mamba"}


def tiny_model(kind: str = "llama", **changes: Any) -> Any:
    """A model in evaluation mode, the same on every call."""
    base = dict(_BASE)
    for ours in SHAPES[kind].keys() & {"n_embd", "n_layer"}:
        base.pop({"n_embd": "hidden_size", "n_layer": "num_hidden_layers"}[ours])
    if "n_head" in SHAPES[kind]:
        base.pop("num_attention_heads")
    if "n_positions" in SHAPES[kind]:
        base.pop("max_position_embeddings")
    config = AutoConfig.for_model(kind, **{**base, **SHAPES[kind], **changes})
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).eval().requires_grad_(False)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.data.normal_(0, 0.25)
    model.tie_weights()
    return model


def tiny_lm(kind: str = "llama", *, token_budget: int = 100, tokenizer: Any = None, **changes: Any) -> CausalLM:
    """The same as a CausalLM on the CPU in float32."""
    model = tiny_model(kind, **changes)
    return CausalLM(model, tokenizer, kind, torch.device("cpu"), "float32", token_budget=token_budget)
