"""Commands for questions and their runs."""
