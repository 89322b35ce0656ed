"""Schema versions, oldest first. A released file must not change: write a new one instead."""
