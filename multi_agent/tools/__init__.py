"""Candor's own tools, one file each. ``multi_agent/tool.py`` defines the contract."""
