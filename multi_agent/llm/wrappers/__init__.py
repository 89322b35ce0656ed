"""Wrappers for language models and endpoints, and the records of their calls."""
