"""Splits a parsed document into few chunks and keeps related text together.

``segments.py`` splits the document into segments and assigns each the cost of starting a chunk there. Dynamic
programming finds the partition of the segments into chunks with the lowest cost. ``segments.py`` builds the context
lines.

The embedded text of a chunk (context line, table header, text) never exceeds the model's limit. Chunks cover every word
of the document except tables of contents. A document that is only a table of contents is chunked as a list.
``parsed.text[chunk.start:chunk.end] == chunk.text``, because chunks are spans until the last step.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, groupby
from math import inf
from uuid import UUID, uuid5

from base.models import FrozenModel
from ingest.chunking.segments import Outline, Segment, Segmenter, TokenCounter, boundary_of
from ingest.document import TITLE, BlockKind, ParsedDocument
from vectorstore.models import Chunk, ChunkKind, PageSpan, Scalar, SectionStart
from vectorstore.text.sentences import divide

ALGORITHM = "sections-v6"
"""Version of the chunking algorithm.

Change it when the same settings produce different chunks, or when ``ingest/facts/`` finds different facts. The next
ingest then reads the documents again. For the words of chunks, ``vectorstore/text/bm25.py`` has a version of its own.
"""

_CHUNK_IDS = UUID("6f9b1d0e-58c1-5a6e-9f0b-6a5a1f0c7f11")

# Costs in addition to the boundary costs in ``segments.py``: a fixed cost per chunk, and the weight of the squared
# share of the budget that the chunk leaves unused.
_EACH_CHUNK = 0.5
_UNUSED = 1.0


LETTERS_PER_TOKEN = 16
"""Letters that count as at least one token. For some models, a word of any length is one unknown token."""


class Source(FrozenModel):
    """The file of a document."""

    document_id: str
    path: str
    name: str
    version: str


class Chunker:
    """Splits documents into chunks for one embedding model.

    ``count_tokens`` counts tokens with the model's tokenizer. ``budget`` is the maximum number of tokens per chunk.
    """

    def __init__(self, count_tokens: TokenCounter, budget: int, overlap: int = 0) -> None:
        self.count_tokens, self.budget, self.overlap = count_tokens, budget, overlap

    @property
    def fingerprint(self) -> str:
        """Name of the algorithm and its settings. Chunkers with the same fingerprint produce the same chunks."""
        return f"{ALGORITHM}/{self.budget}" + (f"/overlap-{self.overlap}" if self.overlap else "")

    def chunk(self, parsed: ParsedDocument, source: Source) -> list[Chunk]:
        """Return the document's chunks in order."""
        return _Chunking(self.count_tokens, self.budget, self.overlap, parsed, source).chunks()


class _Chunking:
    """The chunking of one document."""

    def __init__(
        self, count_tokens: TokenCounter, budget: int, overlap: int, parsed: ParsedDocument, source: Source
    ) -> None:
        self._count = count_tokens = partial(_count_with_letters, count_tokens)
        self._budget = budget
        self._overlap = min(overlap, budget // 4)
        contents = [block.start for block in parsed.blocks if block.kind is BlockKind.CONTENTS]
        parsed = _without_contents(parsed)
        self._parsed = parsed
        self._contents = contents
        self._text = parsed.text
        self._source = source
        facts: dict[str, Scalar] = {name: fact.value for name, fact in parsed.facts.items() if name != TITLE}
        self._metadata = facts | parsed.metadata
        self._page_starts = [page.start for page in parsed.pages]
        self._outline = Outline(count_tokens, budget, parsed, source.name)
        self._segmenter = Segmenter(count_tokens, budget, parsed, self._outline)

    def chunks(self) -> list[Chunk]:
        """Return the chunks: join segments at the lowest cost, then split chunks that exceed the budget."""
        runs = groupby(self._segmenter.segments(), key=lambda segment: bisect_right(self._contents, segment.start))
        groups = [group for _, run in runs for group in self._partition(list(run))]
        chunks = [self._chunk(group, start) for group, start in zip(groups, self._starts(groups), strict=True)]
        within = list(self._within_budget(chunks))
        identity = f"{self._source.document_id}/{self._source.version}"
        return [
            chunk.model_copy(update={"index": index, "id": str(uuid5(_CHUNK_IDS, f"{identity}/{index}"))})
            for index, chunk in enumerate(within)
        ]

    # Packing

    def _partition(self, segments: Sequence[Segment]) -> list[Sequence[Segment]]:
        """Return the segments of each chunk. Chooses the partition with the lowest cost that fits the budget."""
        costs = [0.0, *[inf] * len(segments)]  # costs[n]: cost of the best partition of the first n segments
        begins = [0] * (len(segments) + 1)  # begins[n]: first segment of the last chunk of that partition
        for first in range(len(segments)):
            for end, cost in self._candidates(segments, first):
                if costs[first] + cost < costs[end]:
                    costs[end], begins[end] = costs[first] + cost, first
        groups: list[Sequence[Segment]] = []
        end = len(segments)
        while end:
            groups.append(segments[begins[end] : end])
            end = begins[end]
        return groups[::-1]

    def _candidates(self, segments: Sequence[Segment], first: int) -> Iterator[tuple[int, float]]:
        """Yield the end and the cost of each chunk that can start with the segment at index ``first``."""
        begin = segments[first]
        budget = self._budget - (self._overlap if begin.continues else 0)
        tokens = begin.header_tokens
        section = _Section(begin)
        for end in range(first + 1, len(segments) + 1):
            section.add(segments[end - 1])
            tokens += segments[end - 1].tokens
            needed = tokens + self._outline.context(section.path)[1]
            if needed <= budget or end == first + 1:
                yield end, begin.cost + _EACH_CHUNK + _UNUSED * (1 - needed / budget) ** 2
            elif tokens > budget:
                return

    def _starts(self, groups: Sequence[Sequence[Segment]]) -> Iterator[int]:
        """Yield the start of each chunk. With overlap, a chunk that continues a paragraph repeats whole sentences."""
        previous = 0
        for group in groups:
            start = group[0].start
            if self._overlap and group[0].continues:
                begins = self._near(previous, start, boundary_of(group[0].kind))
                counts = zip(begins, self._count([self._text[begin:start] for begin in begins]), strict=True)
                start = min((begin for begin, tokens in counts if tokens <= self._overlap), default=start)
            yield start
            previous = group[0].start

    def _near(self, previous: int, start: int, boundary: re.Pattern[str]) -> list[int]:
        """Return the sentences after the first one that begin close enough to ``start`` to be repeated.

        Counting the text from each sentence of the chunk to its end would take a time that grows with its square.
        """
        spans = divide(self._text, previous, start, boundary)[1:]
        counts = self._count([self._text[begin:end] for begin, end in spans])
        tokens_left = accumulate(reversed(counts))
        return [
            begin
            for (begin, _), tokens in zip(reversed(spans), tokens_left, strict=True)
            if tokens <= 2 * self._overlap
        ]

    # Chunks

    def _chunk(self, group: Sequence[Segment], start: int) -> Chunk:
        end = group[-1].end
        section = _Section(group[0])
        for segment in group:
            section.add(segment)
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
            about=self._outline.about,
            section=self._outline.context(section.path)[0],
            sections=tuple(_section_starts(section.path, group)),
            page_spans=self._pages(start, end),
            header=group[0].header,
            metadata=self._metadata,
        )

    def _pages(self, start: int, end: int) -> tuple[PageSpan, ...]:
        """Return the parts of pages that the span covers."""
        first = max(bisect_right(self._page_starts, start) - 1, 0)
        return tuple(
            page.model_copy(update={"start": max(page.start, start), "end": min(page.end, end)})
            for page in self._parsed.pages[first : bisect_right(self._page_starts, end - 1)]
            if page.start < end and start < page.end
        )

    def _within_budget(self, chunks: Sequence[Chunk]) -> Iterator[Chunk]:
        """Yield chunks that fit the budget. Splits chunks whose joined text has more tokens than its segments."""
        counts = self._count([chunk.embedded_text for chunk in chunks])
        for chunk, tokens in zip(chunks, counts, strict=True):
            if tokens <= self._budget or len(chunk.text) == 1:
                yield chunk
            else:
                room = max(self._count([chunk.text])[0] - (tokens - self._budget), 1)
                spans = self._segmenter.split(chunk.start, chunk.end, room)
                while len(spans) == 1 and room > 1:  # the tokens of its words add up to less than those of the whole
                    room //= 2
                    spans = self._segmenter.split(chunk.start, chunk.end, room)
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


