"""StereoSet on one GPU: a random model of Llama-3.2-1B's shape in bfloat16, synthetic items of the dev set's sizes.

Needs torch, transformers, numpy and pyarrow only:  PYTHONPATH=src python benchmarks/gpu_stereoset.py
Prints a Markdown table. FAIRWITNESS_BENCH_TINY=1 runs the same code on a CPU with a toy model, to see that it runs. Times are of
scoring as `stereoset eval` does it, tokenizing and packing included, loading not. The peer is the Gemma 3 evaluation's method:
three full sequences per item, one at a time, here on a part of the items and scaled up.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

import numpy as np
import torch

from fairwitness.models.causal_lm import CausalLM
from fairwitness.scorers.likelihood import Likelihood

TINY = bool(os.environ.get("FAIRWITNESS_BENCH_TINY"))
DEVICE = torch.device("cpu" if TINY or not torch.cuda.is_available() else "cuda")
VOCABULARY = 997 if TINY else 128_256
SIZES = {"intrasentence": 2106, "intersentence": 2123}
SHRINK = 20 if TINY else 1
TEMPLATE = "{% for m in messages %}w2 w3 {{ m['role'] }} {{ m['content'] }} w4 w5 {% endfor %}"


def tokenizer() -> Any:
    """One token per word: the time to tokenize is there, and lengths are what they are asked to be."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<s>": 0, "</s>": 1, **{f"w{k}": k for k in range(2, VOCABULARY)}}
    made = Tokenizer(models.WordLevel(words, unk_token="</s>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    wrapped = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>")
    wrapped.chat_template = TEMPLATE
    return wrapped


def language_model() -> CausalLM:
    """Random weights; what they are changes no time."""
    from transformers import AutoModelForCausalLM, LlamaConfig

    layers, hidden, inner, heads, groups = (2, 64, 128, 4, 2) if TINY else (16, 2048, 8192, 32, 8)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=groups,
        head_dim=hidden // heads,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    dtype = "float32" if TINY else "bfloat16"
    with torch.device(DEVICE):
        made = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype))
    return CausalLM(made.to(DEVICE).eval().requires_grad_(False), tokenizer(), "llama-3.2-1b-shape", DEVICE, dtype)


def items() -> list[tuple[str, str, str]]:
    """As many items as the dev set, with lengths drawn like its own (in tokens of a 49k vocabulary)."""
    dice = np.random.default_rng(0)

    def words(n: int) -> str:
        return " ".join(f"w{k}" for k in dice.integers(10, VOCABULARY, n))

    rows = []
    for subset, size in SIZES.items():
        for _ in range(size // SHRINK):
            if subset == "intrasentence":
                front, back = words(int(np.clip(dice.gamma(3.0, 2.0), 1, 25))), words(int(dice.integers(0, 5)))
                context = f"{front} BLANK {back}".strip()
                rows += [(subset, context, context.replace("BLANK", words(int(dice.integers(1, 4))))) for _ in range(3)]
            else:
                context = words(int(np.clip(dice.gamma(8.0, 1.15), 3, 40)))
                rows += [(subset, context, words(int(np.clip(dice.gamma(6.0, 1.6), 2, 40)))) for _ in range(3)]
    return rows


def seconds(work: Any) -> tuple[float, Any]:
    """How long some work takes, the device's own work included."""
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()
    begun = time.perf_counter()
    result = work()
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begun, result


def one_at_a_time(lm: CausalLM, scorer: Likelihood, rows: list[tuple[str, str, str]]) -> list[float]:
    """The Gemma 3 evaluation's way: the templated sequence, alone, with labels; minus the loss is the score."""
    scores = []
    for row in rows:
        ids = torch.tensor(scorer._full_tokens([[row]])[0], device=DEVICE)
        with torch.no_grad():
            scores.append(-lm.model(ids, labels=ids).loss.item())
    return scores


def main() -> None:
    """Print the table."""
    lm, rows = language_model(), items()
    shown = torch.cuda.get_device_name() if DEVICE.type == "cuda" else "CPU"
    print(f"{shown}, torch {torch.__version__}, {lm.dtype}, {len(rows) // 3:,} items of three sentences\n")
    print("| what | seconds for all items | items/s |\n|---|---|---|")
    found = {}
    for protocol in ("reference", "conditional", "pmi", "chat"):
        scorer = Likelihood(model="random", protocol=protocol)
        scorer.__dict__["lm"] = lm
        scorer.score(rows[:300])
        size = 3 * 4096
        taken, parts = seconds(lambda s=scorer, n=size: [s.score(rows[k : k + n]) for k in range(0, len(rows), n)])
        found[protocol] = (taken, np.concatenate([part["score"] for part in parts]))
        print(f"| ours, `{protocol}` | {taken:.2f} | {len(rows) / 3 / taken:,.0f} |", flush=True)
    few = rows[: 3 * 60] + rows[-3 * 60 :]
    scorer = Likelihood(model="random", protocol="chat")
    scorer.__dict__["lm"] = lm
    one_at_a_time(lm, scorer, few[:6])
    taken, slow = seconds(lambda: one_at_a_time(lm, scorer, few))
    whole = taken * len(rows) / len(few)
    print(f"| three sequences an item, one at a time (from {len(few) // 3} items) | {whole:.1f} | {len(rows) / 3 / whole:,.0f} |")
    fast = np.concatenate([found["chat"][1][: 3 * 60], found["chat"][1][-3 * 60 :]])
    gap = float(np.abs(fast - np.array(slow)).max())
    print(f"\nThe same method (`chat`) is {whole / found['chat'][0]:.1f} times as fast; scores differ by at most {gap:.1g}.")
    print(f"Target for the whole dev set: under 15 s of scoring; `reference` took {found['reference'][0]:.2f} s.")


if __name__ == "__main__":
    main()
