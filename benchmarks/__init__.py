"""Benchmarks: `python -m benchmarks` measures and reports, `pytest benchmarks` checks them once."""
