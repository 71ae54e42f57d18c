"""The tiny model of tiny_folders as a GGUF file, as llama.cpp's converter would write it."""

from pathlib import Path

import numpy as np
from gguf import GGUFWriter, TokenType

from .tiny_folders import byte_tokenizer
from .tiny_models import tiny_model

_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
_OUTSIDE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def tiny_gguf(path: Path) -> Path:
    """Write the Llama of `tiny_folder` to one file."""
    model = tiny_model("llama", vocab_size=259, max_position_embeddings=512)
    config = model.config
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(byte_tokenizer().convert_ids_to_tokens(range(259)))
    writer.add_token_scores([0.0] * 259)
    writer.add_token_types([TokenType.CONTROL] * 3 + [TokenType.NORMAL] * 256)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(0)
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    for name, weights in model.state_dict().items():
        array, place = weights.numpy(), name.removesuffix(".weight")
        if place in _OUTSIDE:
            writer.add_tensor(f"{_OUTSIDE[place]}.weight", array)
            continue
        _, _, layer, inner = place.split(".", 3)
        short = _NAMES[inner]
        if short in heads:
            # llama.cpp keeps the two halves of a rotary pair side by side.
            array = array.reshape(heads[short], 2, -1, array.shape[1]).swapaxes(1, 2).reshape(array.shape)
        writer.add_tensor(f"blk.{layer}.{short}.weight", np.ascontiguousarray(array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
