"""Cuts a parsed document into chunks: of all ways to cut it, the one with the fewest chunks and the best boundaries.

A document is first divided into pieces: sentences of prose, lines of lists and code, rows of tables. What it costs to
begin a chunk with a piece says how much that boundary takes apart: nothing before a heading, much between a caption and
its table. The chunks are then the partition of the pieces with the least cost, found by dynamic programming.

What is embedded for a chunk (its context line, its table's header, its text) never exceeds what the model reads; every
word of the document is in a chunk; ``parsed.text[chunk.start:chunk.end] == chunk.text`` holds by construction, since
chunks are spans until the last step.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from ingest.parser import Block, BlockKind, ParsedDocument
from vectorstore.models import Chunk, ChunkKind, PageSpan, TableHeader, Value

if TYPE_CHECKING:
    from llama_index.core.node_parser import SentenceSplitter

TokenCounter = Callable[[Sequence[str]], list[int]]

ALGORITHM = "sections-v3"
"""Changes when other chunks come out for the same settings, or are indexed otherwise (``vectorstore/bm25.py``), so that
collections do not mix them."""

_CHUNK_IDS = UUID("6f9b1d0e-58c1-5a6e-9f0b-6a5a1f0c7f11")
_CONTEXT_SHARE = 4  # the context line takes at most a quarter of the budget, a table's header at most a half
_HEADER_SHARE = 2
_PIECE_SHARE = 16  # sentences, lines and rows below a sixteenth of the budget go together
_CAPTION_SHARE = 5  # a paragraph beside a table is its caption if it takes at most a fifth of the budget
_TITLE_LENGTH = 120
_PDF = "application/pdf"
_TITLE_BEGINS = 500  # characters: a heading further down names its section, not the document

# What a partition costs: every chunk, the room that it leaves unused (as a share of the budget, squared), and the
# boundary that it begins at. The order of these is the principle; their values were found by trying.
_EACH_CHUNK = 0.5
_UNUSED = 1.0
_BEFORE_HEADING = 0.0
_BETWEEN_BLOCKS = 0.1
_BETWEEN_SENTENCES = 0.4
_BESIDE = 0.8  # between sentences and what they introduce or explain: a table, a list, a formula, a line of its own
_BETWEEN_LINES = 1.0  # of a table, an item, a verse
_INSIDE_SENTENCE = 1.5
_NEVER = 4.0  # after a heading or a table's header, in a table that fits a chunk: only where nothing else fits

_SENTENCE_ENDS = re.compile(r"(?<=[.!?…؟।])(?=\s)|(?<=[.!?…][\"'”’»)\]])(?=\s)|(?<=[。！？])|(?<=\n)")
_SENTENCE_END = re.compile(r"[.!?…؟।。！？][\"'”’»)\]]?\s*$")
_WORD = re.compile(r"[^\W\d_]{2}")
_LINE_STARTS = re.compile(r"(?<=\n)")


class Source(Value):
    """Which file chunks come from."""

    document_id: str
    path: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """A span that is not divided any more, and what it means to begin a chunk with it."""

    start: int
    end: int
    tokens: int
    kind: BlockKind
    section: tuple[str, ...]
    cost: float
    """Of the boundary before it."""
    continues: bool = False
    """Whether the boundary before it is inside of a block that can be read on from its last sentences."""
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
        self._overlap = min(overlap, budget // 4)
        self._parsed = parsed
        self._text = parsed.text
        self._source = source
        self._page_starts = [page.start for page in parsed.pages]
        self._contexts: dict[tuple[str, ...], tuple[tuple[str, ...], int]] = {}

    def chunks(self) -> list[Chunk]:
        """Divide into pieces, put them together at least cost, and divide again what turns out too long."""
        groups = self._partition(list(self._pieces()))
        chunks = [self._chunk(group, start) for group, start in zip(groups, self._starts(groups), strict=True)]
        within = list(self._within_budget(chunks))
        return [
            chunk.model_copy(update={"index": index, "id": _chunk_id(self._source, index)})
            for index, chunk in enumerate(within)
        ]

    # Titles and sections

    @cached_property
    def _title(self) -> str:
        """The document's own title, the heading that it begins with, or its file's name: the first that has a word.

        Headings of a PDF are guessed from the size of their letters, and are the same on every form of a kind ("UNITED
        STATES SECURITIES AND EXCHANGE COMMISSION"): there, the name that a person gave the file comes first.
        """
        stem = PurePosixPath(self._source.name).stem.replace("_", " ")
        heading = self._first_heading()
        guessed = [stem, heading] if self._parsed.mime_type == _PDF else [heading, stem]
        named = next((title for title in (self._parsed.title, *guessed) if _WORD.search(title)), stem)
        length = _TITLE_LENGTH
        while self._count([_shortened(named, length)])[0] > self._budget // _CONTEXT_SHARE and length > 1:
            length //= 2
        return _shortened(named, length)

    def _first_heading(self) -> str:
        """The first heading, if it stands where a title would, and is not a paragraph that was taken for a heading."""
        first = next((block for block in self._parsed.blocks if block.kind is BlockKind.HEADING), None)
        if first is None or first.start > _TITLE_BEGINS or first.end - first.start > 2 * _TITLE_LENGTH:
            return ""
        return self._of(first)

    def _sections(self) -> Iterator[tuple[Block, tuple[str, ...]]]:
        """Every block with the headings above it, its own included; the document's title is not repeated."""
        path: list[tuple[int, str]] = []
        for block in self._parsed.blocks:
            if block.kind is BlockKind.HEADING:
                path = [(level, text) for level, text in path if level < block.level]
                path.append((block.level, self._of(block)))
            names = [_shortened(text, _TITLE_LENGTH) for _, text in path]
            yield block, tuple(names[1:] if names and names[0] == self._title else names)

    def _context(self, section: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
        """The section without its outermost headings where they would crowd out the passage; the line's tokens."""
        if section not in self._contexts:
            path = " › ".join(part for part in (self._title, *section) if part)
            tokens = self._count([path])[0] if path else 0
            fits = not section or tokens <= self._budget // _CONTEXT_SHARE
            self._contexts[section] = (section, tokens) if fits else self._context(section[1:])
        return self._contexts[section]

    def _room(self, section: tuple[str, ...]) -> int:
        """Tokens left for a passage under its context line."""
        return self._budget - self._context(section)[1]

    def _of(self, block: Block) -> str:
        return self._text[block.start : block.end]

    # Division into pieces

    def _pieces(self) -> Iterator[_Piece]:
        """The blocks in order, divided."""
        blocks = list(self._sections())
        spans = [_spans(self._text, block.start, block.end, _ends(block.kind)) for block, _ in blocks]
        counts = iter(self._count([self._text[start:end] for block_spans in spans for start, end in block_spans]))
        counted = [[(start, end, next(counts)) for start, end in block_spans] for block_spans in spans]
        sizes = [sum(tokens for _, _, tokens in block_spans) for block_spans in counted]
        headings = 0  # tokens of the headings directly above
        for index, ((block, section), block_spans) in enumerate(zip(blocks, counted, strict=True)):
            cost = self._cost_before(index, sizes)
            room = self._room(section)
            beside = headings if headings <= room // 2 else 0
            first = _Piece(block.start, block.end, sizes[index], block.kind, section, cost)
            yield from self._divided(first, block, block_spans, room - beside)
            headings = headings + sizes[index] if block.kind is BlockKind.HEADING else 0

    def _cost_before(self, index: int, sizes: Sequence[int]) -> float:
        """Of beginning a chunk with the block of this index."""
        if index == 0:
            return 0.0
        above, block = self._parsed.blocks[index - 1 : index + 1]
        if above.kind is BlockKind.HEADING:
            return _NEVER
        if block.kind is BlockKind.HEADING:
            return _BEFORE_HEADING
        if BlockKind.TABLE not in (above.kind, block.kind) and (
            self._is_caption(index, index + 1, sizes) or self._is_caption(index - 1, index - 2, sizes)
        ):
            return _BETWEEN_BLOCKS  # it belongs to the table on its other side
        return _BETWEEN_BLOCKS if self._is_sentences(above) and self._is_sentences(block) else _BESIDE

    def _is_caption(self, index: int, beside: int, sizes: Sequence[int]) -> bool:
        """Whether a block is a short paragraph and the one beside it a table."""
        blocks = self._parsed.blocks
        return (
            0 <= beside < len(blocks)
            and (blocks[index].kind, blocks[beside].kind) == (BlockKind.PROSE, BlockKind.TABLE)
            and sizes[index] <= self._budget // _CAPTION_SHARE
        )

    def _is_sentences(self, block: Block) -> bool:
        """Whether a block ends as a sentence does; a formula, a line of a form, "as follows:" do not."""
        return block.kind is BlockKind.PROSE and self._ends_sentence(block.start, block.end)

    def _ends_sentence(self, start: int, end: int) -> bool:
        return bool(_SENTENCE_END.search(self._text[max(end - 8, start) : end]))

    def _cost_inside(self, whole: _Piece, start: int, room: int) -> float:
        """Of beginning a chunk inside of a block, at one of its pieces."""
        if whole.kind is BlockKind.TABLE and whole.tokens <= room:
            return _NEVER
        if whole.kind in (BlockKind.LIST, BlockKind.CODE):
            is_indented = self._text[start - 1] != "\n"
            return _BETWEEN_LINES if is_indented else _BETWEEN_SENTENCES
        if whole.kind is BlockKind.PROSE and self._ends_sentence(whole.start, start):
            return _BETWEEN_SENTENCES
        return _BETWEEN_LINES

    def _divided(
        self, whole: _Piece, block: Block, spans: Sequence[tuple[int, int, int]], room: int
    ) -> Iterator[_Piece]:
        """The pieces of a block; the first has the block's own boundary before it."""
        header, header_tokens = self._header(block, room)
        least = self._budget // _PIECE_SHARE
        inner = replace(
            whole,
            continues=whole.kind in (BlockKind.PROSE, BlockKind.LIST, BlockKind.CODE),
            header=header,
            header_tokens=header_tokens,
        )
        last: _Piece | None = None
        for start, end, tokens in spans:
            in_header = header is not None and start < header.end
            if last and (in_header or (last.tokens + tokens <= least and last.cost != _NEVER)):
                last = replace(last, end=end, tokens=last.tokens + tokens)
                continue
            if last:
                yield last
            after_header = header is not None and last is not None and last.end <= header.end
            cost = self._cost_inside(whole, start, room) if last else whole.cost
            piece = replace(inner if last else whole, start=start, end=end, tokens=tokens, cost=cost)
            last = replace(piece, cost=_NEVER) if after_header else piece
            if tokens > room - header_tokens:
                *parts, last = self._parts(last, inner, room - header_tokens)
                yield from parts
        if last:
            yield last

    def _parts(self, piece: _Piece, inner: _Piece, room: int) -> list[_Piece]:
        """Parts of about equal size, of at most ``room`` tokens, of a sentence, line or row that exceeds it."""
        limit = -(-piece.tokens // -(-piece.tokens // room))
        spans = self._split(piece.start, piece.end, min(limit + limit // 8, room))
        counts = self._count([self._text[start:end] for start, end in spans])
        begins = [piece, *[replace(inner, cost=_INSIDE_SENTENCE)] * (len(spans) - 1)]
        return [
            replace(begin, start=start, end=end, tokens=tokens)
            for begin, (start, end), tokens in zip(begins, spans, counts, strict=True)
        ]

    def _header(self, block: Block, room: int) -> tuple[TableHeader | None, int]:
        """The table's header and its tokens; none where it would crowd out the rows."""
        if block.header_end is None:
            return None, 0
        text = self._text[block.start : block.header_end]
        tokens = self._count([text])[0]
        if tokens > room // _HEADER_SHARE:
            return None, 0
        return TableHeader(text=text, start=block.start, end=block.header_end), tokens

    def _split(self, start: int, end: int, room: int) -> list[tuple[int, int]]:
        """Spans of at most ``room`` tokens, cut between phrases or words where that is possible."""
        splitter = _sentence_splitter(self._count, room)
        spans: list[tuple[int, int]] = []
        for part in splitter.split_text(self._text[start:end]):
            start = self._text.index(part, start)
            spans.append((start, start + len(part)))
            start += len(part)
        return spans

    # Packing

    def _partition(self, pieces: Sequence[_Piece]) -> list[Sequence[_Piece]]:
        """The pieces of each chunk: of all partitions that fit the budget, the one of least cost."""
        costs = [0.0, *[inf] * len(pieces)]  # of the best partition of the first so many pieces
        begins = [0] * (len(pieces) + 1)  # where its last chunk begins
        for first in range(len(pieces)):
            for end, cost in self._candidates(pieces, first):
                if costs[first] + cost < costs[end]:
                    costs[end], begins[end] = costs[first] + cost, first
        groups: list[Sequence[_Piece]] = []
        end = len(pieces)
        while end:
            groups.append(pieces[begins[end] : end])
            end = begins[end]
        return groups[::-1]

    def _candidates(self, pieces: Sequence[_Piece], first: int) -> Iterator[tuple[int, float]]:
        """The chunks that can begin with a piece: where each ends, and what it costs."""
        begin = pieces[first]
        budget = self._budget - (self._overlap if begin.continues else 0)
        tokens = begin.header_tokens
        section = _Section(begin)
        for end in range(first + 1, len(pieces) + 1):
            piece = pieces[end - 1]
            section.add(piece)
            tokens += piece.tokens
            needed = tokens + self._context(section.path)[1]
            if needed <= budget or end == first + 1:
                yield end, begin.cost + _EACH_CHUNK + _UNUSED * (1 - needed / budget) ** 2
            elif tokens > budget:
                return

    def _starts(self, groups: Sequence[Sequence[_Piece]]) -> Iterator[int]:
        """Where each chunk begins: one that reads on in a paragraph repeats whole sentences, if overlap was chosen."""
        earlier = 0
        for group in groups:
            start = group[0].start
            if self._overlap and group[0].continues:
                begins = [begin for begin, _ in _spans(self._text, earlier, start, _ends(group[0].kind))]
                texts = [self._text[begin:start] for begin in begins[1:]]
                counts = zip(begins[1:], self._count(texts), strict=True)
                start = min((begin for begin, tokens in counts if tokens <= self._overlap), default=start)
            yield start
            earlier = group[0].start

    # Chunks

    def _chunk(self, group: Sequence[_Piece], start: int) -> Chunk:
        end = group[-1].end
        section = _Section(group[0])
        for piece in group:
            section.add(piece)
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
            section=self._context(section.path)[0],
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
                room = max(self._count([chunk.text])[0] - (tokens - self._budget), 1)
                spans = self._split(chunk.start, chunk.end, room)
                parts = [
                    chunk.model_copy(
                        update={
                            "text": self._text[start:end],
                            "start": start,
                            "end": end,
                            "page_spans": self._pages(start, end),
                        }
                    )
                    for start, end in spans
                ]
                yield from self._within_budget(parts)


class _Section:
    """The path of a chunk that grows: what names its passage and does not stand in its text."""

    def __init__(self, first: _Piece) -> None:
        self._begins_with_heading = first.kind is BlockKind.HEADING
        self._above = first.section[:-1] if self._begins_with_heading else first.section
        self._has_text = False
        self.path = first.section

    def add(self, piece: _Piece) -> None:
        """Take the next piece in. A chunk that begins with a heading is under what all of its sections share."""
        is_heading = piece.kind is BlockKind.HEADING
        if self._begins_with_heading and piece.section != self.path and not (is_heading and self._has_text):
            shared = _common(self.path, piece.section) if self._has_text else piece.section
            self.path = max(shared, self._above, key=len)
        self._has_text = self._has_text or not is_heading


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """What two paths begin with."""
    same = [first == second for first, second in zip(one, other, strict=False)]
    return one[: same.index(False) if False in same else len(same)]


def _ends(kind: BlockKind) -> re.Pattern[str]:
    """Where a block of this kind may be divided."""
    return _LINE_STARTS if kind in (BlockKind.LIST, BlockKind.CODE, BlockKind.TABLE) else _SENTENCE_ENDS


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


def _sentence_splitter(count_tokens: TokenCounter, room: int) -> SentenceSplitter:
    """llama-index's splitter with our tokenizer and sentence ends: its own would look for data on the network."""
    from llama_index.core.node_parser import SentenceSplitter

    return SentenceSplitter(
        chunk_size=room,
        chunk_overlap=0,
        paragraph_separator="\n\n",
        tokenizer=lambda text: range(count_tokens([text])[0]),
        chunking_tokenizer_fn=lambda text: [part for part in _SENTENCE_ENDS.split(text) if part],
    )


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
