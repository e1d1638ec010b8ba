"""Time and memory: ours against other ways to the same numbers. Run with ``python -m benchmarks``."""
