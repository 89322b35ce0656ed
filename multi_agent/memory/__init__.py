"""Memory across runs: plans, preferences, how-to notes and conversations."""
