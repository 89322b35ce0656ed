"""Turns the numbers that a model cites into evidence. Quotes are verbatim by construction.

Agents show the model numbered units (``show_units``) and ask for their numbers. ``cite`` adds the quoted text. A quote
from a figure description counts as a picture reading, because a model wrote the description.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from multi_agent.prompts.show_passages import Unit
from multi_agent.values.bus import Publish
from multi_agent.values.context import Evidence, Note, PictureSource
from multi_agent.values.evidence_events import EvidenceRejected
from vectorstore.models import Chunk


class Cited(NamedTuple):
    """The quotes for the cited numbers of a response, and the cited numbers that do not exist."""

    evidence: tuple[Evidence, ...]
    unknown: tuple[int, ...]


def cite(numbers: Iterable[int], units: Sequence[Unit], why: str = "") -> Cited:
    """Return a quote per unit. Adjacent units of one passage form one quote. Evidence has number 1 until it is merged.

    ``units`` are all units of the call, as ``number_units`` returns them.
    """
    named = sorted(set(numbers))
    unknown = tuple(number for number in named if not 1 <= number <= len(units))
    runs: list[list[Unit]] = []
    for unit in (units[number - 1] for number in named if number not in unknown):
        if runs and _adjacent(runs[-1][-1], unit):
            runs[-1].append(unit)
        else:
            runs.append([unit])
    return Cited(tuple(_evidence(run[0], run[-1], why) for run in runs), unknown)


async def publish_unknown(
    numbers: Iterable[int],
    units: Sequence[Unit],
    publish: Publish,
    agent: str,
    *,
    about: str = "",
    read_again: Iterable[str] = (),
) -> None:
    """Publish an EvidenceRejected event for each number without a unit.

    ``read_again`` contains the ids of the passages to read once more. If it is empty, the quote is dropped.
    """
    chunk_ids = tuple(read_again)
    for number in numbers:
        await publish(
            EvidenceRejected(
                quote=f"[{number}]",
                passage="",
                reason=f"There is no sentence {number}; {len(units)} were shown.",
                final=not chunk_ids,
                agent=agent,
                about=about,
                chunk_ids=chunk_ids,
            )
        )


def unknown_numbers(agent: str, numbers: Collection[int]) -> list[Note]:
    """Return a warning for the reader of the answer about numbers that the model named and that do not exist."""
    if not numbers:
        return []
    listed = ", ".join(map(str, sorted(numbers)))
    return [Note(agent=agent, text=f"{agent} named numbers of no quote, which were left out: {listed}", gap=True)]


def _adjacent(unit: Unit, following: Unit) -> bool:
    """Return whether two units are adjacent in one passage. The header of a table is a separate text."""
    chunk, header = unit.chunk, unit.chunk.header
    same_text = header is None or (unit.start < header.end) == (following.start < header.end)
    return following.number == unit.number + 1 and following.chunk.id == chunk.id and same_text


def _evidence(first: Unit, last: Unit, why: str) -> Evidence:
    chunk, start, end = first.chunk, first.start, last.end
    picture = PictureSource(page=chunk.described_page) if chunk.described_page else None
    quote, pages = chunk.source_text(start, end), chunk.pages_of(start, end)
    return evidence_in(chunk, start, end, quote, pages=pages, why=why, picture=picture)


def evidence_in(chunk: Chunk, start: int, end: int, quote: str, *, pages: tuple[int, ...], **fields: Any) -> Evidence:
    """Return evidence from the passage, with number 1. ``fields`` sets the remaining fields."""
    return Evidence(
        number=1,
        document=chunk.document,
        document_id=chunk.document_id,
        name=chunk.name,
        chunk_id=chunk.id,
        pages=pages,
        printed_pages=chunk.printed(pages),
        section=chunk.section_of(start),
        start=start,
        end=end,
        quote=quote,
        origin=chunk.origin,
        **fields,
    )
