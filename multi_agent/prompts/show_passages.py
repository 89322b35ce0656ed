"""Renders passages for prompts with their locations, and selects how many fit into a call.

An agent that cites gets numbered units, which are sentences of prose, lines of lists and code, and rows of tables. It
cites their numbers, and ``grounding/citations.py`` turns these into quotes.

Passages are in reading order within their document. An agent that answers gets the document of the best passage last,
next to the question. If many calls read all passages, documents are sorted by name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from base.tokens import estimate_tokens
from multi_agent.prompts.show_outside import mark_outside, show_lines, show_origin, show_words
from vectorstore.models import Chunk, ToolOutput, WebPage
from vectorstore.text.sentences import units_of

T = TypeVar("T")
_NO_LETTERS = re.compile(r"[\W_]+")
_HEADINGS = 6  # units at the beginning of a passage that may be its title and headings


class Unit(NamedTuple):
    """A numbered sentence, line or row of a call's passages. ``start`` and ``end`` are offsets in its document."""

    number: int
    chunk: Chunk
    start: int
    end: int

    @property
    def text(self) -> str:
        """The text on one line."""
        return " ".join(self.chunk.source_text(self.start, self.end).split())


def number_units(chunks: Iterable[Chunk]) -> tuple[Unit, ...]:
    """Number the units of all passages from 1. A unit that overlapping passages share is numbered once."""
    units: list[Unit] = []
    known: set[tuple[str, int, int]] = set()
    for chunk in chunks:
        for start, end in units_of(chunk):
            place = (chunk.document_id, start, end)
            is_header = chunk.header is not None and start < chunk.header.end
            if is_header or place not in known:
                units.append(Unit(len(units) + 1, chunk, start, end))
            known.add(place)
    return tuple(units)


def show_units(units: Iterable[Unit]) -> str:
    """Return the units with their numbers, each passage under a line with its location."""
    passages: dict[str, list[Unit]] = {}
    for unit in units:
        passages.setdefault(unit.chunk.id, []).append(unit)
    return _join((shown[0].chunk, "\n".join(map(_show_unit, shown))) for shown in passages.values())


def show_passages(chunks: Iterable[Chunk]) -> str:
    """Return the passages without numbers, for an agent that does not cite them."""
    return _join((chunk, show_lines(chunk.text) if chunk.origin else chunk.reading_text) for chunk in chunks)


def show_location(chunk: Chunk, pages: Sequence[int] | None = None, without: Collection[str] = ()) -> str:
    """Return document, section and pages of a passage on one line. For a passage from outside, its web page or tool.

    ``pages`` replaces the pages of the passage. Titles and headings whose letters are in ``without`` are omitted.
    """
    if isinstance(chunk.origin, WebPage | ToolOutput):
        return show_origin(chunk.origin, chunk.title)
    title = _letters(chunk.title)
    has_title = title not in _letters(chunk.name) and title not in without
    section = [each for each in chunk.section if _letters(each) not in (*without, title)]
    name = f"{chunk.name} ({chunk.title})" if has_title else chunk.name
    shown = chunk.pages if pages is None else pages
    parts = [name, " › ".join(section), show_pages(shown, chunk.printed(shown))]
    return ", ".join(part for part in parts if part)


def show_proof(chunk: Chunk, pages: Sequence[int] | None = None) -> str:
    """Return the part of the location that can prove a claim. For a passage from outside, its title.

    A model chose the address of the page and the arguments of the tool, so they prove nothing.
    """
    return chunk.title if isinstance(chunk.origin, WebPage | ToolOutput) else show_location(chunk, pages)


def _join(passages: Iterable[tuple[Chunk, str]]) -> str:
    """Return the texts below their locations. Each title is shown once, in the location or in the passage itself."""
    titled: set[str] = set()
    shown: list[str] = []
    for chunk, text in passages:
        lines = [_letters(chunk.source_text(start, end)) for start, end in units_of(chunk)[:_HEADINGS]]
        known = {*lines, "".join(lines[:2])} | ({_letters(chunk.title)} if chunk.document_id in titled else set())
        shown.append(f"=== {show_location(chunk, without=known)}{mark_outside(chunk)}\n{text}")
        titled.add(chunk.document_id)
    return "\n\n".join(shown)


def _show_unit(unit: Unit) -> str:
    return f"[{unit.number}] {show_words(unit.text, unit.chunk.origin)}"


def titled(name: str, title: str) -> str:
    """Return a document's name, followed by its title unless the name contains it."""
    return f"{name} ({title})" if _letters(title) not in _letters(name) else name


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", text.casefold())


def show_pages(pages: Sequence[int], printed: str = "") -> str:
    """Return 'page 3', 'pages 3-4', 'page 3 (printed iii)' or an empty text."""
    if not pages:
        return ""
    shown = f"page {pages[0]}" if len(pages) == 1 else f"pages {pages[0]}-{pages[-1]}"
    return f"{shown} (printed {printed})" if printed else shown


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


def best_document_last(chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
    """Return ranked chunks grouped by document, in reading order. The document of the best chunk is last.

    A small model overlooks text far from the question. With the best document first, it missed facts that it finds with
    that document last.
    """
    documents: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        documents.setdefault(chunk.document_id, []).append(chunk)
    ordered = (sorted(each, key=lambda chunk: chunk.index) for each in reversed(documents.values()))
    return tuple(chunk for each in ordered for chunk in each)


def sample_passages(chunks: Sequence[Chunk], ranking: Sequence[str], most: int) -> tuple[Chunk, ...]:
    """Return at most ``most`` chunks, in order. Half of them are the best of ``ranking``, others are evenly spaced."""
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
