"""Renders passages for prompts with their locations, and selects how many fit into a call.

An agent that cites gets numbered units, which are sentences of prose, lines of lists and code, and rows of tables. It
cites their numbers, and ``grounding/citations.py`` turns these into quotes. Headings have no numbers: each section is
below a line with its document, section and pages.

Passages are in reading order within their document. An agent that answers gets the document of the best passage last,
next to the question. If many calls read all passages, documents are sorted by name.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from html import unescape
from typing import NamedTuple, TypeVar

from base.tokens import estimate_tokens
from multi_agent.prompts.show_dates import show_dates
from multi_agent.prompts.show_outside import mark_outside, show_lines, show_origin, show_words
from vectorstore.models import Chunk, ToolOutput, WebPage
from vectorstore.text.sentences import Span, units_of

T = TypeVar("T")
_NO_LETTERS = re.compile(r"[\W_]+")
_LONGEST_HEADING = 8  # words
_HEADINGS = 6  # units at the beginning of a passage that may be its title and headings
LEFT_OUT = "read_in_part"
"""The metadata of a passage that was cut to fit into a call."""


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

    @property
    def section(self) -> tuple[str, ...]:
        """The headings above it. Header rows of a table belong to the section of the passage."""
        return self.chunk.section_of(max(self.start, self.chunk.start))


def number_units(chunks: Iterable[Chunk]) -> tuple[Unit, ...]:
    """Number the units of all passages from 1, without what an earlier passage of the prompt shows.

    That is the overlap of passages, and the header rows of a table that goes on. Titles and headings get no number,
    because the line above the passage shows them.
    """
    units: list[Unit] = []
    known: dict[tuple[str, str], list[Unit]] = {}
    before: Chunk | None = None
    for chunk in chunks:
        shown = known.setdefault((chunk.document_id, chunk.version), [])
        header_end = chunk.header.end if chunk.header and not _goes_on(before, chunk) else 0
        own = [Unit(0, chunk, *span) for span in _without_headings(chunk)]
        new = [unit for unit in own if unit.start < header_end or not _is_within(unit, shown)]
        units += (unit._replace(number=number) for number, unit in enumerate(new, len(units) + 1))
        shown += new
        before = chunk
    return tuple(units)


def _goes_on(before: Chunk | None, chunk: Chunk) -> bool:
    """Return whether the passage before it belongs to the same table, or has its first rows."""
    if before is None or chunk.header is None or before.document_id != chunk.document_id:
        return False
    start = chunk.header.start
    return (before.header is not None and before.header.start == start) or before.start <= start < before.end


def _is_within(unit: Unit, known: Iterable[Unit]) -> bool:
    return any(each.start <= unit.start and unit.end <= each.end and unit.text in each.text for each in known)


def _without_headings(chunk: Chunk) -> list[Span]:
    """Return the units of a passage without its title and headings, unless it has nothing else."""
    spans = units_of(chunk)
    lines = [_letters(chunk.source_text(*span)) for span in spans]
    starts = {section.start for section in chunk.sections}
    below = {_letters(heading) for section in chunk.sections for heading in section.path if not _is_text(heading)}
    title = _letters(chunk.title)
    above = {title, *(_letters(heading) for heading in chunk.section if not _is_text(heading))}
    halves = {each for at in range(_HEADINGS) if "".join(lines[at : at + 2]) == title for each in (at, at + 1)}
    kept = [
        span
        for at, (span, line) in enumerate(zip(spans, lines, strict=True))
        if not ((at < _HEADINGS and (line in above or at in halves)) or (span.start in starts and line in below))
    ]
    return kept or spans


def _is_text(heading: str) -> bool:
    """Return whether a heading is as long as a sentence. It may state a fact, so it gets a number."""
    return len(heading.split()) > _LONGEST_HEADING


def show_units(units: Iterable[Unit]) -> str:
    """Return the units with their numbers, each passage under a line with its location."""
    return _join(units, lambda unit: f"[{unit.number}] {show_words(unit.text, unit.chunk.origin)}")


def show_passages(chunks: Iterable[Chunk]) -> str:
    """Return the passages without numbers, for an agent that does not cite them."""
    return _join(number_units(chunks), _show_unnumbered)


def _show_unnumbered(unit: Unit) -> str:
    """Return the text of a unit without its number. A text that looks like a line above a passage gets a mark."""
    return show_lines(unit.text) if unit.chunk.origin or unit.text.startswith("===") else unit.text


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


def _join(units: Iterable[Unit], show: Callable[[Unit], str]) -> str:
    """Return the units below their locations. The first line of each document has its title and its date."""
    units = tuple(units)
    dates = show_dates([unit.chunk for unit in units])
    known: set[str] = set()
    blocks: list[str] = []
    for part in _parts(units):
        line = _show_line(part, dates, is_first=part[0].chunk.document_id not in known)
        known.add(part[0].chunk.document_id)
        blocks.append("\n".join((line, *map(show, part))))
    return "\n\n".join(blocks)


def _parts(units: Iterable[Unit]) -> Iterator[list[Unit]]:
    """Yield the units of each section of a document. Neighbouring passages of one section are one part."""
    part: list[Unit] = []
    for unit in units:
        if part and not _is_same_part(part[-1], unit):
            yield part
            part = []
        part.append(unit)
    if part:
        yield part


def _is_same_part(one: Unit, other: Unit) -> bool:
    chunk, following = one.chunk, other.chunk
    near = chunk.id == following.id or (chunk.origin is None and following.index - chunk.index == 1)
    return chunk.document_id == following.document_id and near and one.section == other.section


def _show_line(part: Sequence[Unit], dates: Mapping[str, str], *, is_first: bool) -> str:
    first = part[0]
    spans = {span.number: span for unit in part for span in unit.chunk.page_spans}
    pages = sorted({page for unit in part for page in unit.chunk.pages_of(unit.start, unit.end)})
    section = tuple(heading for heading in first.section if not _is_text(heading))
    place = first.chunk.model_copy(update={"section": section, "page_spans": tuple(spans.values())})
    location = show_location(place, pages or None, () if is_first else {_letters(place.title)})
    date = dates[place.document_id] if is_first else ""
    return f"=== {', '.join(filter(None, (location, date)))}{mark_outside(first.chunk)}"


def titled(name: str, title: str) -> str:
    """Return a document's name, followed by its title unless the name contains it."""
    return f"{name} ({title})" if _letters(title) not in _letters(name) else name


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", unescape(text).casefold())


