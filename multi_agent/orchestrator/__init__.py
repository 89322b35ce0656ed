"""Runs a question to a terminal state: plan, validate, execute, revise, finish."""
