"""Reads data: JSON, JSON lines, YAML and TOML as labelled values and tables, in decoded text."""
