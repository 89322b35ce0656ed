"""The SQL schema: the ``MetaData`` on which every package declares its tables.

A store declares its ``Table`` next to its code, and nowhere else. ``api/storage/upgrade.py`` creates the tables,
columns and indexes that a database lacks. The migrations in ``api/storage/migrations`` call it, and convert rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Engine, Executable, MetaData, Row, Select, Table
from sqlalchemy.exc import SQLAlchemyError

# The names that Postgres gives to unnamed constraints, and SQLAlchemy to unnamed indexes. Unique constraints stay
# unnamed: on SQLite, databases from before Alembic have an unnamed one, which cannot be renamed.
NAMING_CONVENTION = {
    "pk": "%(table_name)s_pkey",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "ix": "ix_%(column_0_label)s",
}
METADATA = MetaData(naming_convention=NAMING_CONVENTION)


class DamagedValue(SQLAlchemyError):
    """A value of a row cannot be read. Other rows can."""


class SqlStore:
    """Base of the stores in the database of ``engine``."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def _select(self, query: Select[Any], parameters: Mapping[str, object] | None = None) -> Sequence[Row[Any]]:
        with self._engine.connect() as connection:
            return connection.execute(query, parameters).all()

    def _execute(self, statement: Executable, rows: Any = None) -> int:
        """Execute a statement in a transaction of its own. Return how many rows it changed."""
        with self._engine.begin() as connection:
            return connection.execute(statement, rows).rowcount

    def _replace(self, table: Table, row: Mapping[str, object]) -> None:
        """Insert a row. Deletes the row with the same primary key."""
        same = (column == row[column.name] for column in table.primary_key)
        with self._engine.begin() as connection:
            connection.execute(table.delete().where(*same))
            connection.execute(table.insert(), row)
