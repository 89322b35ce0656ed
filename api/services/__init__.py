"""Use cases, one file each. Callers: the command line, REST, MCP and jobs."""
