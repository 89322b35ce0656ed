"""Use cases for tables: create, fill, look at, change by hand and delete."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pydantic import AwareDatetime, Field

from api.auth.limits import require_tokens
from api.auth.permissions import Caller, Right
from api.errors import usage_errors
from api.services.documents.collections import Collections
from api.services.research.research import PanelFactory
from base.counts import count
from base.models import FrozenModel
from multi_agent.errors import TableError, TableNotFound
from multi_agent.library import CatalogueEntry, Library
from multi_agent.llm.models import Models
from multi_agent.llm.wrappers.journal import Journal, RunCalls, RunLLM
from multi_agent.llm.wrappers.requests import estimate_prompt
from multi_agent.model import Usage
from multi_agent.storage.tables import OtherCalls
from multi_agent.tables.reading import CellReader, OpenCells
from multi_agent.tables.store import TableStore
from multi_agent.tables.typed_values import read_given
from multi_agent.tables.values import PERSON, Cell, CellStatus, Column, ColumnType, Grid, Table, TableRow
from vectorstore.models import names_in

CALLER = "Table"
"""The caller of the model calls, in traces and recordings."""
_SHOWN = 5  # rows in a message
_SAMPLE = 3  # calls whose prompts are built for an estimate
_TOKENS_PER_CELL = 80  # of the response


class FillRequest(FrozenModel):
    """The cells of a table to fill. Stored with the job, so field names must not change."""

    rows: tuple[str, ...] = Field(default=(), max_length=1_000, description="Names or ids of documents. Empty: all.")
    columns: tuple[str, ...] = Field(default=(), max_length=50, description="Names of columns. Empty: all.")
    model: str = Field(default="", description="Named model endpoint. Empty: the default one.")
    redo: bool = Field(default=False, description="Whether to read cells again that are known, or filled by hand.")
    at: AwareDatetime = Field(
        default_factory=lambda: datetime.now(UTC),
        description="When the fill was asked for. With `redo`, cells that were filled later are not read again.",
    )

    @property
    def redo_before(self) -> datetime | None:
        """The moment before which filled cells are read again."""
        return self.at if self.redo else None


class Estimate(FrozenModel):
    """What a fill is expected to take."""

    cells: int
    calls: int
    tokens: int = Field(description="of prompts and responses; about right")

    def __str__(self) -> str:
        calls = count(self.calls, "model call")
        return (
            f"{count(self.cells, 'open cell')}: {calls}, about {self.tokens:,} tokens; "
            "cells of long documents that stay empty take one more call"
        )


class FillProgress(FrozenModel):
    """How far a fill is."""

    calls: int = Field(description="ended model calls of this fill, without second readings")
    of: int
    found: int = Field(description="cells with a value")
    failed: int
    tokens: int

    def add(self, cells: Sequence[Cell]) -> "FillProgress":
        """Return the progress after one more call."""
        usage = sum((cell.usage for cell in cells), Usage())
        return FillProgress(
            calls=self.calls + 1,
            of=self.of,
            found=self.found + sum(cell.status is CellStatus.FOUND for cell in cells),
            failed=self.failed + sum(cell.status is CellStatus.FAILED for cell in cells),
            tokens=self.tokens + usage.prompt_tokens + usage.completion_tokens,
        )


OnCells = Callable[[FillProgress, str, Sequence[Cell]], None]
"""Receives the progress, the name of a document and its new cells."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Creates and fills tables. ``store`` checks no rights."""

    store: TableStore
    collections: Collections
    panel: PanelFactory
    calls: OtherCalls

    def create(self, given: dict[str, Any], collection: str) -> Table:
        """Store a new table over a selection of collections. Raises UsageError, AgentError, StoreError."""
        for name in names_in(collection):
            self.collections.require(name)
        table = _validated({**given, "collection": collection, "created_at": datetime.now(UTC)})
        self._documents(table)
        self.store.add(table)
        return table

    def add_columns(self, table: Table, columns: Sequence[Column]) -> Table:
        """Add columns, whose cells are open. Raises UsageError."""
        changed = _validated({**dict(table), "columns": (*table.columns, *columns)})
        self.store.change(changed)
        return changed

    def find(self, name: str, caller: Caller, right: Right = Right.READ) -> Table:
        """Return a table. Raises Forbidden, or TableNotFound if the caller may not read its collections."""
        table = self.store.get(name)
        if not caller.may(Right.READ, table.collection):
            raise TableNotFound(f"There is no table {name!r}.")
        caller.require(right, table.collection)
        return table

    def grid(self, table: Table) -> Grid:
        """Return the table with a row for each document that it has now. Raises NoDocumentMatches."""
        cells: dict[str, list[Cell]] = {}
        for cell in self.store.cells(table.name):
            cells.setdefault(cell.document, []).append(cell)
        rows = (TableRow.of(entry, cells.get(entry.id, ())) for entry in self._documents(table))
        return Grid(table=table, rows=tuple(rows))

    def set_cell(self, table: Table, document: str, column: str, text: str | None) -> Cell:
        """Fill a cell by hand; without a text, make it empty. Raises TableError."""
        asked, row = table.column(column), _find_row(self.grid(table), document)
        texts: tuple[str, ...] = () if text is None else (text,)
        if text is not None and asked.type is ColumnType.LIST:
            texts = tuple(filter(None, map(str.strip, text.split(";"))))
        cell = Cell(
            document=row.document,
            column=asked.name,
            status=CellStatus.FOUND if texts else CellStatus.EMPTY,
            value=read_given(asked, texts) if texts else None,
            confidence="Filled by hand" if texts else "",
            reason="" if texts else "Emptied by hand",
            by=PERSON,
            at=datetime.now(UTC),
            version=row.version,
        )
        self.store.put(table.name, [cell], cell.at)
        return cell

    def open_cells(self, table: Table, request: FillRequest) -> list[OpenCells]:
        """Return the cells that a fill reads, by model call. Raises TableError for an unknown row or column."""
        grid = self.grid(table)
        names = {_find_row(grid, name).document for name in request.rows}
        columns = tuple(dict.fromkeys(map(table.column, request.columns))) or table.columns
        entries = {entry.id: entry for entry in self._documents(table)}
        return [
            cells
            for row in grid.rows
            if not names or row.document in names
            for cells in OpenCells.of(
                entries[row.document],
                [each for each in columns if row.is_open(each, request.redo_before)],
                self.panel.settings.research.tokens_per_row,
            )
        ]

    def estimate(self, library: Library, table: Table, request: FillRequest) -> Estimate:
        """Return what a fill will take, from the prompts of its first calls. Asks no model."""
        wanted = self.open_cells(table, request)
        cells, sample = sum(len(each.columns) for each in wanted), wanted[:_SAMPLE]
        reader = self._reader(library, self.panel.models(), request)
        prompts = sum(estimate_prompt(reader.prompt(each, reader.passages(each))) for each in sample)
        tokens = prompts * len(wanted) // max(1, len(sample)) + cells * _TOKENS_PER_CELL
        return Estimate(cells=cells, calls=len(wanted), tokens=tokens)

    async def fill(
        self,
        library: Library,
        table: Table,
        request: FillRequest,
        caller: Caller,
        *,
        on_cells: OnCells,
        models: Models | None = None,
        journal: Journal | None = None,
    ) -> FillProgress:
        """Read the open cells and store those of each model call at once. The tokens count for the caller's key.

        ``journal`` records the calls, for a recording.

        Raises TableError, UnknownModel, LimitReached, and LLMError if every other call would fail, too.
        """
        wanted = await asyncio.to_thread(self.open_cells, table, request)
        reader = self._reader(library, models or self.panel.models(), request)
        progress = FillProgress(calls=0, of=len(wanted), found=0, failed=0, tokens=0)
        calls = RunCalls(journal) if journal else RunCalls()
        waiting = iter(wanted)

        async def keep(cells: list[Cell], _: object) -> None:
            found = [cell for cell in cells if cell.status is CellStatus.FOUND]
            await asyncio.to_thread(self.store.put, table.name, found, request.redo_before)
            await asyncio.to_thread(require_tokens, self.panel.trace, caller)

        async def work() -> None:
            nonlocal progress
            for each in waiting:
                await asyncio.to_thread(require_tokens, self.panel.trace, caller)
                llm = RunLLM(reader.llm, calls, CALLER)
                try:
                    cells, _ = await replace(reader, llm=llm).read(each, keep)
                finally:
                    await asyncio.to_thread(self.calls.add, caller.key, llm.usage)
                await asyncio.to_thread(self.store.put, table.name, cells, request.redo_before)
                progress = progress.add(cells)
                on_cells(progress, each.entry.name, cells)

        endpoints = self.panel.settings.llms
        parallel = (endpoints[request.model] if request.model else self.panel.settings.llm).parallel
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(parallel, len(wanted))):
                    group.create_task(work())
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return progress

    def _reader(self, library: Library, models: Models, request: FillRequest) -> CellReader:
        research = self.panel.settings.research
        return CellReader(library, models.get(request.model), research.tokens_per_row, research.reader_passages)

    def _documents(self, table: Table) -> Sequence[CatalogueEntry]:
        catalogue = self.collections.catalogue(table.collection)
        return table.filter.choose(catalogue, table.collection) if table.filter else catalogue


def _validated(given: dict[str, Any]) -> Table:
    with usage_errors("Invalid table"):
        return Table.model_validate(given)


def _find_row(grid: Grid, document: str) -> TableRow:
    """Return the row of a document by its id, its name, or the last parts of it. Raises TableError."""
    rows = [row for row in grid.rows if document in (row.name, row.document)]
    rows = rows or [row for row in grid.rows if row.name.endswith(f"/{document}")]
    if len(rows) == 1:
        return rows[0]
    shown = ", ".join(f"{row.name} ({row.document})" if rows else row.name for row in (rows or grid.rows)[:_SHOWN])
    more = ", …" if len(rows or grid.rows) > _SHOWN else ""
    problem = f"{document!r} means several rows" if rows else f"The table {grid.table.name!r} has no row {document!r}"
    raise TableError(f"{problem}: {shown}{more}.")
