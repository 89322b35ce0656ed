"""Compares the meaning of a claim and its quotes by rules: negations, opposites, figures with units, roles."""
