"""Cuts a parsed document into chunks."""
