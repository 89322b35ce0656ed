"""Alembic's environment: runs the migrations on the connection that ``api/storage/database.py`` passes in."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