def show_pages(pages: Sequence[int], printed: str = "") -> str:
    """Return 'page 3', 'pages 3-4', 'page 3 (printed iii)' or an empty text."""
    if not pages:
        return ""
    shown = f"page {pages[0]}" if len(pages) == 1 else f"pages {pages[0]}-{pages[-1]}"
    return f"{shown} (printed {printed})" if printed else shown


def bullets(items: Sequence[str]) -> str:
    """Return a list with one line per item, or a dash without items."""
    return "\n".join(f"- {item}" for item in items) or "-"


def pack_passages(chunks: Sequence[Chunk], *, most: int, tokens: float) -> Iterator[tuple[Chunk, ...]]:
    """Yield the chunks in groups of at most ``most`` chunks and about ``tokens`` tokens, in order.

    A chunk over the limit is cut and forms its own group.
    """
    pack: list[Chunk] = []
    used = 0
    for chunk in (fitted(each, tokens) for each in chunks):
        size = estimate_tokens(chunk.reading_text)
        if pack and (len(pack) == most or used + size > tokens):
            yield tuple(pack)
            pack, used = [], 0
        pack.append(chunk)
        used += size
    if pack:
        yield tuple(pack)


def fitted(chunk: Chunk, tokens: float) -> Chunk:
    """Return the passage, or its beginning if it has more tokens. The header of its table takes at most half."""
    if estimate_tokens(chunk.reading_text) <= tokens:
        return chunk
    header = chunk.header
    if header:
        above = _beginning(header.text, tokens / 2)
        header = header.model_copy(update={"text": above, "end": header.start + len(above)})
        tokens -= estimate_tokens(f"{above}\n")
    text = _beginning(chunk.text, tokens)
    metadata = {**chunk.metadata, LEFT_OUT: True}
    end = chunk.start + len(text)
    return chunk.model_copy(update={"text": text, "end": end, "header": header, "metadata": metadata})


def _beginning(text: str, tokens: float) -> str:
    """Return the whole words at the beginning that have at most this number of tokens."""
    most = bisect_right(range(1, len(text) + 1), tokens, key=lambda end: estimate_tokens(text[:end]))
    words = text[: max(text.rfind(sign, 0, most) for sign in " \n\t|") + 1] if most < len(text) else ""
    return words if words.strip() else text[:most]


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


def sample_passages(chunks: Sequence[Chunk], ranking: Sequence[str], most: int, tokens: float) -> tuple[Chunk, ...]:
    """Return at most ``most`` chunks that fit into ``tokens`` tokens together, in order.

    The best of ``ranking`` come first, others are evenly spaced. A single chunk over the limit is cut.
    """
    ids = {chunk.id for chunk in chunks}
    best = [chunk_id for chunk_id in ranking if chunk_id in ids][:most]
    others = [chunk for chunk in chunks if chunk.id not in best]
    chosen = {*best, *(chunk.id for chunk in pick_evenly(others, most - len(best)))}
    sample = tuple(fitted(chunk, tokens) for chunk in chunks if chunk.id in chosen)
    if len(sample) > 1 and sum(estimate_tokens(chunk.reading_text) for chunk in sample) > tokens:
        return sample_passages(chunks, ranking, len(sample) - 1, tokens)
    return sample


def unread_passages(chunks: Sequence[Chunk], read: Collection[str]) -> tuple[Chunk, ...]:
    """Return the chunks without a mark in ``read`` (as in the context), or all chunks if all are read."""
    known = {mark.partition("/")[0] for mark in read}
    return tuple(chunk for chunk in chunks if chunk.id not in known) or tuple(chunks)


def pick_evenly(items: Sequence[T], most: int) -> Sequence[T]:
    """Return at most ``most`` evenly spaced items, including the first and the last."""
    if len(items) <= most:
        return items
    return [items[round(step * (len(items) - 1) / max(1, most - 1))] for step in range(most)]
