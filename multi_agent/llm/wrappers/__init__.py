"""Wrappers around the contract of a language model or an endpoint, one concern each."""
