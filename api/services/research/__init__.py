"""Use cases of runs: ask, follow, read and export answers."""
