"""Converts the text of a response to a typed value, with schemas, repairs and retries."""
