"""Record what the built-in model says of the built-in examples, for demos on machines without torch.

python scripts/record_example_scores.py runs/demo/scores.parquet
"""

import sys
from pathlib import Path

import polars as pl

TARGET = Path(__file__).parents[1] / "src" / "fairwitness" / "datasets" / "builtin" / "examples_smollm2.parquet"


def main() -> None:
    """Take the scores that a demo wrote. Half a thousandth is precise enough to draw with, and keeps the file small."""
    frame = pl.read_parquet(sys.argv[1]).with_columns(pl.col("score", "lp_pos", "lp_neg").round(3))
    frame.write_parquet(TARGET, compression="zstd")
    print(f"{TARGET}: {frame.height} rows, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
