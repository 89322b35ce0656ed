"""Mutation tests of Candor. Run them with ``python -m benchmarks.mutants``."""
