"""Stores tables and their cells in SQL. A cell is stored when it is known, so an interrupted fill can go on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sql
from sqlalchemy.exc import IntegrityError

from base.bin import Kind, kept
from base.database import METADATA, SqlStore
from multi_agent.errors import NameTaken, TableNotFound
from multi_agent.tables.values import Cell, Table

_tables = sql.Table(
    "document_tables",
    METADATA,
    sql.Column("name", sql.String(64), primary_key=True),
    sql.Column("collection", sql.Text, nullable=False),
    sql.Column("created_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("spec", sql.JSON, nullable=False),
)

_KEPT = kept(Kind.TABLE, _tables.c.name)

_cells = sql.Table(
    "document_table_cells",
    METADATA,
    sql.Column("table_name", sql.String(64), sql.ForeignKey("document_tables.name"), primary_key=True),
    sql.Column("document_id", sql.Text, primary_key=True),
    sql.Column("column_name", sql.Text, primary_key=True),
    sql.Column("cell", sql.JSON, nullable=False),
)


class TableStore(SqlStore):
    """The tables in the database of ``engine``. All methods block."""

    def add(self, table: Table) -> None:
        """Store a new table. Raises NameTaken."""
        row = {"name": table.name, "collection": table.collection, "created_at": table.created_at}
        try:
            with self._engine.begin() as connection:
                connection.execute(_tables.insert(), row | {"spec": table.model_dump(mode="json")})
        except IntegrityError as error:
            kept = any(each.name == table.name for each in self.list())
            taken = NameTaken(f"A table {table.name!r} {'exists' if kept else 'is in the bin'}.")
            remove = f"candor table drop {table.name} --now" if kept else f"candor bin empty {table.name}"
            raise taken.with_command(f"Choose another name, or remove it with `{remove}`.") from error

    def change(self, table: Table) -> None:
        """Replace the stored table of this name. Its cells stay."""
        changed = _tables.update().where(_tables.c.name == table.name)
        with self._engine.begin() as connection:
            connection.execute(changed.values(spec=table.model_dump(mode="json")))

    def get(self, name: str) -> Table:
        """Return a table. Raises TableNotFound."""
        found = self._select(sql.select(_tables.c.spec).where(_tables.c.name == name, _KEPT))
        if not found:
            error = TableNotFound(f"There is no table {name!r}.")
            raise error.with_command("`candor table list` lists the tables.")
        return Table.model_validate(found[0].spec)

    def list(self) -> tuple[Table, ...]:
        """Return all tables, sorted by name."""
        return tuple(
            Table.model_validate(row.spec)
            for row in self._select(sql.select(_tables.c.spec).where(_KEPT).order_by(_tables.c.name))
        )

    def cells(self, name: str) -> tuple[Cell, ...]:
        """Return all stored cells of a table, including those of documents that are no rows any more."""
        found = self._select(sql.select(_cells.c.cell).where(_cells.c.table_name == name))
        return tuple(Cell.model_validate(row.cell) for row in found)

    def put(self, name: str, cells: Sequence[Cell], redo_before: datetime | None = None) -> None:
        """Store cells in one transaction. They replace earlier ones.

        A cell that a person has filled stays, also if that happened during the model call, unless it was filled before
        ``redo_before``. Raises TableNotFound if the table was deleted meanwhile.
        """
        try:
            with self._engine.begin() as connection:
                for cell in cells:
                    _put(connection, name, cell, redo_before)
        except IntegrityError:
            self.get(name)
            raise

    def delete(self, name: str) -> None:
        """Delete a table with its cells."""
        with self._engine.begin() as connection:
            connection.execute(_cells.delete().where(_cells.c.table_name == name))
            connection.execute(_tables.delete().where(_tables.c.name == name))


def _put(connection: sql.Connection, name: str, cell: Cell, redo_before: datetime | None) -> None:
    key = {"table_name": name, "document_id": cell.document, "column_name": cell.column}
    same = sql.and_(*(_cells.c[column] == value for column, value in key.items()))
    kept = connection.execute(sql.select(_cells.c.cell).where(same)).scalar()
    if kept and _stays(Cell.model_validate(kept), redo_before):
        return
    connection.execute(_cells.delete().where(same))
    connection.execute(_cells.insert(), key | {"cell": cell.model_dump(mode="json")})


def _stays(cell: Cell, redo_before: datetime | None) -> bool:
    return cell.is_by_hand and not (redo_before and cell.at < redo_before)
