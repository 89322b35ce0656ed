"""The built-in agents, one file each; their prompts lie in ``multi_agent/prompts``."""
