"""What the cost model of docs/scale.md stands on: rows a second of models of three sizes on one GPU, random weights, bfloat16.

Needs torch, transformers, numpy and pyarrow only:  PYTHONPATH=src python benchmarks/gpu_scale.py
The rows are those of gpu_zeroshot.py: an instruction of 34 tokens that all share, 30 to 200 of text, two labels.
"""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "src"), str(Path(__file__).parents[1])]

import torch

from benchmarks.gpu_zeroshot import DEVICE, TINY, items, matmul_rate, model, needed, timed

SHAPES = {
    "1B (16 layers of 2048)": (16, 2048, 8192, 32, 8),
    "3B (28 layers of 3072)": (28, 3072, 8192, 24, 8),
    "8B (32 layers of 4096)": (32, 4096, 14336, 32, 8),
}


def main() -> None:
    """Print the table."""
    rate = matmul_rate()
    count = 64 if TINY else 8192
    work = items(count)
    tokens = sum(len(prefix) - 34 for prefix, _ in work)
    print(f"\n{count} rows, {tokens / count:.0f} tokens a row after the shared instruction.")
    print(f"Matrix products alone: {rate / 1e12:.0f} TFLOP/s.")
    print("\n| shape | parameters | rows/s | tokens/s | TFLOP/s | share of the card |\n|---|---|---|---|---|---|")
    for name, shape in SHAPES.items():
        lm = model(*shape)
        size = sum(weights.numel() for weights in lm.model.parameters())
        lm.score(work[: count // 4])
        seconds, _ = timed(lambda lm=lm: lm.score(work))
        done = needed(lm, work) / seconds
        shown = [
            f"{size / 1e9:.2f} B",
            f"{count / seconds:,.0f}",
            f"{tokens / seconds:,.0f}",
            f"{done / 1e12:.0f}",
            f"{done / rate:.0%}",
        ]
        print(f"| {name} | {' | '.join(shown)} |", flush=True)
        del lm
        if DEVICE.type == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
