"""Tools in use: discovery, grants, approvals, the sandbox, MCP servers and the tool loop."""
