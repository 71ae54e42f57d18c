"""The recipes, one per system: which dataset meets which scorer and which metrics. Each holds its defaults in one frozen config."""
