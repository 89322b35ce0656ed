"""The Model Context Protocol server."""
