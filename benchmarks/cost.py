"""The cost model of docs/scale.md, checked: made from the smallest and the largest model measured, it must foretell the middle one.

Seconds a row = operations a row ÷ F + c: F is the rate at which one more operation is done, c what a row costs with any model.
python -m benchmarks.cost                        with the rates of benchmarks/gpu_scale.py that stand below
python -m benchmarks.cost --rates 1624 658 310   with others, in the order of gpu_scale.SHAPES
"""

import argparse
import sys

from benchmarks.figures import HEAD, figure

# layers, width, feed-forward width, heads, key-value heads: those of gpu_scale.py, which needs torch
SHAPES = {
    "1B": (16, 2048, 8192, 32, 8),
    "3B": (28, 3072, 8192, 24, 8),
    "8B": (32, 4096, 14336, 32, 8),
}
VOCABULARY, TOKENS, HEAD_TOKENS, LABEL_TOKENS = 128_256, 118, 34, 2
# rows a second on one H200, 15 November 2026
MEASURED = (1624.0, 658.0, 310.0)
ROWS = 2e9
# bytes a row: comments in Parquet, answered parts, predictions
BYTES = {"comments read": 130, "answered parts": 23, "predictions": 30}


def operations(layers: int, width: int, inner: int, heads: int, shared: int) -> float:
    """Floating-point operations of one row of TOKENS tokens behind a head that is computed once, with two labels."""
    linear = layers * (2 * width * width + 2 * width * (width // heads * shared) + 3 * width * inner)
    attention = 4 * layers * width * TOKENS * (HEAD_TOKENS + (TOKENS + 1) / 2)
    return 2.0 * linear * (TOKENS + LABEL_TOKENS) + attention + 2.0 * width * VOCABULARY * LABEL_TOKENS


def fitted(rates: tuple[float, ...]) -> tuple[float, float]:
    """Operations a second and seconds a row, from the first and the last shape."""
    work = [operations(*shape) for shape in SHAPES.values()]
    rate = (work[-1] - work[0]) / (1 / rates[-1] - 1 / rates[0])
    return rate, 1 / rates[0] - work[0] / rate


def main() -> None:
    """Print the check, then what two billion comments cost."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rates", type=float, nargs=3, default=MEASURED)
    rates = tuple(parser.parse_args(sys.argv[1:] if __name__ == "__main__" else []).rates)
    rate, fixed = fitted(rates)
    print(f"F = {rate / 1e12:.0f} TFLOP/s, c = {1e6 * fixed:.0f} µs a row, from the smallest and the largest.\n")
    print(HEAD)
    for (name, shape), measured in zip(SHAPES.items(), rates, strict=True):
        foretold = 1 / (operations(*shape) / rate + fixed)
        off = 100 * abs(foretold / measured - 1)
        remark = f"{foretold:,.0f} rows/s foretold, {measured:,.0f} measured; {operations(*shape) / 1e9:,.0f} GFLOP a row"
        print(figure(f"{name}: how far the model is off", [off], "%", below=10 if name == "3B" else None, remark=remark))
    for (name, _), measured in zip(SHAPES.items(), rates, strict=True):
        days = ROWS / measured / 86_400
        remark = f"{days / 10:.1f} days on 10, {24 * days / 100:.0f} hours on 100"
        print(figure(f"{ROWS:.0e} comments × {name}", [24 * days], "GPU hours", remark=remark))
    for what, size in BYTES.items():
        print(figure(f"{ROWS:.0e} comments: {what}", [size * ROWS / 1e9], "GB", remark=f"{size} bytes a row"))


if __name__ == "__main__":
    main()
