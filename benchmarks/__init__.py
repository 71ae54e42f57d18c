"""Speed, memory and scale, each figure beside its peer in the same run. `python -m benchmarks` runs all; names select some."""
