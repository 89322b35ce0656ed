"""Reads Word: the body, what is anchored in it, headers and footers."""
