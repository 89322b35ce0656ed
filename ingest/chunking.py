"""Cuts a parsed document into chunks: whole sections where they fit, else blocks, sentences, rows and lines.

What is embedded for a chunk (its context line, its table's header, its text) never exceeds what the model reads; every
word of the document is in a chunk; ``parsed.text[chunk.start:chunk.end] == chunk.text`` holds by construction, since
chunks are spans until the last step.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from ingest.parser import Block, BlockKind, ParsedDocument
from vectorstore.models import Chunk, ChunkKind, PageSpan, TableHeader, Value

if TYPE_CHECKING:
    from llama_index.core.node_parser import SentenceSplitter

TokenCounter = Callable[[Sequence[str]], list[int]]

ALGORITHM = "sections-v1"
"""Changes when other chunks come out for the same settings, so that collections do not mix them."""

_CHUNK_IDS = UUID("6f9b1d0e-58c1-5a6e-9f0b-6a5a1f0c7f11")
_CONTEXT_SHARE = 3  # the context line takes at most a third of the budget, a table's header at most a half
_HEADER_SHARE = 2
_SMALL_SHARE = 4  # a section below a quarter of the budget shares its chunk with the next one
_TITLE_LENGTH = 120
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])(?=\s)|(?<=[。！？])|(?<=\n)")
_LINE_STARTS = re.compile(r"(?<=\n)")


class Source(Value):
    """Which file chunks come from."""

    document_id: str
    path: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """A span that is not divided any more, with the header it needs when it does not begin its table."""

    start: int
    end: int
    tokens: int
    kind: BlockKind
    section: tuple[str, ...]
    header: TableHeader | None = None
    header_tokens: int = 0


class Chunker:
    """Chunks for one embedding model: ``count_tokens`` is its tokenizer's, ``budget`` what it reads at most."""

    def __init__(self, count_tokens: TokenCounter, budget: int, overlap: int = 0) -> None:
        self._count = count_tokens
        self._budget = budget
        self._overlap = overlap

    @property
    def fingerprint(self) -> str:
        """Names the way of chunking; equal fingerprints give equal chunks."""
        return f"{ALGORITHM}/{self._budget}" + (f"/overlap-{self._overlap}" if self._overlap else "")

    def chunk(self, parsed: ParsedDocument, source: Source) -> list[Chunk]:
        """The document's chunks in order."""
        return _Chunking(self._count, self._budget, self._overlap, parsed, source).chunks()


