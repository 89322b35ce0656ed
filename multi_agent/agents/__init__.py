"""The built-in agents, one file each. Their prompts are in ``multi_agent/prompts``."""
