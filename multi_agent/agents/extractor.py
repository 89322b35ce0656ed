"""Extractor: reads every passage and copies out verbatim quotes, each verified to stand in its passage."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from multi_agent.agent import AgentCard, AgentKit
from multi_agent.context import ContextUpdate, Evidence, Record, RecordField, ResearchContext, Strategy
from multi_agent.events import EvidenceRejected
from multi_agent.quoting import Span, locate
from multi_agent.reading import bullets, packs, show_passages, whereabouts
from multi_agent.tasks import TaskData
from vectorstore.models import Chunk, Scalar

T = TypeVar("T")
_PYTHON_TYPES: dict[str, type] = {"text": str, "number": float, "date": str, "boolean": bool}


class Item(BaseModel):
    """One quote of the model's response."""

    model_config = ConfigDict(extra="forbid")

    passage: int = Field(description="number of the passage that the quote stands in")
    quote: str = Field(min_length=1, description="copied from the passage, character for character")
    shows: str = Field(description="what the quote establishes for the question, in your words")


@dataclass(frozen=True)
class _Read:
    """What one group of passages yielded."""

    evidence: tuple[Evidence, ...]
    records: tuple[Record, ...]
    dropped: int


class Extractor:
    """Reads the passages in bounded parallel, packed by token budget.

    A quote that is not in its passage is asked for once more, then dropped; both are published.
    """

    card: ClassVar[AgentCard] = AgentCard(
        name="Extractor",
        description="Reads every passage found and copies out verbatim quotes that bear on the question, and records "
        "where fields were named. Only what it extracts can be cited in the answer.",
        capabilities=("reading", "extraction", "evidence"),
        requires=frozenset({"chunks"}),
        reads=frozenset({"strategies", "record_fields"}),
        writes=frozenset({"evidence", "records"}),
    )

    def __init__(self, kit: AgentKit) -> None:
        self._kit = kit
        self._reasoning = ""

    async def should_activate(self, context: ResearchContext) -> bool:
        return bool(context.chunks)

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        settings = self._kit.settings
        groups = list(packs(context.chunks, most=settings.passages_per_call, tokens=settings.call_tokens))
        read = await _together(self._read(group, context, task) for group in groups)
        evidence = tuple(item for each in read for item in each.evidence)
        records = tuple(record for each in read for record in each.records)
        self._reasoning = (
            f"Read {len(context.chunks)} passages in {len(groups)} calls: {len(evidence)} quotes verified, "
            f"{sum(each.dropped for each in read)} dropped for not standing in their passage, {len(records)} records."
        )
        return ContextUpdate(evidence=evidence, records=records)

    def explain_reasoning(self) -> str:
        return self._reasoning

    async def _read(self, chunks: tuple[Chunk, ...], context: ResearchContext, task: TaskData) -> _Read:
        messages = self._kit.require_prompt().render(
            question=context.question,
            intent=context.understanding.intent,
            requirements=bullets(context.understanding.requirements),
            instruction=task.instruction,
            strategies=_show_strategies(context.strategies),
            fields=_show_fields(context.record_fields),
            passages=show_passages(chunks),
        )
        shape = response_model(len(chunks), context.record_fields)
        response = (await self._kit.llm.complete(messages, shape)).value
        found, rejected = _verify(_items(response), chunks)
        dropped = 0
        if rejected:
            messages += self._kit.require_prompt().again(response.model_dump_json(), rejected=_show_rejected(rejected))
            again, dropped = await self._ask_again(messages, shape, rejected, chunks)
            found += again
        return _Read(
            evidence=tuple(_evidence(item, span, chunks[item.passage - 1]) for item, span in found),
            records=tuple(_records(found, chunks)),
            dropped=dropped,
        )

    async def _ask_again(
        self, messages: list[Any], shape: type[BaseModel], rejected: list[Item], chunks: tuple[Chunk, ...]
    ) -> tuple[list[tuple[Item, Span]], int]:
        """The quotes that are right the second time, and how many are not."""
        await self._publish(rejected, chunks, "These words do not stand in the passage; asked for again.", final=False)
        items = _items((await self._kit.llm.complete(messages, shape)).value)
        found, wrong = _verify(items, chunks)
        await self._publish(wrong, chunks, "These words do not stand in the passage either; dropped.", final=True)
        answered = {item.passage for item in items}
        withdrawn = [item for item in rejected if item.passage not in answered]
        await self._publish(withdrawn, chunks, "The model withdrew it when asked again.", final=True)
        return found, len(wrong) + len(withdrawn)

    async def _publish(self, items: Iterable[Item], chunks: Sequence[Chunk], reason: str, *, final: bool) -> None:
        for item in items:
            passage = whereabouts(chunks[item.passage - 1])
            await self._kit.publish(EvidenceRejected(quote=item.quote, passage=passage, reason=reason, final=final))