class _Chunking:
    """The chunking of one document."""

    def __init__(
        self, count_tokens: TokenCounter, budget: int, overlap: int, parsed: ParsedDocument, source: Source
    ) -> None:
        self._count = count_tokens
        self._budget = budget
        self._overlap = overlap
        self._parsed = parsed
        self._text = parsed.text
        self._source = source
        self._page_starts = [page.start for page in parsed.pages]

    def chunks(self) -> list[Chunk]:
        """Divide into pieces, pack them, and divide again what turns out too long."""
        chunks = [self._chunk(group) for group in self._groups()]
        within = list(self._within_budget(chunks))
        return [
            chunk.model_copy(update={"index": index, "id": _chunk_id(self._source, index)})
            for index, chunk in enumerate(within)
        ]

    # Titles and sections

    @cached_property
    def _title(self) -> str:
        """The document's own title, its first heading, or its file's name; a number alone is no title."""
        headings = (self._of(block) for block in self._parsed.blocks if block.kind is BlockKind.HEADING)
        stem = PurePosixPath(self._source.name).stem.replace("_", " ")
        candidates = [self._parsed.title, next(headings, ""), stem]
        named = next((title for title in candidates if any(character.isalpha() for character in title)), stem)
        return _shortened(named, self._budget // _CONTEXT_SHARE * 4)

    def _sections(self) -> Iterator[tuple[Block, tuple[str, ...]]]:
        """Every block with the headings above it, its own included; the document's title is not repeated."""
        path: list[tuple[int, str]] = []
        for block in self._parsed.blocks:
            if block.kind is BlockKind.HEADING:
                path = [(level, text) for level, text in path if level < block.level]
                path.append((block.level, self._of(block)))
            names = [_shortened(text, _TITLE_LENGTH) for _, text in path]
            yield block, tuple(names[1:] if names and names[0] == self._title else names)

    def _context(self, section: tuple[str, ...]) -> tuple[str, ...]:
        """The section path, without its outermost headings where they would crowd out the passage."""
        while section and self._context_tokens(section) > self._budget // _CONTEXT_SHARE:
            section = section[1:]
        return section

    def _context_tokens(self, section: tuple[str, ...]) -> int:
        if section not in self._context_costs:
            path = " › ".join(part for part in (self._title, *section) if part)
            self._context_costs[section] = self._count([path])[0] if path else 0
        return self._context_costs[section]

    @cached_property
    def _context_costs(self) -> dict[tuple[str, ...], int]:
        return {}

    def _room(self, section: tuple[str, ...]) -> int:
        """Tokens left for a passage under its context line."""
        return self._budget - self._context_tokens(section)

    def _of(self, block: Block) -> str:
        return self._text[block.start : block.end]

    # Division into pieces

    def _pieces(self) -> Iterator[_Piece]:
        """The blocks in order, those that do not fit a chunk divided."""
        blocks = list(self._sections())
        counts = self._count([self._of(block) for block, _ in blocks])
        headings = 0
        for (block, path), tokens in zip(blocks, counts, strict=True):
            section = self._context(path)
            piece = _Piece(block.start, block.end, tokens, block.kind, section)
            yield from self._fitting(piece, block, self._room(section), headings)
            headings = headings + tokens if block.kind is BlockKind.HEADING else 0

    def _fitting(self, piece: _Piece, block: Block, room: int, headings: int) -> Iterator[_Piece]:
        """The piece, or its parts if it exceeds its room; prose leaves room for the headings that it stands under."""
        beside = headings if headings <= room // 2 else 0
        if piece.tokens <= room - beside or (piece.tokens <= room and piece.kind is not BlockKind.PROSE):
            yield piece
        elif piece.kind is BlockKind.TABLE:
            yield from self._table_pieces(piece, block, room, beside)
        else:
            yield from self._divided(piece, room - beside)

    def _table_pieces(self, table: _Piece, block: Block, room: int, beside: int) -> Iterator[_Piece]:
        """The table in parts of about equal size; those after the first carry the header."""
        header, header_tokens = self._header(block, room)
        rows = self._rows(table, header.end if header else block.start, room - header_tokens)
        limit = _balanced(sum(row.tokens for row in rows), room - header_tokens - beside)
        part: list[_Piece] = []
        is_first = True
        for row in rows:
            if part and sum(member.tokens for member in part) + row.tokens > limit:
                yield _table_part(part, block, header, header_tokens, is_first=is_first)
                part, is_first = [], False
            part.append(row)
        if part:
            yield _table_part(part, block, header, header_tokens, is_first=is_first)

    def _rows(self, table: _Piece, start: int, room: int) -> list[_Piece]:
        """The lines of the table from ``start``; a line longer than a chunk in parts."""
        spans = _spans(self._text, start, table.end, _LINE_STARTS)
        counts = self._count([self._text[begin:end] for begin, end in spans])
        rows: list[_Piece] = []
        for (begin, end), tokens in zip(spans, counts, strict=True):
            row = replace(table, start=begin, end=end, tokens=tokens)
            rows.extend([row] if tokens <= room else self._divided(row, room))
        return rows

    def _header(self, block: Block, room: int) -> tuple[TableHeader | None, int]:
        """The table's header and its tokens; none where it would crowd out the rows."""
        if block.header_end is None:
            return None, 0
        text = self._text[block.start : block.header_end]
        tokens = self._count([text])[0]
        if tokens > room // _HEADER_SHARE:
            return None, 0
        return TableHeader(text=text, start=block.start, end=block.header_end), tokens

    def _divided(self, piece: _Piece, room: int) -> Iterator[_Piece]:
        """Parts of at most ``room`` tokens: lines of lists and code, sentences of everything else."""
        ends = _LINE_STARTS if piece.kind in (BlockKind.LIST, BlockKind.CODE) else _SENTENCE_ENDS
        overlap = min(self._overlap, room // 2)
        splitter = _sentence_splitter(self._count, room - overlap, ends)
        spans: list[tuple[int, int]] = []
        position = piece.start
        for part in splitter.split_text(self._text[piece.start : piece.end]):
            start = self._text.index(part, position)
            position = start + len(part)
            spans.append((start, position))
        spans = list(self._overlapping(spans, overlap, ends))
        counts = self._count([self._text[start:end] for start, end in spans])
        for (start, end), tokens in zip(spans, counts, strict=True):
            yield replace(piece, start=start, end=end, tokens=tokens)

    def _overlapping(
        self, spans: Sequence[tuple[int, int]], overlap: int, ends: re.Pattern[str]
    ) -> Iterator[tuple[int, int]]:
        """The spans, each but the first begun with whole sentences of the one before, of ``overlap`` tokens at most.

        llama-index overlaps by itself, but gives texts, and a text that repeats cannot be located for certain.
        """
        yield from spans[:1]
        for (earlier, _), (start, end) in pairwise(spans):
            begins = [begin for begin, _ in _spans(self._text, earlier, start, ends)] if overlap else []
            repeated = [begin for begin in begins[1:] if self._count([self._text[begin:start]])[0] <= overlap]
            yield min(repeated, default=start), end

    # Packing

    def _groups(self) -> Iterator[list[_Piece]]:
        """The pieces of each chunk: those of a section together; a small section shares a chunk with the next."""
        last: list[_Piece] = []
        for unit in _units(self._pieces()):
            parts = self._packed(unit)
            if last and len(parts) == 1 and self._shares(last, parts[0]):
                last = [*last, *parts[0]]
                continue
            if last:
                yield last
            yield from parts[:-1]
            last = parts[-1]
        if last:
            yield last

    def _packed(self, unit: Sequence[_Piece]) -> list[list[_Piece]]:
        """The pieces of one section in as few chunks as their order allows."""
        groups: list[list[_Piece]] = []
        for piece in unit:
            if groups and self._fits([*groups[-1], piece]):
                groups[-1].append(piece)
            else:
                groups.append([piece])
        return groups

    def _shares(self, group: Sequence[_Piece], more: Sequence[_Piece]) -> bool:
        """Whether two sections belong in one chunk: side by side, one of them small, both fitting."""
        small = self._budget // _SMALL_SHARE
        sizes = [sum(piece.tokens for piece in part) for part in (group, more)]
        siblings = group[0].section[:-1] == more[0].section[: max(len(group[0].section) - 1, 0)]
        return min(sizes) < small and siblings and self._fits([*group, *more])

    def _fits(self, group: Sequence[_Piece]) -> bool:
        """Whether the pieces can be one span in one chunk."""
        if any(second.start < first.end for first, second in pairwise(group)):
            return False  # the second repeats words of the first
        if any(piece.header != group[0].header for piece in group):
            return False
        tokens = sum(piece.tokens for piece in group) + group[0].header_tokens
        return tokens <= min(self._room(piece.section) for piece in group)

    # Chunks

    def _chunk(self, group: Sequence[_Piece]) -> Chunk:
        start, end = group[0].start, group[-1].end
        return Chunk(
            id="",
            document_id=self._source.document_id,
            document=self._source.path,
            name=self._source.name,
            version=self._source.version,
            index=0,
            text=self._text[start:end],
            start=start,
            end=end,
            kind=_kind(group),
            title=self._title,
            section=_section(group),
            page_spans=self._pages(start, end),
            header=group[0].header,
            metadata=self._parsed.metadata,
        )

    def _pages(self, start: int, end: int) -> tuple[PageSpan, ...]:
        """The parts of pages that the span covers."""
        first = max(bisect_right(self._page_starts, start) - 1, 0)
        return tuple(
            PageSpan(number=page.number, start=max(page.start, start), end=min(page.end, end))
            for page in self._parsed.pages[first : bisect_right(self._page_starts, end - 1)]
            if page.start < end and start < page.end
        )

    def _within_budget(self, chunks: Sequence[Chunk]) -> Iterator[Chunk]:
        """The chunks; one that its tokenizer counts longer than its parts is divided once more."""
        counts = self._count([chunk.embedded_text for chunk in chunks])
        for chunk, tokens in zip(chunks, counts, strict=True):
            if tokens <= self._budget or len(chunk.text) == 1:
                yield chunk
            else:
                excess = tokens - self._budget
                own = self._count([chunk.text])[0]
                kind = BlockKind(chunk.kind.value)
                piece = _Piece(chunk.start, chunk.end, own, kind, chunk.section, chunk.header)
                parts = self._divided(piece, max(own - excess, 1))
                yield from self._within_budget([self._chunk([part]) for part in parts])


def _chunk_id(source: Source, index: int) -> str:
    return str(uuid5(_CHUNK_IDS, f"{source.document_id}/{source.version}/{index}"))


def _spans(text: str, start: int, end: int, boundary: re.Pattern[str]) -> list[tuple[int, int]]:
    """The non-blank parts of text[start:end] between boundaries, without the blanks around them."""
    spans = []
    position = start
    for part in boundary.split(text[start:end]):
        left = len(part) - len(part.lstrip())
        if part.strip():
            spans.append((position + left, position + left + len(part.strip())))
        position += len(part)
    return spans


def _sentence_splitter(count_tokens: TokenCounter, room: int, ends: re.Pattern[str]) -> SentenceSplitter:
    """llama-index's splitter with our tokenizer and sentence ends: its own would look for data on the network."""
    from llama_index.core.node_parser import SentenceSplitter

    return SentenceSplitter(
        chunk_size=room,
        chunk_overlap=0,
        paragraph_separator="\n\n",
        tokenizer=lambda text: range(count_tokens([text])[0]),
        chunking_tokenizer_fn=lambda text: [part for part in ends.split(text) if part],
    )


def _units(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    """The pieces by section; headings without text of their own go with the section that follows."""
    unit: list[_Piece] = []
    for piece in pieces:
        has_text = any(member.kind is not BlockKind.HEADING for member in unit)
        if has_text and (piece.kind is BlockKind.HEADING or piece.section != unit[-1].section):
            yield unit
            unit = []
        unit.append(piece)
    if unit:
        yield unit


def _section(group: Sequence[_Piece]) -> tuple[str, ...]:
    """What the paths of the pieces have in common, headings at the beginning aside."""
    text = [piece for piece in group if piece.kind is not BlockKind.HEADING] or group[-1:]
    common = text[0].section
    for piece in text:
        same = [first == second for first, second in zip(common, piece.section, strict=False)]
        common = common[: same.index(False) if False in same else len(same)]
    return common


def _balanced(tokens: int, room: int) -> int:
    """How much goes into each of the fewest parts of equal size."""
    parts = -(-tokens // max(room, 1))
    return min(-(-tokens // max(parts, 1)) + room // 8, room)


def _table_part(
    rows: Sequence[_Piece], block: Block, header: TableHeader | None, header_tokens: int, *, is_first: bool
) -> _Piece:
    tokens = sum(row.tokens for row in rows)
    if header is None or not is_first:
        return replace(rows[0], end=rows[-1].end, tokens=tokens, header=header, header_tokens=header_tokens)
    return replace(rows[0], start=block.start, end=rows[-1].end, tokens=tokens + header_tokens)


def _kind(group: Sequence[_Piece]) -> ChunkKind:
    """The form of most of the passage, headings aside."""
    sizes: dict[BlockKind, int] = {}
    for piece in group:
        if piece.kind is not BlockKind.HEADING:
            sizes[piece.kind] = sizes.get(piece.kind, 0) + piece.end - piece.start
    return ChunkKind(max(sizes, key=lambda kind: sizes[kind]).value) if sizes else ChunkKind.PROSE


def _shortened(text: str, length: int) -> str:
    """At most ``length`` characters, cut between words."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    return text[: max(length - 1, 1)].rsplit(" ", 1)[0] + "…"
