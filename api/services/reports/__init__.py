"""Reports of evaluations: content, and a template per format."""
