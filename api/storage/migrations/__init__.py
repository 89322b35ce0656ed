"""Alembic migrations of the SQL database. One file per schema version in ``versions``."""
