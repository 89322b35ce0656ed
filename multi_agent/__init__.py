"""Plan, run, observe: a panel of LLM agents that researches one question over one shared context."""
