"""Reports of evaluations: what they show, their plots, and a template for each format."""
