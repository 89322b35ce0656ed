"""The Extractor, which reads every passage and cites the sentences that are relevant to the question."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, create_model

from base.counts import count
from multi_agent.agent import AgentCard, StepAgent, StepOutput
from multi_agent.errors import BudgetReached
from multi_agent.grounding.citations import cite, publish_unknown
from multi_agent.model import Message
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets, number_units, pack_passages, show_units
from multi_agent.prompts.show_task import show_task, show_today
from multi_agent.values.context import ContextUpdate, Evidence, Record, RecordField, ResearchContext, Strategy
from multi_agent.values.tasks import TaskData
from vectorstore.models import Chunk, Scalar

T = TypeVar("T")
_PYTHON_TYPES: dict[str, Any] = {"text": str, "number": FiniteFloat, "date": str, "boolean": bool}


class ExtractorOutput(StepOutput):
    """The output of a reading for later steps."""

    quotes: int = Field(description="how many quotes were copied out")
    documents: tuple[str, ...] = Field(description="names of the documents that they stand in")

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        names = dict.fromkeys(item.name for item in update.evidence)
        return cls(quotes=len(update.evidence), documents=tuple(names))


@dataclass(frozen=True)
class _Group:
    """The passages of one model call."""

    chunks: tuple[Chunk, ...]
    marks: tuple[str, ...]
    messages: list[Message]
    shape: type[BaseModel]
    records: bool

    def update(self, found: Sequence[_Found]) -> ContextUpdate:
        """Return the quotes and records found, and mark the passages as read."""
        return _update(found, self.marks, records=self.records)


class ExtractedItem(BaseModel):
    model_config = ConfigDict(extra="forbid")

    sentences: list[int] = Field(description="numbers of the sentences or rows that state it")
    shows: str = Field(description="whom or what they speak of, if they do not say so themselves; else empty")


class _Found(NamedTuple):
    """The quotes of an item and the values of its record, if it has one."""

    evidence: tuple[Evidence, ...]
    values: dict[str, Scalar | None] | None


class Extractor(StepAgent):
    """Reads passages in groups that fit the token budget, in parallel.

    With the same strategies and record fields, each passage is read only once. The results of each group are kept at
    once, so they survive if the step ends early. Citations of sentences that do not exist are dropped and published. If
    an item has no other citations, the Extractor is woken and reads the passages of that call once more.
    """

    card: ClassVar[AgentCard] = AgentCard(
        name="Extractor",
        description="Reads the passages found and picks out the sentences that bear on the question, and records "
        "where fields were named.",
        capabilities=("reading", "extraction", "evidence"),
        requires=frozenset({"chunks"}),
        # The Extractor reads the inspection so that it runs after it. A search for what the inspection reports as
        # missing may add passages.
        reads=frozenset({"strategies", "record_fields", "lists", "read", "inspection"}),
        writes=frozenset({"evidence", "records", "read"}),
        outputs=ExtractorOutput,
        listens_to=frozenset({"evidence_rejected:Extractor"}),
    )

    async def should_activate(self, context: ResearchContext) -> bool:
        return bool(self._rejected(context) if self._kit.wake else _unread(context))

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        if self._kit.wake:
            return await self._read_again(context, task.model_copy(update={"instruction": Prompt.part("read_again")}))
        unread = _unread(context)
        groups = self._groups(unread, context, task)
        read = await gather_calls(self._read(group) for group in groups)
        found = tuple(each for group in read for each in group)
        marks = tuple(mark for group in groups for mark in group.marks)
        update = _update(found, marks, records=bool(_fields(context)))
        before = len(context.chunks) - len(unread)
        known = f" ({before} more were read in the same way before)" if before else ""
        self._reasoning = (
            f"Read {count(len(unread), 'passage')} in {count(len(groups), 'call')}{known}: "
            f"{count(len(update.evidence), 'quote')}, {count(len(update.records), 'record')}."
        )
        return update

    def _rejected(self, context: ResearchContext) -> tuple[Chunk, ...]:
        """Return the passages of the calls whose quotes were rejected."""
        events = self._kit.wake.events if self._kit.wake else ()
        ids = {chunk_id for event in events for chunk_id in getattr(event.body, "chunk_ids", ())}
        return tuple(chunk for chunk in context.chunks if chunk.id in ids)

    async def _read_again(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        """Read the passages of rejected quotes again. Earlier results and the read marks stay unchanged."""
        chunks = self._rejected(context)
        groups = self._groups(chunks, context, task)
        read = await gather_calls(self._read(group) for group in groups)
        update = _update([each for found in read for each in found], (), records=bool(_fields(context)))
        self._reasoning = (
            f"Read {count(len(chunks), 'passage')} once more for rejected quotes: "
            f"{count(len(update.evidence), 'quote')}."
        )
        return update

    def _groups(self, chunks: Sequence[Chunk], context: ResearchContext, task: TaskData) -> list[_Group]:
        """Pack the passages. Prompts differ only in their passages at the end, so that endpoints can cache the rest."""
        settings, prompt = self._kit.settings, self._kit.require_prompt()
        packed = list(pack_passages(chunks, most=settings.passages_per_call, tokens=settings.tokens_per_call))
        shape, strategies = response_model(_fields(context)), [*map(_show_strategy, context.strategies)]
        common = {
            "today": show_today(context),
            "task": show_task(context, instruction=task.instruction),
            "strategies": f"\nStrategies:\n{bullets(strategies)}\n" if strategies else "",
            "fields": _show_fields(_fields(context)),
        }
        return [
            _Group(
                chunks=group,
                marks=_marks(group, context),
                messages=prompt.render(**common, passages=show_units(number_units(group))),
                shape=shape,
                records=bool(_fields(context)),
            )
            for group in packed
        ]

    async def _read(self, group: _Group) -> tuple[_Found, ...]:
        response: Any = (await self._kit.llm.complete(group.messages, group.shape)).value
        units = number_units(group.chunks)
        cited = [(item, cite(item.sentences, units, item.shows)) for item in response.items]
        for item, each in cited:
            lost = not each.evidence and self._kit.settings.reactions and not self._kit.wake
            again = [chunk.id for chunk in group.chunks] if lost else []
            await publish_unknown(
                each.unknown, units, self._kit.publish, self.card.name, about=item.shows, read_again=again
            )
        found = tuple(_Found(each.evidence, _values(item)) for item, each in cited if each.evidence)
        if not self._kit.wake:
            await self._kit.keep(group.update(found))
        return found


@lru_cache(maxsize=128)  # creating a type and its schema takes milliseconds
def response_model(fields: tuple[RecordField, ...]) -> type[BaseModel]:
    """Return the response model, with a record in each item if there are fields."""
    item: Any = ExtractedItem
    if fields:
        description = "these fields as the row and the headings of its table give them; null if it is no such record"
        record = (_record_model(fields) | None, Field(description=description))
        item = create_model("ExtractedItem", __base__=ExtractedItem, record=record)
    return create_model(
        "Extraction",
        __config__=ConfigDict(extra="forbid"),
        items=(list[item], Field(description="what helps; [] if nothing does")),
    )


def _record_model(fields: Sequence[RecordField]) -> Any:
    """Return a model with the fields as aliases, since a column may have the name of a pydantic method ('copy')."""
    columns: dict[str, Any] = {
        f"column_{number}": (_PYTHON_TYPES[field.type] | None, Field(alias=field.name, description=field.meaning))
        for number, field in enumerate(fields)
    }
    return create_model("ExtractedRecord", __config__=ConfigDict(extra="forbid", serialize_by_alias=True), **columns)


def _unread(context: ResearchContext) -> tuple[Chunk, ...]:
    """Return the passages not yet read with these strategies and record fields."""
    read = frozenset(context.read)
    marks = _marks(context.chunks, context)
    return tuple(chunk for chunk, mark in zip(context.chunks, marks, strict=True) if mark not in read)


def _fields(context: ResearchContext) -> tuple[RecordField, ...]:
    """Return the fields of the records to extract. Those of a list are answers about items, which it has read."""
    is_list = any(context.record_fields == each.fields for each in context.lists)
    return () if is_list else context.record_fields


def _marks(chunks: Sequence[Chunk], context: ResearchContext) -> tuple[str, ...]:
    """Return the passages' marks for the context's ``read``: chunk id and hash of strategies and record fields."""
    how = "\n".join(each.model_dump_json() for each in (*context.strategies, *_fields(context)))
    manner = hashlib.sha256(how.encode()).hexdigest()[:12]
    return tuple(f"{chunk.id}/{manner}" for chunk in chunks)


def _update(found: Sequence[_Found], read: tuple[str, ...], *, records: bool) -> ContextUpdate:
    """Build the update. Without ``records``, it leaves the records unchanged."""
    evidence = tuple(item for each in found for item in each.evidence)
    if not records:
        return ContextUpdate(evidence=evidence, read=read)
    return ContextUpdate(evidence=evidence, read=read, records=tuple(_records(found)))


def _records(found: Iterable[_Found]) -> Iterable[Record]:
    """Yield the records with the spans of their last quotes, since headings precede the row."""
    for each in found:
        if each.values is not None:
            row = each.evidence[-1]
            yield Record(values=each.values, chunk_id=row.chunk_id, start=row.start, end=row.end)


def _values(item: Any) -> dict[str, Scalar | None] | None:
    record: BaseModel | None = getattr(item, "record", None)
    return {name: _plain(value) for name, value in record.model_dump(by_alias=True).items()} if record else None


def _plain(value: Scalar | None) -> Scalar | None:
    """Convert whole floats to int: 365 instead of 365.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _show_strategy(strategy: Strategy) -> str:
    lines = [f"{strategy.description}: {strategy.take}"]
    lines += [f"Leave out: {strategy.leave_out}"] if strategy.leave_out else []
    lines += [f"For example: {'; '.join(strategy.examples)}"] if strategy.examples else []
    return "\n  ".join(lines)


def _show_fields(fields: Sequence[RecordField]) -> str:
    if not fields:
        return ""
    listed = bullets([f"{field.name} ({field.type}): {field.meaning}" for field in fields])
    return f"\n{Prompt.part('record_fields', fields=listed)}\n"


async def gather_calls(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return all results in order. The first error cancels the rest and is raised.

    On BudgetReached, calls in progress are awaited first, because they are paid for, and their results are kept.
    """
    tasks = [asyncio.create_task(each) for each in work]
    try:
        pending = set(tasks)
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_EXCEPTION)
            if any(not isinstance(task.exception(), BudgetReached | None) for task in done):
                break
        failed = [error for task in tasks if task.done() and (error := task.exception())]
        if failed:
            raise failed[0]
        return [task.result() for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
