"""Where batches run: this process, or a Ray cluster. An engine maps parts of work over a scorer and keeps the answers."""
