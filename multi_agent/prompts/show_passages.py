"""How passages are shown to a model: numbered, under where they stand, packed by what one call can read.

Passages appear in order of document and position, never of score: scores differ in their last digits between
machines, and a prompt that changes with them could not be replayed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeVar

from multi_agent.llm.context_window import estimate_tokens
from vectorstore.models import Chunk

T = TypeVar("T")


def show_passages(chunks: Sequence[Chunk], first: int = 1) -> str:
    """The passages, numbered from ``first``."""
    return "\n\n".join(
        f"=== Passage {number}: {show_location(chunk)}\n{chunk.reading_text}"
        for number, chunk in enumerate(chunks, first)
    )


def show_location(chunk: Chunk, pages: Sequence[int] | None = None) -> str:
    """Document, section and pages of a passage, or ``pages`` of a part of it, in a line."""
    parts = [_titled(chunk), " › ".join(chunk.section), show_pages(chunk.pages if pages is None else pages)]
    return ", ".join(part for part in parts if part)


def _titled(chunk: Chunk) -> str:
    """The document's name, and its title if that says anything else: a passage may not name what it is about."""
    title = chunk.title if _letters(chunk.title) not in _letters(chunk.name) else ""
    return f"{chunk.name} ({title})" if title else chunk.name


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def show_pages(pages: Sequence[int]) -> str:
    """'page 3', 'pages 3-4', or nothing."""
    if not pages:
        return ""
    return f"page {pages[0]}" if len(pages) == 1 else f"pages {pages[0]}-{pages[-1]}"


def bullets(items: Sequence[str]) -> str:
    """One line an item, or a dash for none."""
    return "\n".join(f"- {item}" for item in items) or "-"


def pack_passages(chunks: Sequence[Chunk], *, most: int, tokens: int) -> Iterator[tuple[Chunk, ...]]:
    """The chunks in order, cut into groups of at most ``most`` chunks and about ``tokens`` tokens.

    A single chunk over the budget is a group of its own.
    """
    pack: list[Chunk] = []
    used = 0
    for chunk in chunks:
        size = estimate_tokens(chunk.reading_text)
        if pack and (len(pack) == most or used + size > tokens):
            yield tuple(pack)
            pack, used = [], 0
        pack.append(chunk)
        used += size
    if pack:
        yield tuple(pack)


def sort_passages(chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
    """By document and position, as passages are shown."""
    return tuple(sorted(chunks, key=lambda chunk: (chunk.name, chunk.index)))


def sample_passages(chunks: Sequence[Chunk], ranking: Sequence[str], most: int) -> tuple[Chunk, ...]:
    """At most ``most`` chunks, in order: the best by ``ranking`` (chunk ids), then others, evenly spread."""
    if len(chunks) <= most:
        return tuple(chunks)
    there = {chunk.id for chunk in chunks}
    best = [chunk_id for chunk_id in ranking if chunk_id in there][:most]
    others = [chunk for chunk in chunks if chunk.id not in best]
    chosen = {*best, *(chunk.id for chunk in pick_evenly(others, most - len(best)))}
    return tuple(chunk for chunk in chunks if chunk.id in chosen)


def unread_passages(chunks: Sequence[Chunk], read: Collection[str]) -> tuple[Chunk, ...]:
    """The chunks that nobody has read yet in any way (``read`` as in the context); all, if all were read."""
    known = {mark.partition("/")[0] for mark in read}
    return tuple(chunk for chunk in chunks if chunk.id not in known) or tuple(chunks)


def pick_evenly(items: Sequence[T], most: int) -> Sequence[T]:
    """At most ``most`` of the items, from the first to the last at even distances."""
    if len(items) <= most:
        return items
    return [items[round(step * (len(items) - 1) / max(1, most - 1))] for step in range(most)]
