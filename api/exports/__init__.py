"""The formats of an exported answer, a file each: ``render(run, answer)`` gives its bytes; see ``api/exporting.py``."""
