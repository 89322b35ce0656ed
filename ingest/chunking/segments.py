"""Divides a parsed document into segments, which are sentences of prose, lines of lists and code, and rows of tables.

Each segment has a cost for starting a chunk with it. The cost is zero for a heading and high between a caption and its
table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from ingest.chunking.outline import Outline, TokenCounter
from ingest.document import Block, BlockKind, ParsedDocument
from vectorstore.models import TableHeader
from vectorstore.text.sentences import LINE_STARTS, SENTENCE_ENDS, divide
from vectorstore.text.wide_rows import WIDE, cells_of, columns_of, row_of

if TYPE_CHECKING:
    from llama_index.core.node_parser import SentenceSplitter

_HEADER_SHARE = 2  # a table's header takes at most half of the budget
_SEGMENT_SHARE = 16  # sentences, lines and rows below a sixteenth of the budget are joined
_READ_SHARE = 2  # a passage of a wide table may have this many times the budget to be read and quoted
_CAPTION_SHARE = 5  # a paragraph next to a table is its caption if it takes at most a fifth of the budget

# Costs of the boundary at which a chunk begins. The values were found by experiment; only their order has a reason.
_BEFORE_HEADING = 0.0
_BETWEEN_BLOCKS = 0.1
_BETWEEN_SENTENCES = 0.4
_NEXT_TO_OTHER = 0.8  # between sentences and the table, list, formula or single line that they introduce
_BETWEEN_LINES = 1.0  # of a table, an item, a verse
_INSIDE_SENTENCE = 1.5
_AVOID = 4.0  # after a heading or a table's header, inside a table that fits a chunk: only if nothing else fits

_PHRASES = r"[^,.;。？！]+[,.;。？！]?|[,.;。？！]"
"""Parts that together are the whole text. Some versions of llama-index drop a mark that follows another."""
_SENTENCE_END = re.compile(r"[.!?…؟।。！？][\"'”’»)\]]?\s*$")


@dataclass(frozen=True, slots=True)
class Segment:
    """A span that is not divided further, and the cost of beginning a chunk with it."""

    start: int
    end: int
    tokens: int
    kind: BlockKind
    section: tuple[str, ...]
    cost: float
    """Cost of the boundary before the segment."""
    continues: bool = False
    """Whether the boundary before the segment is inside a block of sentences. Only there, chunks may overlap."""
    header: TableHeader | None = None
    header_tokens: int = 0


class Segmenter:
    """Divides one document. ``budget`` is the number of tokens that the embedding model reads."""

    def __init__(self, count_tokens: TokenCounter, budget: int, parsed: ParsedDocument, outline: Outline) -> None:
        self._count = count_tokens
        self._budget = budget
        self._blocks = parsed.blocks
        self._text = parsed.text
        self._outline = outline

    def segments(self) -> Iterator[Segment]:
        """Yield the segments of all blocks in order."""
        blocks = list(self._outline.sections())
        spans = [divide(self._text, block.start, block.end, boundary_of(block.kind)) for block, _ in blocks]
        counts = iter(self._count([self._text[start:end] for block_spans in spans for start, end in block_spans]))
        counted = [
            self._narrowed(block, [(start, end, next(counts)) for start, end in block_spans])
            for (block, _), block_spans in zip(blocks, spans, strict=True)
        ]
        sizes = [sum(tokens for _, _, tokens in block_spans) for block_spans in counted]
        heading_tokens = 0  # of the headings directly above
        for index, ((block, section), block_spans) in enumerate(zip(blocks, counted, strict=True)):
            cost = self._cost_before(index, sizes)
            room = self._outline.room(section)
            reserved = heading_tokens if heading_tokens <= room // 2 else 0
            first = Segment(block.start, block.end, sizes[index], block.kind, section, cost)
            yield from self._divide(first, block, block_spans, room - reserved)
            heading_tokens = heading_tokens + sizes[index] if block.kind is BlockKind.HEADING else 0

    def _narrowed(self, block: Block, spans: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        """Return the rows of a wide table with the tokens that are embedded, but at least a share of all tokens."""
        rows = [cells_of(self._text[start:end]) for start, end, _ in spans] if block.kind is BlockKind.TABLE else []
        if not rows or not all(len(cells) >= WIDE for cells in rows):
            return spans
        columns = columns_of([cells for cells in rows if len(cells) == len(rows[0])])
        counts = self._count([row_of(cells, columns) for cells in rows])
        return [
            (start, end, count if start < (block.header_end or 0) else max(count, tokens // _READ_SHARE))
            for (start, end, tokens), count in zip(spans, counts, strict=True)
        ]

    def _cost_before(self, index: int, sizes: Sequence[int]) -> float:
        """Return the cost of beginning a chunk with the block at this index."""
        if index == 0:
            return 0.0
        above, block = self._blocks[index - 1 : index + 1]
        if above.kind is BlockKind.HEADING:
            return _AVOID
        if block.kind is BlockKind.HEADING:
            return _BEFORE_HEADING
        if BlockKind.TABLE not in (above.kind, block.kind) and (
            self._is_caption(index, index + 1, sizes) or self._is_caption(index - 1, index - 2, sizes)
        ):
            return _BETWEEN_BLOCKS  # the caption belongs to the table on its other side
        return _BETWEEN_BLOCKS if self._is_sentences(above) and self._is_sentences(block) else _NEXT_TO_OTHER

    def _is_caption(self, index: int, neighbour: int, sizes: Sequence[int]) -> bool:
        """Return whether a block is a short paragraph and its neighbour a table."""
        blocks = self._blocks
        return (
            0 <= neighbour < len(blocks)
            and (blocks[index].kind, blocks[neighbour].kind) == (BlockKind.PROSE, BlockKind.TABLE)
            and sizes[index] <= self._budget // _CAPTION_SHARE
        )

    def _is_sentences(self, block: Block) -> bool:
        """Return whether a block ends like a sentence. A formula, a line of a form and "as follows:" do not."""
        return block.kind is BlockKind.PROSE and self._ends_sentence(block.start, block.end)

    def _ends_sentence(self, start: int, end: int) -> bool:
        return bool(_SENTENCE_END.search(self._text[max(end - 8, start) : end]))

    def _cost_inside(self, whole: Segment, start: int, room: int) -> float:
        """Return the cost of beginning a chunk inside a block, with the segment at ``start``."""
        if whole.kind is BlockKind.TABLE and whole.tokens <= room:
            return _AVOID
        if whole.kind in (BlockKind.LIST, BlockKind.CODE):
            is_indented = self._text[start - 1] != "\n"
            return _BETWEEN_LINES if is_indented else _BETWEEN_SENTENCES
        if whole.kind is BlockKind.PROSE and self._ends_sentence(whole.start, start):
            return _BETWEEN_SENTENCES
        return _BETWEEN_LINES

    def _divide(
        self, whole: Segment, block: Block, spans: Sequence[tuple[int, int, int]], room: int
    ) -> Iterator[Segment]:
        """Yield the segments of a block. The first has the cost of the boundary before the block."""
        header, header_tokens = self._header(block, spans, room)
        least = self._budget // _SEGMENT_SHARE
        inner = replace(
            whole,
            continues=whole.kind in (BlockKind.PROSE, BlockKind.LIST, BlockKind.CODE),
            header=header,
            header_tokens=header_tokens,
        )
        last: Segment | None = None
        for start, end, tokens in spans:
            in_header = header is not None and start < header.end
            if last and (in_header or (last.tokens + tokens <= least and last.cost != _AVOID)):
                last = replace(last, end=end, tokens=last.tokens + tokens)
                continue
            if last:
                yield last
            after_header = header is not None and last is not None and last.end <= header.end
            cost = self._cost_inside(whole, start, room) if last else whole.cost
            segment = replace(inner if last else whole, start=start, end=end, tokens=tokens, cost=cost)
            last = replace(segment, cost=_AVOID) if after_header else segment
            if tokens > room - header_tokens:
                *parts, last = self._parts(last, inner, room - header_tokens)
                yield from parts
        if last:
            yield last

    def _parts(self, segment: Segment, inner: Segment, room: int) -> list[Segment]:
        """Split a sentence, line or row of more than ``room`` tokens into parts of about equal size."""
        limit = -(-segment.tokens // -(-segment.tokens // room))
        spans = self.split(segment.start, segment.end, min(limit + limit // 8, room))
        counts = self._count([self._text[start:end] for start, end in spans])
        begins = [segment, *[replace(inner, cost=_INSIDE_SENTENCE)] * (len(spans) - 1)]
        return [
            replace(begin, start=start, end=end, tokens=tokens)
            for begin, (start, end), tokens in zip(begins, spans, counts, strict=True)
        ]

    def _header(self, block: Block, spans: Sequence[tuple[int, int, int]], room: int) -> tuple[TableHeader | None, int]:
        """Return the table's header and its tokens, or None and 0 if it leaves too little room for the rows."""
        if block.header_end is None:
            return None, 0
        text = self._text[block.start : block.header_end]
        tokens = sum(tokens for start, _, tokens in spans if start < block.header_end)
        if tokens > room // _HEADER_SHARE:
            return None, 0
        return TableHeader(text=text, start=block.start, end=block.header_end), tokens

    def split(self, start: int, end: int, room: int) -> list[tuple[int, int]]:
        """Split a span into spans of at most ``room`` tokens, between phrases or words if possible."""
        splitter = _sentence_splitter(self._count, room)
        spans: list[tuple[int, int]] = []
        for part in splitter.split_text(self._text[start:end]):
            start = self._text.index(part, start)
            spans.append((start, start + len(part)))
            start += len(part)
        return spans


