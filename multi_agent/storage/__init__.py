"""Runs in SQL: their events, model calls, tool calls and answers."""
