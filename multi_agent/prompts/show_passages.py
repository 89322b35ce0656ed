"""Renders passages for prompts, numbered and with their location, and selects how many fit into a call.

Passages are sorted by document and position, never by score: scores differ in their last digits between machines, and
a different prompt could not be replayed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeVar

from multi_agent.llm.context_window import estimate_tokens
from vectorstore.models import Chunk

T = TypeVar("T")


def show_passages(chunks: Sequence[Chunk], first: int = 1) -> str:
    """Return the passages, numbered from ``first``."""
    return "\n\n".join(
        f"=== Passage {number}: {show_location(chunk)}\n{chunk.reading_text}"
        for number, chunk in enumerate(chunks, first)
    )


def show_location(chunk: Chunk, pages: Sequence[int] | None = None) -> str:
    """Return document, section and pages of a passage in one line. ``pages`` replaces the pages of the passage."""
    parts = [_titled(chunk), " › ".join(chunk.section), show_pages(chunk.pages if pages is None else pages)]
    return ", ".join(part for part in parts if part)


def _titled(chunk: Chunk) -> str:
    """Return the document's name, with its title unless the name contains it. A passage may not name its subject."""
    title = chunk.title if _letters(chunk.title) not in _letters(chunk.name) else ""
    return f"{chunk.name} ({title})" if title else chunk.name


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def show_pages(pages: Sequence[int]) -> str:
    """Return 'page 3', 'pages 3-4' or an empty text."""
    if not pages:
        return ""
    return f"page {pages[0]}" if len(pages) == 1 else f"pages {pages[0]}-{pages[-1]}"


def bullets(items: Sequence[str]) -> str:
    """Return a list with one line per item, or a dash without items."""
    return "\n".join(f"- {item}" for item in items) or "-"


def pack_passages(chunks: Sequence[Chunk], *, most: int, tokens: int) -> Iterator[tuple[Chunk, ...]]:
    """Yield the chunks in groups of at most ``most`` chunks and about ``tokens`` tokens, in order.

    A chunk over the limit forms its own group.
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
    """Return the chunks sorted by document and position."""
    return tuple(sorted(chunks, key=lambda chunk: (chunk.name, chunk.index)))


def sample_passages(chunks: Sequence[Chunk], ranking: Sequence[str], most: int) -> tuple[Chunk, ...]:
    """Return at most ``most`` chunks, in order: the best of ``ranking`` (chunk ids), then evenly spaced others."""
    if len(chunks) <= most:
        return tuple(chunks)
    ids = {chunk.id for chunk in chunks}
    best = [chunk_id for chunk_id in ranking if chunk_id in ids][:most]
    others = [chunk for chunk in chunks if chunk.id not in best]
    chosen = {*best, *(chunk.id for chunk in pick_evenly(others, most - len(best)))}
    return tuple(chunk for chunk in chunks if chunk.id in chosen)


def unread_passages(chunks: Sequence[Chunk], read: Collection[str]) -> tuple[Chunk, ...]:
    """Return the chunks without a mark in ``read`` (as in the context), or all chunks if all are read."""
    known = {mark.partition("/")[0] for mark in read}
    return tuple(chunk for chunk in chunks if chunk.id not in known) or tuple(chunks)


def pick_evenly(items: Sequence[T], most: int) -> Sequence[T]:
    """Return at most ``most`` evenly spaced items, including the first and the last."""
    if len(items) <= most:
        return items
    return [items[round(step * (len(items) - 1) / max(1, most - 1))] for step in range(most)]
