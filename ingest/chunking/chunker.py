"""Cuts a parsed document into chunks: of all ways to cut it, the one with the fewest chunks and the best boundaries.

A document is first divided into pieces, each with what it costs to begin a chunk with it (``pieces.py``). The chunks
are then the partition of the pieces with the least cost, found by dynamic programming. What its context line says of
where a chunk stands is the business of ``outline.py``.

What is embedded for a chunk (its context line, its table's header, its text) never exceeds what the model reads; every
word of the document is in a chunk; ``parsed.text[chunk.start:chunk.end] == chunk.text`` holds by construction, since
chunks are spans until the last step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import inf
from uuid import UUID, uuid5

from ingest.chunking.outline import Outline, TokenCounter
from ingest.chunking.segments import Division, Segment, boundary_of, divide
from ingest.document import BlockKind, ParsedDocument
from vectorstore.models import Chunk, ChunkKind, FrozenModel, PageSpan

ALGORITHM = "sections-v3"
"""Changes when the same settings give other chunks, or ``vectorstore/text/bm25.py`` indexes them differently, so that
collections do not mix them."""

_CHUNK_IDS = UUID("6f9b1d0e-58c1-5a6e-9f0b-6a5a1f0c7f11")

# What a partition costs beside its boundaries (``pieces.py``): every chunk, and the room that it leaves unused, as a
# share of the budget, squared.
_EACH_CHUNK = 0.5
_UNUSED = 1.0


class Source(FrozenModel):
    """Which file chunks come from."""

    document_id: str
    path: str
    name: str
    version: str


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
        self._outline = Outline(count_tokens, budget, parsed, source.name)
        self._division = Division(count_tokens, budget, parsed, self._outline)

    def chunks(self) -> list[Chunk]:
        """Divide into pieces, put them together at least cost, and divide again what turns out too long."""
        groups = self._partition(list(self._division.pieces()))
        chunks = [self._chunk(group, start) for group, start in zip(groups, self._starts(groups), strict=True)]
        within = list(self._within_budget(chunks))
        return [
            chunk.model_copy(update={"index": index, "id": _chunk_id(self._source, index)})
            for index, chunk in enumerate(within)
        ]

    # Packing

    def _partition(self, pieces: Sequence[Segment]) -> list[Sequence[Segment]]:
        """The pieces of each chunk: of all partitions that fit the budget, the one of least cost."""
        costs = [0.0, *[inf] * len(pieces)]  # of the best partition of the first so many pieces
        begins = [0] * (len(pieces) + 1)  # where its last chunk begins
        for first in range(len(pieces)):
            for end, cost in self._candidates(pieces, first):
                if costs[first] + cost < costs[end]:
                    costs[end], begins[end] = costs[first] + cost, first
        groups: list[Sequence[Segment]] = []
        end = len(pieces)
        while end:
            groups.append(pieces[begins[end] : end])
            end = begins[end]
        return groups[::-1]

    def _candidates(self, pieces: Sequence[Segment], first: int) -> Iterator[tuple[int, float]]:
        """The chunks that can begin with a piece: where each ends, and what it costs."""
        begin = pieces[first]
        budget = self._budget - (self._overlap if begin.continues else 0)
        tokens = begin.header_tokens
        section = _Section(begin)
        for end in range(first + 1, len(pieces) + 1):
            piece = pieces[end - 1]
            section.add(piece)
            tokens += piece.tokens
            needed = tokens + self._outline.context(section.path)[1]
            if needed <= budget or end == first + 1:
                yield end, begin.cost + _EACH_CHUNK + _UNUSED * (1 - needed / budget) ** 2
            elif tokens > budget:
                return

    def _starts(self, groups: Sequence[Sequence[Segment]]) -> Iterator[int]:
        """Where each chunk begins: one that reads on in a paragraph repeats whole sentences, if overlap was chosen."""
        earlier = 0
        for group in groups:
            start = group[0].start
            if self._overlap and group[0].continues:
                begins = [begin for begin, _ in divide(self._text, earlier, start, boundary_of(group[0].kind))]
                texts = [self._text[begin:start] for begin in begins[1:]]
                counts = zip(begins[1:], self._count(texts), strict=True)
                start = min((begin for begin, tokens in counts if tokens <= self._overlap), default=start)
            yield start
            earlier = group[0].start

    # Chunks

    def _chunk(self, group: Sequence[Segment], start: int) -> Chunk:
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
            title=self._outline.title,
            section=self._outline.context(section.path)[0],
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
                spans = self._division.split(chunk.start, chunk.end, room)
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

    def __init__(self, first: Segment) -> None:
        self._begins_with_heading = first.kind is BlockKind.HEADING
        self._above = first.section[:-1] if self._begins_with_heading else first.section
        self._has_text = False
        self.path = first.section

    def add(self, piece: Segment) -> None:
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


def _chunk_id(source: Source, index: int) -> str:
    return str(uuid5(_CHUNK_IDS, f"{source.document_id}/{source.version}/{index}"))


def _kind(group: Sequence[Segment]) -> ChunkKind:
    """The form of most of the passage, headings aside."""
    sizes: dict[BlockKind, int] = {}
    for piece in group:
        if piece.kind is not BlockKind.HEADING:
            sizes[piece.kind] = sizes.get(piece.kind, 0) + piece.end - piece.start
    return ChunkKind(max(sizes, key=lambda kind: sizes[kind]).value) if sizes else ChunkKind.PROSE
