"""Benchmarks: measure ratios within one run, and are never tests with a time limit."""
