"""Candor's own tools. ``multi_agent/tool.py`` defines the contract."""
