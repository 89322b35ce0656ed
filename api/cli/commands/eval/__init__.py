"""The commands of ``candor eval``."""

GROUP = "Ask a set of questions and measure the answers."
