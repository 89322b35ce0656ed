"""Look for inputs that Candor handles wrongly. Start with ``python -m benchmarks.fuzz``."""
