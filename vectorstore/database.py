"""The SQL schema: the ``MetaData`` on which every package declares its tables.

A store declares its ``Table`` next to its code. ``api/storage/database.py`` opens the database and runs the migrations
in ``api/storage/migrations``, which create the tables.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import sqlalchemy as sql
from sqlalchemy import MetaData

from vectorstore.models import SEPARATOR

# The names that Postgres gives to unnamed constraints, and SQLAlchemy to unnamed indexes. Unique constraints stay
# unnamed: on SQLite, databases from before Alembic have an unnamed one, which cannot be renamed.
NAMING_CONVENTION = {
    "pk": "%(table_name)s_pkey",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "ix": "ix_%(column_0_label)s",
}
METADATA = MetaData(naming_convention=NAMING_CONVENTION)

SELECTION = sql.String(64).with_variant(sql.Text(), "postgresql")
"""The type of a column with a selection of collections. SQLite stores texts of any length, whatever their type."""


def within(selection: sql.ColumnElement[Any], among: Set[str] | None) -> sql.ColumnElement[bool]:
    """Return the condition that all collections of a selection are among these. None means all."""
    if among is None:
        return sql.true()
    others: sql.ColumnElement[Any] = SEPARATOR + selection + SEPARATOR
    for name in sorted(among):
        others = sql.func.replace(others, f"{SEPARATOR}{name}{SEPARATOR}", SEPARATOR)
    return sql.or_(selection.in_(sorted(among)), sql.and_(selection.contains(SEPARATOR), others == SEPARATOR))


def includes(selection: sql.ColumnElement[Any], wanted: str) -> sql.ColumnElement[bool]:
    """Return the condition that a selection is the wanted one, or contains the wanted collection."""
    padded = SEPARATOR + selection + SEPARATOR
    return sql.or_(selection == wanted, padded.contains(f"{SEPARATOR}{wanted}{SEPARATOR}", autoescape=True))
