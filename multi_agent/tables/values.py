"""What a table is: its columns, its cells, and the values of cells.

A row is a document. ``reading.py`` fills cells, ``store.py`` keeps them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AwareDatetime, BeforeValidator, Field, model_validator

from base.models import FrozenModel
from base.text import shorten
from multi_agent.errors import TableError
from multi_agent.library import CatalogueEntry
from multi_agent.model import Usage
from multi_agent.values.context import Evidence
from multi_agent.values.request import DocumentFilter

PERSON = "person"
"""Who filled a cell by hand."""
MOST_COLUMNS = 50

_WRITTEN_TYPE = re.compile(r"(?P<type>\w+)(?:\((?P<detail>[^()]*)\))?")
_SHOWN_QUOTE = 300  # characters

Text = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"\S")]
_NAME = r"^\w[\w.-]{0,63}$"


def _require_name(value: object) -> object:
    if isinstance(value, str) and not re.match(_NAME, value):
        raise ValueError(
            f"{value!r} must begin with a letter or digit and have only these, '_', '.' and '-', at most 64"
        )
    return value


TableName = Annotated[str, BeforeValidator(_require_name), Field(pattern=_NAME)]
Value = bool | int | float | str | tuple[str, ...]


class ColumnType(StrEnum):
    """The types of the values of a column."""

    TEXT = "text"
    NUMBER = "number"
    DATE = "date"
    YES_NO = "yes_no"
    CHOICE = "choice"
    LIST = "list"


class Column(FrozenModel):
    """A question that is asked of every document, and the type of its answers."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
    question: Text
    type: ColumnType = ColumnType.TEXT
    unit: str = Field(default="", max_length=100, description="unit of a number, such as 'EUR million'")
    choices: tuple[Text, ...] = Field(default=(), max_length=100, description="possible values of a choice")

    @model_validator(mode="after")
    def _choices_fit(self) -> Self:
        if (self.type is ColumnType.CHOICE) != bool(self.choices):
            raise ValueError("a column of the type choice needs `choices`, others have none")
        if self.unit and self.type is not ColumnType.NUMBER:
            raise ValueError("only a column of the type number can have a unit")
        return self

    @classmethod
    def parse(cls, written: str) -> Self:
        """Read ``NAME[=QUESTION][:TYPE]``, where TYPE may be ``number(UNIT)`` or ``choice(A|B)``.

        Raises TableError for an unknown type, ValidationError.
        """
        text, colon, last = written.rpartition(":")
        match = _WRITTEN_TYPE.fullmatch(last.strip()) if colon else None
        if match and match["type"] not in list(ColumnType):
            raise TableError(
                f"There is no type {match['type']!r} of columns ({written!r}). Types: {', '.join(ColumnType)}."
            )
        name, _, question = (text if match else written).partition("=")
        kind = ColumnType(match["type"]) if match else ColumnType.TEXT
        detail = (match["detail"] or "") if match else ""
        is_choice = kind is ColumnType.CHOICE
        return cls(
            name=name.strip(),
            question=question.strip() or name.strip(),
            type=kind,
            unit="" if is_choice else detail.strip(),
            choices=tuple(filter(None, map(str.strip, detail.split("|")))) if is_choice else (),
        )


class CellStatus(StrEnum):
    """The state of a cell that was read. The next fill reads failed cells again."""

    FOUND = "found"
    EMPTY = "empty"
    FAILED = "failed"


class Cell(FrozenModel):
    """The answer of one document to the question of one column."""

    document: str = Field(description="id of the document")
    column: str
    status: CellStatus
    value: Value | None = Field(default=None, description="a date is ISO text")
    evidence: tuple[Evidence, ...] = Field(default=(), description="the quotes that state the value")
    confidence: str = Field(default="", description="how the value was checked, in words")
    reason: str = Field(default="", description="why the cell is empty, or what was left out of a list")
    by: str = Field(description="name of the model, or 'person'")
    at: AwareDatetime = Field(description="when it was filled")
    version: str = Field(description="content hash of the document that was read")
    usage: Usage = Field(
        default=Usage(), description="of the model call. Only the first cell of a call has it, so that sums are right."
    )

    @property
    def is_by_hand(self) -> bool:
        """Whether a person filled the cell."""
        return self.by == PERSON

    @property
    def text(self) -> str:
        """The value for people; '' without one."""
        match self.value:
            case None:
                return ""
            case bool():
                return "yes" if self.value else "no"
            case tuple():
                return "; ".join(self.value)
            case _:
                return str(self.value)

    @property
    def quotes(self) -> list[str]:
        """The quotes with their pages, for people. Long ones are cut."""
        return [
            (f"p. {item.pages[0]}: " if item.pages else "") + shorten(item.quote, _SHOWN_QUOTE)
            for item in self.evidence
        ]


class TableTemplate(FrozenModel):
    """The saved columns and selection of a table. Any collection can use them."""

    filter: DocumentFilter | None = Field(default=None, description="which documents are rows. Null: all.")
    columns: tuple[Column, ...] = Field(min_length=1, max_length=MOST_COLUMNS)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [column.name.casefold() for column in self.columns]
        if len(set(names)) < len(names):
            raise ValueError("two columns have the same name")
        if self.filter and self.filter.latest:
            raise ValueError("a table has a row for each document, also for older versions: leave out `latest`")
        return self


class Table(TableTemplate):
    """A table without its cells."""

    name: TableName
    collection: str
    created_at: AwareDatetime

    @property
    def template(self) -> TableTemplate:
        """Its columns and selection, to save."""
        return TableTemplate(filter=self.filter, columns=self.columns)

    def column(self, name: str) -> Column:
        """Return a column by its name. Upper and lower case are the same. Raises TableError."""
        for column in self.columns:
            if column.name.casefold() == name.strip().casefold():
                return column
        known = ", ".join(column.name for column in self.columns)
        raise TableError(f"The table {self.name!r} has no column {name!r}. Columns: {known}.")


class TableRow(FrozenModel):
    """A document with its cells by column. Cells that were not read yet are missing."""

    document: str
    name: str
    version: str
    cells: Mapping[str, Cell]

    @classmethod
    def of(cls, entry: CatalogueEntry, cells: Sequence[Cell]) -> Self:
        """Return the row of a document with its cells."""
        own = {cell.column: cell for cell in cells if cell.document == entry.id}
        return cls(document=entry.id, name=entry.name, version=entry.version, cells=own)

    def is_open(self, column: Column, redo_before: datetime | None = None) -> bool:
        """Return whether a fill reads the cell. It also reads all cells that were filled before ``redo_before``."""
        cell = self.cells.get(column.name)
        if cell is None or (redo_before and cell.at < redo_before):
            return True
        return not cell.is_by_hand and (cell.status is CellStatus.FAILED or cell.version != self.version)


class Grid(FrozenModel):
    """A table with its rows, in the order of the documents' names."""

    table: Table
    rows: tuple[TableRow, ...]

    def sorted_by(self, name: str) -> Self:
        """Return the grid with its rows sorted by the values of a column; empty cells last. Raises TableError."""
        column = self.table.column(name)
        values: dict[str, Any] = {row.document: cell.value for row in self.rows if (cell := row.cells.get(column.name))}
        filled = [row for row in self.rows if values.get(row.document) is not None]
        rest = [row for row in self.rows if values.get(row.document) is None]
        return self.model_copy(update={"rows": (*sorted(filled, key=lambda row: values[row.document]), *rest)})
