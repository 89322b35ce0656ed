"""What is kept of every run: its events, its journal of model calls, its answer."""
