"""Bringing the tables of an earlier release up to date."""

from __future__ import annotations

import sqlalchemy as sql
from sqlalchemy.schema import CreateColumn


def add_missing_columns(engine: sql.Engine, table: sql.Table) -> None:
    """Give the table the columns that it lacks, and their indexes; each column must have a default or allow NULL."""
    present = {column["name"] for column in sql.inspect(engine).get_columns(table.name)}
    missing = [column for column in table.columns if column.name not in present]
    with engine.begin() as connection:
        for column in missing:
            definition = CreateColumn(column).compile(dialect=engine.dialect)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {definition}")
        for index in table.indexes:
            if {column.name for column in missing} & set(index.columns.keys()):
                index.create(connection)
