"""Copies all rows of one SQL database into another, between SQLite and Postgres.

The tables come from the database, not from the code, so this module does not change with the schema. Both databases
have the newest schema. JSON is copied as text, so that it stays the same.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timezone
from typing import Any

import sqlalchemy as sql

from api.errors import UsageError

OnTable = Callable[[str, int], None]
"""Receives the name of a copied table and its number of rows."""

_NOT_COPIED = ("alembic_version", "ingests_under_way", "processes", "active_jobs")
"""The version of the schema, and what running processes store."""
_OF_NEW_DATABASE = ("database_identity",)  # rows that a new database has; the copy replaces them
_BATCH = 500
_PARAMETER = "value_"  # before the name of a column; SQLAlchemy reserves the name itself


def require_empty(target: sql.Engine) -> None:
    """Raise UsageError if a table of the target has rows."""
    with target.connect() as connection:
        for table in _tables(target):
            if table.name not in _OF_NEW_DATABASE and (rows := _count(connection, table)):
                raise UsageError(
                    f"The database at the target is not empty: the table {table.name!r} has {rows} rows. Name a new "
                    "database. For files, rename `candor.db` in the data folder first."
                )


def copy_database(source: sql.Engine, target: sql.Engine, on_table: OnTable) -> int:
    """Copy all rows, in one transaction of the target. Return their number.

    Rows of an earlier copy are replaced. Raises SQLAlchemyError; then the target is unchanged.
    """
    tables = _tables(source)
    copies = {table.name: table for table in _tables(target)}
    copied = 0
    with source.connect() as reading, target.begin() as writing:
        for table in reversed(tables):
            writing.execute(sql.delete(copies[table.name]))
        for table in tables:
            copied += (rows := _copy_table(reading, table, writing, copies[table.name]))
            on_table(table.name, rows)
    return copied


def _copy_table(reading: sql.Connection, table: sql.Table, writing: sql.Connection, copy: sql.Table) -> int:
    """Return the number of rows."""
    insert = sql.insert(copy).values({column.name: _parameter(column, writing) for column in copy.columns})
    for rows in _read(reading, table):
        writing.execute(insert, [_values(copy, row, writing) for row in rows])
    _set_sequence(writing, copy)
    expected, found = _count(reading, table), _count(writing, copy)
    if found != expected:
        raise UsageError(
            f"The table {table.name!r} changed while it was copied: it has {expected} rows, the copy has {found}. End "
            "all other processes of Candor and run the command again."
        )
    return found


def _tables(engine: sql.Engine) -> list[sql.Table]:
    """Return the tables of Candor, each after those that it refers to."""
    metadata = sql.MetaData()
    metadata.reflect(engine)
    return [table for table in metadata.sorted_tables if table.name not in _NOT_COPIED]


def _count(connection: sql.Connection, table: sql.Table) -> int:
    return connection.scalar(sql.select(sql.func.count()).select_from(table)) or 0


def _read(connection: sql.Connection, table: sql.Table) -> Iterator[Sequence[sql.RowMapping]]:
    columns = [_as_stored(column, connection).label(column.name) for column in table.columns]
    query = sql.select(*columns).order_by(*table.primary_key.columns).execution_options(yield_per=_BATCH)
    yield from connection.execute(query).mappings().partitions()


def _as_stored(column: sql.Column[Any], connection: sql.Connection) -> sql.ColumnElement[Any]:
    """Return JSON as text. Python would read null and a missing value as the same."""
    if not isinstance(column.type, sql.JSON):
        return column
    return sql.cast(column, sql.Text) if _is_postgres(connection) else sql.type_coerce(column, sql.Text)


def _parameter(column: sql.Column[Any], connection: sql.Connection) -> sql.ColumnElement[Any]:
    """Return the parameter of a column in an insert. The text of JSON is inserted unchanged."""
    name = _PARAMETER + column.name
    if isinstance(column.type, sql.JSON):
        text = sql.bindparam(name, type_=sql.Text())
        return sql.cast(text, column.type) if _is_postgres(connection) else text
    return sql.bindparam(name, type_=column.type)


def _values(table: sql.Table, row: sql.RowMapping, connection: sql.Connection) -> dict[str, Any]:
    """Return the parameters of a row. SQLite stores times in UTC without their zone, Postgres with it."""
    zone = UTC if _is_postgres(connection) else None
    values = {_PARAMETER + column.name: row[column.name] for column in table.columns}
    return {name: _in_zone(value, zone) if isinstance(value, datetime) else value for name, value in values.items()}


def _in_zone(time: datetime, zone: timezone | None) -> datetime:
    in_utc = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return in_utc.replace(tzinfo=zone)


def _set_sequence(connection: sql.Connection, table: sql.Table) -> None:
    """Make Postgres count new ids of the table from the largest copied one. SQLite does so itself."""
    if not _is_postgres(connection):
        return
    for column in table.primary_key.columns:
        names = {"table": f'"{table.name}"', "column": column.name}
        sequence = connection.scalar(sql.text("SELECT pg_get_serial_sequence(:table, :column)"), names)
        if sequence and (largest := connection.scalar(sql.select(sql.func.max(column)))):
            connection.execute(
                sql.text("SELECT setval(CAST(:name AS regclass), :value)"), {"name": sequence, "value": largest}
            )


def _is_postgres(connection: sql.Connection) -> bool:
    return connection.dialect.name == "postgresql"
