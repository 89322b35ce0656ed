"""The prompts of the built-in agents and the planner, as Markdown files; see ``multi_agent/prompt.py``."""
