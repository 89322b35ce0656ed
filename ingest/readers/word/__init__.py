"""Reads Word documents: the body with anchored content, headers and footers."""
