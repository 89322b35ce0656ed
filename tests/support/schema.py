"""New SQLite databases of tests get a copy of the schema. The migrations take 0.15 s for each of thousands of homes.

Tests of the upgrade itself use the migrations; see ``tests/api/storage/conftest.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from uuid import uuid4

import sqlalchemy as sql

from api.bootstrap import import_stores
from api.storage import upgrade

Upgrade = Callable[[sql.Connection], None]

migrate: Upgrade = upgrade._run_migrations
"""Alembic's migrations."""


def copy_schema(connection: sql.Connection) -> None:
    """Do in a new SQLite database what ``migrate`` does, and call it for any other database."""
    new = connection.dialect.name == "sqlite" and not connection.scalar(sql.text("SELECT count(*) FROM sqlite_master"))
    if new:
        for statement in _statements():
            connection.exec_driver_sql(statement)
        connection.execute(sql.text("UPDATE database_identity SET id = :id"), {"id": str(uuid4())})
    else:
        migrate(connection)


@cache
def _statements() -> list[str]:
    """Return the statements that write a new database, without those that begin and end the transaction."""
    import_stores()
    engine = sql.create_engine("sqlite://")
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        migrate(connection)
        raw = connection.connection.driver_connection
        assert raw is not None
        return list(raw.iterdump())[1:-1]
