"""Reports of evaluations: content, plots, and a template per format."""
