"""Turns the quotes in a model's response into evidence, by finding each quote in its passage.

Agents that read passages show them numbered from 1 (``show_passages``), ask for quotes of the type that ``quote_model``
returns, and cite only quotes that ``verify_quotes`` has found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from multi_agent.bus import Publish
from multi_agent.context import Evidence
from multi_agent.events import EvidenceRejected
from multi_agent.grounding.quotes import Span, locate
from multi_agent.prompts.show_passages import show_location
from vectorstore.models import Chunk


class Quoted(BaseModel):
    """One quote of a model's response."""

    model_config = ConfigDict(extra="forbid")

    passage: int = Field(ge=1, description="number of the passage that the quote stands in")
    quote: str = Field(min_length=1, description="copied from the passage, character for character")
    shows: str = Field(
        description="what the quote establishes for the question, in your words; others do not see passage numbers"
    )


QuotedT = TypeVar("QuotedT", bound=Quoted)


@dataclass(frozen=True)
class Located(Generic[QuotedT]):
    """A quote that was found in its passage."""

    item: QuotedT
    chunk: Chunk
    span: Span

    @property
    def evidence(self) -> Evidence:
        """Return the evidence. Its number is 1 until it is merged with other evidence."""
        start, end = self.span
        return Evidence(
            number=1,
            document=self.chunk.document,
            document_id=self.chunk.document_id,
            name=self.chunk.name,
            chunk_id=self.chunk.id,
            pages=self.chunk.pages_of(start, end),
            start=start,
            end=end,
            quote=self.chunk.source_text(start, end),
            why=self.item.shows,
        )


def quote_model(name: str, passages: int, **more: Any) -> Any:
    """Return a type for quotes from passages numbered up to ``passages``, with ``more`` fields.

    Calls with the same prompt use the highest number of all these calls, so that they have the same schema.
    """
    number = (int, Field(ge=1, le=passages, description=Quoted.model_fields["passage"].description))
    return create_model(name, __base__=Quoted, passage=number, **more)


def verify_quotes(
    items: Iterable[QuotedT], chunks: Sequence[Chunk]
) -> tuple[tuple[Located[QuotedT], ...], tuple[QuotedT, ...]]:
    """Return the quotes that are in their passages, and the rejected ones. Unknown passage numbers are rejected."""
    located: list[Located[QuotedT]] = []
    rejected: list[QuotedT] = []
    for item in items:
        chunk = _passage(item.passage, chunks)
        span = locate(item.quote, chunk) if chunk else None
        if chunk and span:
            located.append(Located(item, chunk, span))
        else:
            rejected.append(item)
    return tuple(located), tuple(rejected)


async def publish_rejected(
    items: Iterable[Quoted], chunks: Sequence[Chunk], publish: Publish, reason: str, *, final: bool
) -> None:
    """Publish an EvidenceRejected event for each quote."""
    for item in items:
        chunk = _passage(item.passage, chunks)
        passage = show_location(chunk) if chunk else f"passage {item.passage}, which was not shown"
        await publish(EvidenceRejected(quote=item.quote, passage=passage, reason=reason, final=final))


def _passage(number: int, chunks: Sequence[Chunk]) -> Chunk | None:
    return chunks[number - 1] if 1 <= number <= len(chunks) else None
