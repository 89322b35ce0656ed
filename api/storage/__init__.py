"""The SQL database and the uploaded files."""
