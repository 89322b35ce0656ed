"""Memory across runs: plans, preferences, how-to notes, conversations and tool use."""
