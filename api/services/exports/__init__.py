"""Formats of an exported answer, one file each: ``render(run, answer)`` returns its bytes; see ``export.py``."""
