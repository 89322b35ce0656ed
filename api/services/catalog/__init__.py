"""Use cases of agents, plans, skills, tools and memories."""