def boundary_of(kind: BlockKind) -> re.Pattern[str]:
    """Return the pattern of the boundaries at which a block of this kind may be divided."""
    return LINE_STARTS if kind in (BlockKind.LIST, BlockKind.CODE, BlockKind.TABLE) else SENTENCE_ENDS


class _Weights:
    """The numbers of tokens of parts of a text, at least 1 and for a single character at most ``room``.

    The splitter would repeat a part of zero tokens, such as a single accent, in the next chunk. It would fail on a
    character of more than ``room`` tokens. Counting many short parts separately would take minutes, so ``add`` counts
    them together.
    """

    def __init__(self, count_tokens: TokenCounter, room: int) -> None:
        self._count, self._room = count_tokens, room
        self._known: dict[str, int] = {}

    def add(self, parts: Sequence[str]) -> None:
        """Count the tokens of all parts that are not known yet."""
        missing = [part for part in dict.fromkeys(parts) if part not in self._known]
        for part, tokens in zip(missing, self._count(missing) if missing else (), strict=True):
            self._known[part] = max(1, min(tokens, self._room) if len(part) == 1 else tokens)

    def of(self, text: str) -> range:
        """Return a sequence with one element per token."""
        if text not in self._known:
            self.add([text])
        return range(self._known[text])


@cache
def _splitter_class() -> Any:
    """Return llama-index's splitter, which counts the parts of a text together. The import takes seconds."""
    from llama_index.core.node_parser import SentenceSplitter

    class CountingSplitter(SentenceSplitter):
        weights: Any = None

        def _get_splits_by_fns(self, text: str) -> tuple[list[str], bool]:
            parts, is_sentence = super()._get_splits_by_fns(text)
            self.weights.add(parts)
            return parts, is_sentence

    return CountingSplitter


def _sentence_splitter(count_tokens: TokenCounter, room: int) -> SentenceSplitter:
    """Return llama-index's splitter with our tokenizer and sentence ends. Its own would download data."""
    weights = _Weights(count_tokens, room)
    splitter = _splitter_class()(
        chunk_size=room,
        chunk_overlap=0,
        paragraph_separator="\n\n",
        tokenizer=weights.of,
        secondary_chunking_regex=_PHRASES,
        chunking_tokenizer_fn=lambda text: [part for part in SENTENCE_ENDS.split(text) if part],
    )
    splitter.weights = weights
    return cast("SentenceSplitter", splitter)
