"""Use cases for asking questions, and for following, reading and exporting runs."""
