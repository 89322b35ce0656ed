"""Use cases of what the panel works with: agents, plans, skills, tools and memories."""
