"""Turns files into a searchable collection: plan, parse, chunk, embed, store."""
