"""Reads cells of one document, or of one thing that documents tell about, with one model call.

The model sees the whole document if it fits into a call, otherwise its opening and the best passages for each column.
Of a thing, it sees the best passages of all documents. It points at numbered sentences, from which Candor takes the
quotes. A value that its quotes do not bear out is not kept: the cell is empty, with the reason. Cells of a document
that stay empty are read once more, from its next best passages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, Field

from base.tokens import estimate_tokens
from multi_agent.errors import InvalidResponse, LLMTimeout, PromptTooLong, TableError
from multi_agent.grounding.citations import cite
from multi_agent.grounding.judged import Judged, Statement
from multi_agent.grounding.support import PICTURED, SupportRules, mark_pictured
from multi_agent.library import CatalogueEntry, Library
from multi_agent.model import LLM, Message, Usage
from multi_agent.prompt import Prompt
from multi_agent.prompts.reading import in_turn, read_around
from multi_agent.prompts.show_outside import defuse
from multi_agent.prompts.show_passages import LEFT_OUT, Unit, number_units, show_units
from multi_agent.tables.typed_values import has_date, has_number, may_have_number, read_value
from multi_agent.tables.values import Cell, CellStatus, Column, ColumnType, Value
from multi_agent.values.context import Evidence
from vectorstore.models import Chunk, ChunkKind, Hit

COLUMNS_PER_CALL = 8
"""Maximum. A call with fewer tokens has one column per ``_TOKENS_PER_COLUMN``."""
_TOKENS_PER_COLUMN = 800  # with 340, half of the revenues of 20 quarterly reports were not among the passages
_DEEPER = 4  # times as many passages per search of the second reading
_HAS_FIGURE = "Its quotes have this figure. Whether it is the one that is asked for was not checked."
_CONVERTED = "Not checked: its quotes have the figure in another scale."
_CONCLUDED = "Not checked: it is what the model concludes from its quotes."
_FAILURES = (InvalidResponse, LLMTimeout, PromptTooLong)
"""Errors of a single call. After any other error, the next calls would fail, too."""


OnFirst = Callable[[list[Cell], tuple[Chunk, ...]], Awaitable[None]]
"""Receives the cells and the passages of a first reading, if a second one follows."""


class ColumnAnswer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    column: int
    sentences: list[int]
    values: list[str]
    reason: str


class RowAnswers(BaseModel):
    model_config = ConfigDict(extra="forbid")

    answers: list[ColumnAnswer] = Field(description="one for each column, in order")


@dataclass(frozen=True)
class OpenCells:
    """Cells of one document for one model call; of a thing, which ``entry`` then only names, if it has no id."""

    entry: CatalogueEntry
    columns: tuple[Column, ...]
    documents: tuple[str, ...] = ()
    """Documents that tell about the thing. Empty: all."""

    @classmethod
    def of(cls, entry: CatalogueEntry, columns: Sequence[Column], tokens: int) -> Iterator[OpenCells]:
        """Yield the cells of these columns, as many as one call with ``tokens`` of passages can fill."""
        most = min(max(tokens // _TOKENS_PER_COLUMN, 1), COLUMNS_PER_CALL)
        for at in range(0, len(columns), most):
            yield cls(entry, tuple(columns[at : at + most]))


@dataclass(frozen=True)
class CellReader:
    """Reads cells. ``tokens`` is the most that the passages of a call may have, ``found`` the passages per search."""

    library: Library
    llm: LLM
    tokens: int
    found: int

    async def read(self, wanted: OpenCells, on_first: OnFirst | None = None) -> tuple[list[Cell], tuple[Chunk, ...]]:
        """Return the cells in the order of the columns, and the passages that were read.

        Cells that stay empty are read once more; before that, ``on_first`` receives the cells. If the second response
        cannot be used, they stay empty and say so; after a first one, they are failed. Raises LLMError if other calls
        would fail, too.
        """
        first, read = await self._fill(wanted, lambda reader: reader.passages(wanted))
        columns = tuple(
            column for column, cell in zip(wanted.columns, first, strict=True) if cell.status is CellStatus.EMPTY
        )
        if not columns or len(read) >= wanted.entry.chunks:
            return first, read
        if on_first:
            await on_first(first, read)
        again = replace(wanted, columns=columns)
        second, more = await self._fill(again, lambda reader: reader.further(again, read), read)
        known = {cell.column: cell for cell in first}
        for cell in second:
            known[cell.column] = _unless_failed(cell, known[cell.column])
        usage = sum((cell.usage for cell in (*first, *second)), Usage())
        read = tuple({chunk.id: chunk for chunk in (*more, *read)}.values())
        return _with_usage([known[column.name] for column in wanted.columns], usage), read

    async def _fill(
        self, wanted: OpenCells, select: Callable[[CellReader], tuple[Chunk, ...]], before: Sequence[Chunk] = ()
    ) -> tuple[list[Cell], tuple[Chunk, ...]]:
        """Fill the cells from the selected passages, which are fewer if the prompt is too long. Return both.

        An empty cell says how much of the document was read, with the passages ``before``.
        """
        for reader in (self, replace(self, tokens=self.tokens * 2 // 3)):
            chunks = await asyncio.to_thread(select, reader)
            if not chunks and before:
                return [], ()
            if not chunks:
                reason = "The document has no text." if wanted.entry.id else "No passage tells about it."
                return [self._cell(wanted, column, reason=reason) for column in wanted.columns], ()
            try:
                completion = await self.llm.complete(self.prompt(wanted, chunks), RowAnswers)
            except _FAILURES as error:
                if isinstance(error, PromptTooLong) and reader is self:
                    continue
                failed = [self._failed(wanted, column, str(error)) for column in wanted.columns]
                return _with_usage(failed, error.usage), chunks
            break
        units = number_units(chunks)
        answers = {answer.column: answer for answer in completion.value.answers}
        coverage = _coverage(wanted.entry, {chunk.id: chunk for chunk in (*chunks, *before)}.values())
        cells = [
            self._answered(wanted, column, answers.get(number), units, coverage)
            for number, column in enumerate(wanted.columns, start=1)
        ]
        return _with_usage(cells, completion.usage), chunks

    def passages(self, wanted: OpenCells) -> tuple[Chunk, ...]:
        """Return all passages, or the first one and the best ones for each column if a call cannot hold all."""
        if not wanted.entry.id:
            return self._best(wanted, wanted.documents, f"{wanted.entry.name}: ", ())
        document = (wanted.entry.id,)
        whole = tuple(self.library.scan(document))
        if sum(estimate_tokens(chunk.reading_text) for chunk in whole) <= self.tokens:
            return whole
        return self._best(wanted, document, "", whole[:1])

    def further(self, wanted: OpenCells, read: Sequence[Chunk]) -> tuple[Chunk, ...]:
        """Return the next best passages of a document, without those that were read."""
        return self._best(wanted, (wanted.entry.id,), "", (), {chunk.id for chunk in read})

    def _best(
        self, wanted: OpenCells, documents: Sequence[str], about: str, first: Sequence[Chunk],
        known: Set[str] = frozenset(),
    ) -> tuple[Chunk, ...]:  # fmt: skip
        queries = (f"{about}{column.question}" for column in wanted.columns)
        limit = self.found * _DEEPER if known else self.found  # the second reading knows those of the first
        hits = (self.library.search([query], limit, documents) for query in queries)
        searches = (_tables_and_text([hit for hit in each if hit.chunk.id not in known]) for each in hits)
        found = {chunk.id: chunk for chunk in (*first, *in_turn(*searches))}
        read = read_around(tuple(found.values()), self.library, self.tokens)
        return tuple(sorted(read, key=lambda chunk: (chunk.name, chunk.index)))

    def prompt(self, wanted: OpenCells, chunks: Sequence[Chunk]) -> list[Message]:
        """Return the messages of the call for these cells."""
        entry = wanted.entry
        return Prompt.shipped("table_row").render(
            kind="document" if entry.id else "thing that the passages tell about",
            row=defuse(", ".join(filter(None, (entry.name, entry.title, *entry.facts)))),
            columns="\n".join(_show_column(number, each) for number, each in enumerate(wanted.columns, start=1)),
            passages=show_units(number_units(chunks)),
        )

    def _answered(
        self, wanted: OpenCells, column: Column, answer: ColumnAnswer | None, units: Sequence[Unit], read: str
    ) -> Cell:
        if answer is None:
            return self._failed(wanted, column, "The model gave no answer for this column.")
        texts = [text for text in map(str.strip, answer.values) if text]
        if not texts:
            return self._cell(wanted, column, reason=f"{answer.reason.strip() or 'Not stated.'}{read}")
        try:
            checked = _Check(column, units, wanted.entry.language).check(texts, answer.sentences)
        except TableError as error:
            return self._cell(wanted, column, reason=f"The model's answer was not kept: {error}{read}")
        return self._cell(wanted, column, checked)

    def _cell(self, wanted: OpenCells, column: Column, checked: _Checked | None = None, *, reason: str = "") -> Cell:
        return Cell(
            document=wanted.entry.id,
            column=column.name,
            status=CellStatus.FOUND if checked else CellStatus.EMPTY,
            value=checked.value if checked else None,
            evidence=checked.evidence if checked else (),
            confidence=checked.confidence if checked else "",
            reason=checked.left_out if checked else reason,
            by=self.llm.model,
            at=datetime.now(UTC),
            version=wanted.entry.version,
        )

    def _failed(self, wanted: OpenCells, column: Column, reason: str) -> Cell:
        return self._cell(wanted, column, reason=reason).model_copy(update={"status": CellStatus.FAILED})


@dataclass(frozen=True)
class _Checked:
    """A value with its quotes, and how they were compared, in words."""

    value: Value
    evidence: tuple[Evidence, ...]
    confidence: str
    left_out: str = ""


@dataclass(frozen=True)
class _Check:
    """Compares the values of a column with the sentences that the model points at."""

    column: Column
    units: Sequence[Unit]
    language: str

    def check(self, texts: Sequence[str], sentences: Sequence[int]) -> _Checked:
        """Return the checked value. Raises TableError with the reason if it is not kept."""
        cited = cite(sentences, self.units).evidence
        if self.column.type is ColumnType.LIST or (self.column.type is ColumnType.TEXT and len(texts) > 1):
            return self._check_items(texts, cited)
        value = read_value(self.column, texts)
        judged = self._judge(str(value), cited)
        if not judged.supported and self.column.unit:
            judged = self._judge(f"{value} {self.column.unit}", cited)
        if not (evidence := judged.statement.evidence):
            raise TableError("It named no sentence.")
        shown = self._compare(value, judged, [item.quote for item in evidence])
        return _Checked(value, evidence, f"{shown} {PICTURED}" if judged.pictured else shown)

    def _compare(self, value: Value, judged: Judged, quotes: Sequence[str]) -> str:
        """Return how the value was checked, in words. Raises TableError if its quotes do not bear it out.

        A number or a date stays if its quotes have it. The name of the column is too short a claim for the rules to
        tell what contradicts it.
        """
        match self.column.type:
            case ColumnType.YES_NO:
                return _CONCLUDED
            case _ if judged.supported:
                return judged.checked
            case ColumnType.NUMBER if isinstance(value, int | float):
                return _compare_number(value, self.column, quotes)
            case ColumnType.DATE if has_date(str(value), quotes, self.language):
                return _HAS_FIGURE
            case ColumnType.DATE:
                raise TableError("Its quotes do not have the date.")
            case ColumnType.CHOICE if not judged.contradicted:
                self._require_no_other_choice(str(value), " ".join(quotes).casefold())
                return _CONCLUDED
        if judged.stands:
            return judged.checked
        raise TableError(judged.reason)

    def _require_no_other_choice(self, value: str, quoted: str) -> None:
        others = [each for each in self.column.choices if each != value and each.casefold() in quoted]
        if others and value.casefold() not in quoted:
            raise TableError(f"Its quotes have {' and '.join(others)} instead.")

    def _check_items(self, texts: Sequence[str], cited: tuple[Evidence, ...]) -> _Checked:
        """Check each item. Leave out items that the quotes do not support, and name them."""
        judged = {text: self._judge(text, cited) for text in dict.fromkeys(texts)}
        kept = {text: each for text, each in judged.items() if each.stands and each.statement.evidence}
        lost = "; ".join(f"{text!r}: {each.reason}" for text, each in judged.items() if text not in kept)
        if not kept:
            raise TableError(lost)
        evidence = {item.place: item for each in kept.values() for item in each.statement.evidence}
        weakest = next((each for each in kept.values() if not each.supported), next(iter(kept.values())))
        value = read_value(self.column, tuple(kept))
        shown = f"{weakest.checked} {PICTURED}" if any(each.pictured for each in kept.values()) else weakest.checked
        return _Checked(value, tuple(evidence.values()), shown, f"Left out: {lost}" if lost else "")

    def _judge(self, value: str, cited: tuple[Evidence, ...]) -> Judged:
        """Compare the value with its quotes, by rules alone."""
        shown = [item for unit in self.units for item in cite([unit.number], self.units).evidence]
        rules = SupportRules(f"{self.column.name}\n{self.column.question}", shown, (unit.chunk for unit in self.units))
        return mark_pictured(rules.judge(Statement(f"{self.column.name}: {value}", cited)), rules)


def _tables_and_text(hits: Sequence[Hit]) -> list[Chunk]:
    """Return the found passages, alternating between tables and text.

    A search for a figure ranks sentences about the figure above the table that contains it.
    """
    tables, text = list[Chunk](), list[Chunk]()
    for chunk in (hit.chunk for hit in hits):
        (tables if chunk.kind is ChunkKind.TABLE or chunk.header else text).append(chunk)
    return list(in_turn(tables, text))


def _compare_number(value: float, column: Column, quotes: Sequence[str]) -> str:
    if has_number(value, column, quotes):
        return _HAS_FIGURE
    if may_have_number(value, quotes):
        return _CONVERTED
    raise TableError("Its quotes do not have the figure.")


def _coverage(entry: CatalogueEntry, chunks: Iterable[Chunk]) -> str:
    """Return how much of a document was read, unless it is all of it. Passages that were cut do not count."""
    read = sum(LEFT_OUT not in chunk.metadata for chunk in chunks)
    return f" ({read} of {entry.chunks} passages were read.)" if read < entry.chunks else ""


def _unless_failed(cell: Cell, before: Cell) -> Cell:
    """Return the cell of a second reading or, if its response could not be used, the empty one with the reason."""
    if cell.status is not CellStatus.FAILED:
        return cell
    return before.model_copy(update={"reason": f"{before.reason} A second reading failed: {cell.reason}"})


def _with_usage(cells: list[Cell], usage: Usage) -> list[Cell]:
    first, *others = (cell.model_copy(update={"usage": Usage()}) for cell in cells)
    return [first.model_copy(update={"usage": usage}), *others]


def _show_column(number: int, column: Column) -> str:
    asked = "" if column.question == column.name else f" {column.question}"
    detail = f" of {' | '.join(column.choices)}" if column.choices else f" in {column.unit}" if column.unit else ""
    return f"{number}. {column.name} ({column.type}{detail}){asked}"
