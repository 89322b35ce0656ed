"""Verifies what an answer rests on: quotes, citations, votes, equality of values."""
