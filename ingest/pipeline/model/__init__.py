"""Descriptions of figures and facts that a language model adds to documents."""