def _count_with_letters(count_tokens: TokenCounter, texts: Sequence[str]) -> list[int]:
    """Count the tokens of texts, at least one for ``LETTERS_PER_TOKEN`` letters. Spaces do not count."""
    counts = zip(texts, count_tokens(texts), strict=True)
    return [max(tokens, sum(map(len, text.split())) // LETTERS_PER_TOKEN) for text, tokens in counts]


class _Section:
    """The section path of a growing chunk, which contains the headings above all of its text."""

    def __init__(self, first: Segment) -> None:
        self._begins_with_heading = first.kind is BlockKind.HEADING
        self._above = first.section[:-1] if self._begins_with_heading else first.section
        self._has_text = False
        self.path = first.section

    def add(self, segment: Segment) -> None:
        """Add the next segment. If the chunk starts with a heading, its path is the common path of its sections."""
        is_heading = segment.kind is BlockKind.HEADING
        if self._begins_with_heading and segment.section != self.path and not (is_heading and self._has_text):
            shared = _common_prefix(self.path, segment.section) if self._has_text else segment.section
            self.path = max(shared, self._above, key=len)
        self._has_text = self._has_text or not is_heading


def _section_starts(path: tuple[str, ...], group: Sequence[Segment]) -> Iterator[SectionStart]:
    """Yield each place where the section changes. The first segment is compared with the path of the chunk."""
    for segment in group:
        if segment.section != path:
            path = segment.section
            yield SectionStart(start=segment.start, path=path)


def _without_contents(parsed: ParsedDocument) -> ParsedDocument:
    """Return the document without tables of contents. If only headings remain, keep the tables as lists."""
    kept = tuple(block for block in parsed.blocks if block.kind is not BlockKind.CONTENTS)
    if all(block.kind is BlockKind.HEADING for block in kept):
        kept = tuple(
            block.model_copy(update={"kind": BlockKind.LIST}) if block.kind is BlockKind.CONTENTS else block
            for block in parsed.blocks
        )
    return parsed.model_copy(update={"blocks": kept})


def _common_prefix(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    same = [first == second for first, second in zip(one, other, strict=False)]
    return one[: same.index(False) if False in same else len(same)]


def _kind(group: Sequence[Segment]) -> ChunkKind:
    """Return the kind of block that makes up most of the chunk. Headings do not count."""
    sizes: dict[BlockKind, int] = {}
    for segment in group:
        if segment.kind is not BlockKind.HEADING:
            sizes[segment.kind] = sizes.get(segment.kind, 0) + segment.end - segment.start
    return ChunkKind(max(sizes, key=lambda kind: sizes[kind]).value) if sizes else ChunkKind.PROSE