def response_model(passages: int, fields: Sequence[RecordField]) -> type[BaseModel]:
    """The Extractor's response for this many passages, with a record of these fields in each item if there are any."""
    extra: dict[str, Any] = {
        "passage": (int, Field(ge=1, le=passages, description="number of the passage that the quote stands in"))
    }
    if fields:
        description = "these fields as the quote and the headings of its table give them; null if it is no such record"
        extra["record"] = (_record_model(fields) | None, Field(description=description))
    item: Any = create_model("ExtractedItem", __base__=Item, **extra)
    return create_model(
        "Extraction",
        __config__=ConfigDict(extra="forbid"),
        items=(list[item], Field(description="the quotes; [] if no passage helps")),
    )


def _record_model(fields: Sequence[RecordField]) -> Any:
    columns: dict[str, Any] = {
        field.name: (_PYTHON_TYPES[field.type] | None, Field(description=field.meaning)) for field in fields
    }
    return create_model("ExtractedRecord", __config__=ConfigDict(extra="forbid"), **columns)


def _items(response: BaseModel) -> list[Item]:
    return list(getattr(response, "items", ()))


def _verify(items: Iterable[Item], chunks: Sequence[Chunk]) -> tuple[list[tuple[Item, Span]], list[Item]]:
    """The items whose quote stands in its passage, with where; and the others."""
    found: list[tuple[Item, Span]] = []
    rejected: list[Item] = []
    for item in items:
        span = locate(item.quote, chunks[item.passage - 1])
        if span is None:
            rejected.append(item)
        else:
            found.append((item, span))
    return found, rejected


def _evidence(item: Item, span: Span, chunk: Chunk) -> Evidence:
    return Evidence(
        number=1,  # numbered anew when the context is merged
        document=chunk.document,
        document_id=chunk.document_id,
        name=chunk.name,
        chunk_id=chunk.id,
        pages=chunk.pages_of(span.start, span.end),
        start=span.start,
        end=span.end,
        quote=chunk.source_text(span.start, span.end),
        why=item.shows,
    )


def _records(found: Iterable[tuple[Item, Span]], chunks: Sequence[Chunk]) -> Iterable[Record]:
    for item, span in found:
        record: BaseModel | None = getattr(item, "record", None)
        if record is not None:
            values = {name: _plain(value) for name, value in record.model_dump().items()}
            yield Record(values=values, chunk_id=chunks[item.passage - 1].id, start=span.start, end=span.end)


def _plain(value: Scalar | None) -> Scalar | None:
    """A whole number as one: 365 rather than 365.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _show_strategies(strategies: Sequence[Strategy]) -> str:
    return f"\nStrategies:\n{bullets([_show_strategy(each) for each in strategies])}\n" if strategies else ""


def _show_strategy(strategy: Strategy) -> str:
    lines = [f"{strategy.description}: {strategy.take}"]
    lines += [f"Leave out: {strategy.leave_out}"] if strategy.leave_out else []
    lines += [f"For example: {'; '.join(strategy.examples)}"] if strategy.examples else []
    return "\n  ".join(lines)


def _show_fields(fields: Sequence[RecordField]) -> str:
    if not fields:
        return ""
    listed = bullets([f"{field.name} ({field.type}): {field.meaning}" for field in fields])
    return f"\nFields of a record, to be filled where a quote is one:\n{listed}\n"


def _show_rejected(items: Iterable[Item]) -> str:
    return "\n".join(f"- passage {item.passage}: {item.quote}" for item in items)


async def _together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All results in order; the first error ends the rest and is raised."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
