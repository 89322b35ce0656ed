"""Typed conversations with language models. The contract is ``llm.py``; everything else implements or wraps it."""
