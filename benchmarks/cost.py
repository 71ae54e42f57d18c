"""The cost model of docs/scale.md, checked: made from the smallest and the largest model measured, it must foretell the middle one.

Seconds a row = operations a row ÷ F + bytes a row ÷ B: F is the rate of matrix products, B that of the steps between them (norms,
sums, rotary positions, gates), which are bound by memory.
python -m benchmarks.cost                        with the rates of benchmarks/gpu_scale.py that stand below
python -m benchmarks.cost --rates 2159 741 347   with others, in the order of gpu_scale.SHAPES
"""

import argparse
import sys

import numpy as np

from benchmarks.figures import HEAD, figure

# layers, width, feed-forward width, heads, key-value heads: those of gpu_scale.py, which needs torch
SHAPES = {
    "1B": (16, 2048, 8192, 32, 8),
    "3B": (28, 3072, 8192, 24, 8),
    "8B": (32, 4096, 14336, 32, 8),
}
VOCABULARY, TOKENS, HEAD_TOKENS, LABEL_TOKENS = 128_256, 118, 34, 2
# rows a second on one H200, 15 November 2026
MEASURED = (2159.0, 741.0, 347.0)
ROWS = 2e9
# bytes a row: comments in Parquet, answered parts, predictions
BYTES = {"comments read": 130, "answered parts": 23, "predictions": 30}


def operations(layers: int, width: int, inner: int, heads: int, shared: int) -> float:
    """Floating-point operations of one row of TOKENS tokens behind a head that is computed once, with two labels."""
    linear = layers * (2 * width * width + 2 * width * (width // heads * shared) + 3 * width * inner)
    attention = 4 * layers * width * TOKENS * (HEAD_TOKENS + (TOKENS + 1) / 2)
    # The last feed-forward block works where a label is scored alone.
    unread = 3 * width * inner * (TOKENS - 1)
    return 2.0 * (linear * (TOKENS + LABEL_TOKENS) - unread) + attention + 2.0 * width * VOCABULARY * LABEL_TOKENS


def traffic(layers: int, width: int, inner: int, heads: int, shared: int) -> float:
    """Bytes that the steps between matrix products read and write for one row, two bytes a number.

    A token of a layer: two norms (4 × width), two sums (6 ×), folding and turning of queries, keys, values and answers (10 ×), and
    the gate (4 × the feed-forward width).
    """
    return 2.0 * (TOKENS + LABEL_TOKENS) * layers * (20 * width + 4 * inner)


def fitted(rates: tuple[float, ...]) -> tuple[float, float]:
    """Operations and bytes a second, from the first and the last shape."""
    shapes = [SHAPES[name] for name in ("1B", "8B")]
    parts = np.array([[operations(*shape), traffic(*shape)] for shape in shapes])
    each = np.linalg.solve(parts, 1 / np.array([rates[0], rates[-1]]))
    return float(1 / each[0]), float(1 / each[1])


def foretold(shape: tuple[int, ...], rate: float, memory: float) -> float:
    """Rows a second of a shape."""
    return 1 / (operations(*shape) / rate + traffic(*shape) / memory)


def main() -> None:
    """Print the check, then what two billion comments cost."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rates", type=float, nargs=3, default=MEASURED)
    rates = tuple(parser.parse_args(sys.argv[1:] if __name__ == "__main__" else []).rates)
    rate, memory = fitted(rates)
    print(f"F = {rate / 1e12:.0f} TFLOP/s, B = {memory / 1e12:.1f} TB/s, from the smallest and the largest.\n")
    print(HEAD)
    for (name, shape), measured in zip(SHAPES.items(), rates, strict=True):
        expected = foretold(shape, rate, memory)
        off = 100 * abs(expected / measured - 1)
        remark = f"{expected:,.0f} rows/s foretold, {measured:,.0f} measured; {operations(*shape) / 1e9:,.0f} GFLOP a row"
        print(figure(f"{name}: how far the model is off", [off], "%", below=10 if name == "3B" else None, remark=remark))
    for (name, _), measured in zip(SHAPES.items(), rates, strict=True):
        days = ROWS / measured / 86_400
        remark = f"{days / 10:.1f} days on 10, {24 * days / 100:.0f} hours on 100"
        print(figure(f"{ROWS:.0e} comments × {name}", [24 * days], "GPU hours", remark=remark))
    for what, size in BYTES.items():
        print(figure(f"{ROWS:.0e} comments: {what}", [size * ROWS / 1e9], "GB", remark=f"{size} bytes a row"))


if __name__ == "__main__":
    main()
