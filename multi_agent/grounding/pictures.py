"""Sends pictures of pages to the model and turns its readings of them into evidence.

    pictures = await PagePictures.load(best_first, shown, most, library, llm)
    completion = await llm.complete(pictures.attach(messages), shape)
    pictures.evidence(claim.pictures)

Quotes of the text are verbatim by construction. Picture readings are not, because the model writes the words and no
rule can compare them with the picture. Therefore ``Evidence.picture`` names the source, and ``Claim.pictured`` marks a
claim that is not supported without picture readings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field

from multi_agent.grounding.citations import evidence_in
from multi_agent.library import Library
from multi_agent.model import LLM, Message, Picture
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import show_location
from multi_agent.values.bus import Publish
from multi_agent.values.context import Evidence, PictureSource, Region
from multi_agent.values.events import ResponseRepaired
from multi_agent.values.evidence_events import EvidenceRejected
from vectorstore.models import Chunk

_MOST_WORDS = 300  # a full page of prose has at least 400


class PictureReading(BaseModel):
    # No docstring: the schema would show it to the model.
    model_config = ConfigDict(extra="forbid")

    picture: int = Field(description="number of the picture, without the P")
    words: str = Field(min_length=1, description="the words or the value, exactly as the picture shows them")
    region: list[float] | None = Field(
        description="where in the picture: left, top, right and bottom as fractions from 0 to 1; null if unsure"
    )


class ShownPicture(NamedTuple):
    """The picture of a page and a passage on that page."""

    chunk: Chunk
    page: int
    picture: Picture


class PagePictures:
    """The pictures of one call, numbered from 1. Empty if no page needs a picture or the model supports none."""

    def __init__(self, shown: Sequence[ShownPicture] = ()) -> None:
        self._shown = tuple(shown)

    @classmethod
    async def load(cls, chunks: Iterable[Chunk], shown: Sequence[Chunk], most: int, library: Library, llm: LLM) -> Self:
        """Load the pictures of at most ``most`` pages of the chunks, in order. ``shown`` are all passages of the call.

        Only pages that show more than their text, and have little text, get a picture. If there are such pages, the
        endpoint is asked whether the model supports pictures. Raises PictureUnavailable, and LLMError like
        ``llm.takes_pictures``.
        """
        pages: dict[tuple[str, int], Chunk] = {}
        for chunk in chunks:
            for page in chunk.pictured_pages:
                if _words_on(page, chunk.document_id, shown) <= _MOST_WORDS:
                    pages.setdefault((chunk.document_id, page), chunk)
        chosen = [(chunk, page) for (_, page), chunk in pages.items()][:most]
        if not chosen or not await llm.takes_pictures():
            return cls()
        return cls([await _load(chunk, page, library) for chunk, page in chosen])

    def __bool__(self) -> bool:
        return bool(self._shown)

    def attach(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages. The last one contains the pictures and the text that introduces them."""
        if not self._shown:
            return list(messages)
        listed = "\n".join(
            f"[P{number}] picture of {show_location(each.chunk, (each.page,))}"
            for number, each in enumerate(self._shown, 1)
        )
        *earlier, last = messages
        content = f"{last.content}\n\n{Prompt.part('pictures', pictures=listed)}"
        pictures = tuple(each.picture for each in self._shown)
        return [*earlier, last.model_copy(update={"content": content, "pictures": pictures})]

    def evidence(self, readings: Iterable[PictureReading]) -> tuple[Evidence, ...]:
        """Return the readings of existing pictures as evidence. Evidence has number 1 until it is merged."""
        return tuple(_evidence(self._shown[each.picture - 1], each) for each in readings if self._has(each))

    async def publish_faults(self, readings: Sequence[PictureReading], caller: str, publish: Publish) -> None:
        """Publish an event for each reading of an unknown picture, and one for all invalid regions."""
        for each in readings:
            if not self._has(each):
                reason = f"There is no picture P{each.picture}; {len(self._shown)} were shown."
                await publish(
                    EvidenceRejected(quote=f"[P{each.picture}]", passage="", reason=reason, final=True, agent=caller)
                )
        if repairs := tuple(_wrong_regions(readings)):
            await publish(ResponseRepaired(caller=caller, repairs=repairs))

    def _has(self, reading: PictureReading) -> bool:
        return 1 <= reading.picture <= len(self._shown)


def _words_on(page: int, document: str, shown: Iterable[Chunk]) -> int:
    """Return the number of words of the page in the passages: a scan with as much text as a page needs no picture."""
    spans = ((chunk, span) for chunk in shown if chunk.document_id == document for span in chunk.page_spans)
    return sum(len(chunk.source_text(span.start, span.end).split()) for chunk, span in spans if span.number == page)


async def _load(chunk: Chunk, page: int, library: Library) -> ShownPicture:
    return ShownPicture(chunk, page, Picture.of(await asyncio.to_thread(library.page_picture, chunk, page)))


def _evidence(shown: ShownPicture, reading: PictureReading) -> Evidence:
    chunk, page = shown.chunk, shown.page
    start = next(span.start for span in chunk.page_spans if span.number == page)
    source = PictureSource(page=page, region=_region(reading))
    return evidence_in(chunk, start, start, reading.words.strip(), pages=(page,), picture=source)


def _region(reading: PictureReading) -> Region | None:
    """Return the region, or None if it is missing or invalid."""
    match reading.region:
        case [left, top, right, bottom] if 0 <= left < right <= 1 and 0 <= top < bottom <= 1:
            return left, top, right, bottom
    return None


def _wrong_regions(readings: Iterable[PictureReading]) -> Iterator[str]:
    for each in readings:
        if each.region and _region(each) is None:
            yield f"the region {each.region} of picture P{each.picture} is none; it was left out"
