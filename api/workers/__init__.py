"""Who does the research of the service: itself, or a process beside it."""
