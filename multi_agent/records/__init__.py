"""Extracted records as typed tables, and SQL over them."""
