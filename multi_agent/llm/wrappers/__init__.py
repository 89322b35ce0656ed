"""Wrappers for language models and endpoints. Each module implements one concern."""
