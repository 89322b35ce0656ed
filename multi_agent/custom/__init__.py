"""Agents, skills and choices that are kept as data: what a person can add and change without writing Python."""
