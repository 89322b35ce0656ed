"""Routes of agents, skills, plans, tools and memories."""
