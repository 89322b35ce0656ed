"""API keys, permissions, limits and the audit log."""
