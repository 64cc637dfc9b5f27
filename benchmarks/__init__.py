"""Benchmarks: commands that print ratios measured in one run; benchmarks/README.md."""
