"""ForEach, which asks the same questions of every document, or of every thing in a list, and records the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field

from base.counts import count
from base.models import FrozenModel
from base.text import shorten
from multi_agent.agent import AgentCard, AgentKit, DocumentNames, StepAgent, StepOutput
from multi_agent.agents.extractor import gather_calls
from multi_agent.errors import BudgetReached
from multi_agent.library import CatalogueEntry
from multi_agent.prompt import Prompt
from multi_agent.tables.reading import COLUMNS_PER_CALL, CellReader, OpenCells
from multi_agent.tables.values import Cell, CellStatus, Column, ColumnType
from multi_agent.values.context import ContextUpdate, Evidence, Note, Record, RecordField, RecordList, ResearchContext
from multi_agent.values.evidence_events import ItemRead
from multi_agent.values.tasks import TaskData
from vectorstore.models import Chunk, Scalar

_AT_ONCE = 16  # items with their passages in memory; the endpoint limits the calls
_NAMED = 8  # items without an answer, in a sentence
_SHOWN = 60  # characters of an answer at each of its quotes; the record has it whole
_ITEM = "item"
_DIVIDER = ";"  # between several answers of a step


class EachColumn(FrozenModel):
    # No docstring: the schema would show it.
    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="name for SQL, such as 'revenue'")
    question: str = Field(min_length=1, description="what to find out about each; never a calculation")
    type: Literal["text", "number", "date", "boolean"]
    unit: str = Field(default="", description="of a number, such as 'USD million'; else ''")

    @property
    def column(self) -> Column:
        """The column of a table that asks the same."""
        kind = ColumnType.YES_NO if self.type == "boolean" else ColumnType(self.type)
        unit = self.unit if kind is ColumnType.NUMBER else ""
        return Column(name=self.name, question=self.question, type=kind, unit=unit)

    @property
    def field(self) -> RecordField:
        """The same as a field of records."""
        return RecordField(
            name=self.name, type=self.type, meaning=" in ".join(filter(None, (self.question, self.unit)))
        )


def _require_own_names(columns: tuple[EachColumn, ...]) -> tuple[EachColumn, ...]:
    names = [column.name for column in columns]
    if len({*names, _ITEM}) <= len(names):
        raise ValueError(f"every column needs a name of its own, other than {_ITEM!r}")
    return columns


class ForEachInputs(FrozenModel):
    # No docstring: the schema would show it.
    items: tuple[str, ...] = Field(
        default=(), description="[] for every document; else things, or a reference to an output that lists them"
    )
    columns: Annotated[tuple[EachColumn, ...], AfterValidator(_require_own_names)] = Field(
        min_length=1, max_length=COLUMNS_PER_CALL
    )
    documents: DocumentNames = Field(default=(), description="[] for all")


class ForEachOutput(StepOutput):
    """The rows for later steps."""

    all: tuple[str, ...] = Field(description="each item with its answers")
    items: tuple[str, ...] = Field(description="those with an answer")
    best: str = Field(description="that with the largest number")

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        rows = [record.values for record in update.records]
        lines = (", ".join("–" if value is None else str(value) for value in row.values()) for row in rows)
        field = next((field.name for field in update.record_fields if field.type == "number"), _ITEM)
        ranked = [(value, row[_ITEM]) for row in rows if isinstance(value := row[field], int | float)]
        best = max(ranked, key=lambda each: each[0])[1] if ranked else ""
        return cls(all=tuple(lines), items=tuple(str(row[_ITEM]) for row in rows), best=str(best))


class _Row(NamedTuple):
    """An item that was read: its passages and its cells."""

    name: str
    chunks: tuple[Chunk, ...]
    cells: list[Cell]

    @property
    def has_failed(self) -> bool:
        return any(cell.status is CellStatus.FAILED for cell in self.cells)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return tuple(
            item.model_copy(update={"why": f"{self.name}, {cell.column}: {shorten(cell.text, _SHOWN)}"})
            for cell in self.cells
            for item in cell.evidence
        )

    def records(self, step: str) -> Iterator[Record]:
        """Yield the record of an item with an answer. Its other quotes follow the first one."""
        if quotes := self.evidence:
            values: dict[str, Scalar | None] = {cell.column: _scalar(cell) for cell in self.cells}
            (chunk_id, start, end), *also = ((item.chunk_id, item.start, item.end) for item in quotes)
            values = {_ITEM: self.name, **values}
            yield Record(values=values, chunk_id=chunk_id, start=start, end=end, also=tuple(also), list=step)


class ForEach(StepAgent):
    """Reads each item like a row of a table. The rows are records, over which later steps compute.

    Each row is kept at once, so it survives if the step ends early, and the journal answers it in a resumed run.
    """

    card: ClassVar[AgentCard] = AgentCard(
        name="ForEach",
        description="Asks the same of every document, or of every thing in a list, and records the answers as rows.",
        capabilities=("every document", "lists"),
        writes=frozenset({"chunks", "evidence", "records", "record_fields", "lists", "notes"}),
        instructed=False,
        inputs=ForEachInputs,
        asked=lambda question: ForEachInputs(columns=(EachColumn(name="answer", question=question, type="text"),)),
        outputs=ForEachOutput,
        searches=frozenset({"documents"}),
        closing=Prompt.part("each_answer"),
    )

    def __init__(self, kit: AgentKit) -> None:
        super().__init__(kit)
        self._read = list[_Row]()

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        inputs = ForEachInputs.model_validate(task.inputs.model_dump())
        wanted = await asyncio.to_thread(self._wanted, inputs)
        item = RecordField(name=_ITEM, type="text", meaning="what was asked about")
        made = RecordList(step=task.step, fields=(item, *(column.field for column in inputs.columns)))
        settings, places = self._kit.settings, asyncio.Semaphore(_AT_ONCE)
        reader = CellReader(self._kit.library, self._kit.llm, settings.tokens_per_row, settings.reader_passages)

        async def read(each: OpenCells) -> _Row:
            first: list[_Row] = []

            async def on_first(cells: list[Cell], chunks: tuple[Chunk, ...]) -> None:
                first.append(_Row(each.entry.name, chunks, cells))

            async def keep(row: _Row) -> _Row:
                self._read.append(row)
                await self._publish(row, len(wanted))
                await self._kit.keep(_update([row], made))
                return row

            async with places:
                try:
                    cells, chunks = await reader.read(each, on_first)
                except BudgetReached:
                    for row in first:
                        await keep(row)
                    raise
            return await keep(_Row(each.entry.name, chunks, cells))

        try:
            rows = await gather_calls(map(read, wanted))
        except BudgetReached:
            await self._kit.keep(ContextUpdate(notes=self._notes(self._read, len(wanted))))
            raise
        notes = self._notes(rows, len(wanted))
        self._reasoning = f"Asked {count(len(rows), 'item')}. {' '.join(note.text for note in notes)}".strip()
        return _update(rows, made).model_copy(update={"notes": notes})

    def _wanted(self, inputs: ForEachInputs) -> list[OpenCells]:
        """Return the rows to read. An item with the name of a document is that document."""
        entries = {entry.name: entry for entry in self._kit.library.catalogue()}
        columns = tuple(each.column for each in inputs.columns)
        items = [part.strip() for item in inputs.items for part in item.split(_DIVIDER)]
        names = tuple(dict.fromkeys(filter(None, items))) or inputs.documents or tuple(entries)
        rows = (entries.get(name) or CatalogueEntry(name=name, id="", chunks=0) for name in names)
        return [OpenCells(entry, columns, inputs.documents) for entry in rows]

    async def _publish(self, row: _Row, of: int) -> None:
        found = {cell.column: cell.text for cell in row.cells if cell.status is CellStatus.FOUND}
        reason = "; ".join(dict.fromkeys(cell.reason for cell in row.cells if cell.reason))
        counted = {"number": len(self._read), "of": of}
        await self._kit.publish(ItemRead(item=row.name, **counted, found=found, reason=reason, failed=row.has_failed))

    def _notes(self, rows: Sequence[_Row], of: int) -> tuple[Note, ...]:
        """Return what the rows do not cover."""
        empty = [row.name for row in rows if not row.evidence and not row.has_failed]
        failed = [row.name for row in rows if row.has_failed]
        texts = (
            _named(empty, of, "has no answer", "have no answer"),
            _named(failed, of, "could not be read", "could not be read"),
            f"only {len(rows)} of {count(of, 'item')} read, because a limit was reached" if len(rows) < of else "",
        )
        return tuple(Note(agent=self.card.name, text=text, gap=True) for text in texts if text)


def _named(names: Sequence[str], of: int, one: str, many: str) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    listed = f"{', '.join(sorted(names)[:_NAMED])}{more}"
    return f"{len(names)} of {count(of, 'item')} {one if len(names) == 1 else many}: {listed}" if names else ""


def _update(rows: Sequence[_Row], made: RecordList) -> ContextUpdate:
    return ContextUpdate(
        chunks=tuple(chunk for row in rows for chunk in row.chunks),
        evidence=tuple(item for row in rows for item in row.evidence),
        records=tuple(record for row in rows for record in row.records(made.step)),
        record_fields=made.fields,
        lists=(made,),
    )


def _scalar(cell: Cell) -> Scalar | None:
    return "; ".join(cell.value) if isinstance(cell.value, tuple) else cell.value
