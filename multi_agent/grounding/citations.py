"""From the quotes in a model's response to evidence: each is looked up in the passage that it is said to stand in.

Agents that read passages share this: they show them numbered from 1 (``reading.show_passages``), ask for quotes of the
type that ``quote_model`` makes, and cite none that ``verify`` has not found.
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
    """A quote that stands in its passage, and where."""

    item: QuotedT
    chunk: Chunk
    span: Span

    @property
    def evidence(self) -> Evidence:
        """To be numbered by whoever puts it beside others."""
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
    """A type of quotes of passages numbered up to ``passages``, with ``more`` fields.

    Calls that share a prompt share this number, the highest that any of them shows, so that they share the schema too.
    """
    number = (int, Field(ge=1, le=passages, description=Quoted.model_fields["passage"].description))
    return create_model(name, __base__=Quoted, passage=number, **more)


def verify_quotes(
    items: Iterable[QuotedT], chunks: Sequence[Chunk]
) -> tuple[tuple[Located[QuotedT], ...], tuple[QuotedT, ...]]:
    """The quotes that stand in their passages, and the others; a passage that was not shown holds none."""
    located: list[Located[QuotedT]] = []
    rejected: list[QuotedT] = []
    for item in items:
        chunk = _shown(item.passage, chunks)
        span = locate(item.quote, chunk) if chunk else None
        if chunk and span:
            located.append(Located(item, chunk, span))
        else:
            rejected.append(item)
    return tuple(located), tuple(rejected)


async def publish_rejected(
    items: Iterable[Quoted], chunks: Sequence[Chunk], publish: Publish, reason: str, *, final: bool
) -> None:
    """Publish that these quotes were not accepted."""
    for item in items:
        chunk = _shown(item.passage, chunks)
        passage = show_location(chunk) if chunk else f"passage {item.passage}, which was not shown"
        await publish(EvidenceRejected(quote=item.quote, passage=passage, reason=reason, final=final))


def _shown(number: int, chunks: Sequence[Chunk]) -> Chunk | None:
    return chunks[number - 1] if 1 <= number <= len(chunks) else None
