"""The SQL schema: the ``MetaData`` on which every package declares its tables.

A store declares its ``Table`` next to its code. ``api/storage/database.py`` opens the database and runs the migrations
in ``api/storage/migrations``, which create the tables.
"""

from __future__ import annotations

from sqlalchemy import MetaData

# The names that Postgres gives to unnamed constraints, and SQLAlchemy to unnamed indexes. Unique constraints stay
# unnamed: on SQLite, databases from before Alembic have an unnamed one, which cannot be renamed.
NAMING_CONVENTION = {
    "pk": "%(table_name)s_pkey",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "ix": "ix_%(column_0_label)s",
}
METADATA = MetaData(naming_convention=NAMING_CONVENTION)
