"""Commands for agents, skills, plans, memories and tools."""
