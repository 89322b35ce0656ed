"""Divides a document into segments and sentences, and finds its headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from html import unescape
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from ingest.document import CAPTION, ISSUER, PERIOD, TITLE, Block, BlockKind, ParsedDocument
from vectorstore.models import TableHeader
from vectorstore.text.sentences import LINE_STARTS, SENTENCE_ENDS, divide
from vectorstore.text.wide_rows import WIDE, cells_of, columns_of, row_of

if TYPE_CHECKING:
    from llama_index.core.node_parser import SentenceSplitter


TokenCounter = Callable[[Sequence[str]], list[int]]

_CONTEXT_SHARE = 4  # the context line uses at most one fourth of the budget
_TITLE_LENGTH = 120  # characters
_TITLE_WITHIN = 500  # characters: a heading further down belongs to a section, not to the document
_PDF = "application/pdf"
_WORKBOOKS = ("spreadsheetml", "ms-excel", "opendocument.spreadsheet")
_WORD = re.compile(r"[^\W\d_]{2}")


class Outline:
    """The title and sections of a document. ``name`` is its file name, ``budget`` the tokens per chunk."""

    def __init__(self, count_tokens: TokenCounter, budget: int, parsed: ParsedDocument, name: str) -> None:
        self._count, self._budget, self._parsed, self._name = count_tokens, budget, parsed, name
        self._counted: dict[str, int] = {}
        self._contexts: dict[tuple[str, ...], tuple[tuple[str, ...], int]] = {}

    @cached_property
    def title(self) -> str:
        """The title fact, the first heading or the file name. The first of these that contains a word is used.

        For a PDF, the file name comes before the first heading. The reader infers headings from the layout, and forms
        of one kind all start with the same heading ("UNITED STATES SECURITIES AND EXCHANGE COMMISSION"). For a workbook
        too, with the title that it stores before both: its headings are names of sheets, which rarely have its title.
        """
        stem = PurePosixPath(self._name).stem.replace("_", " ")
        heading = self._first_heading()
        mime_type = self._parsed.mime_type
        guessed = [stem, heading] if mime_type == _PDF else [heading, stem]
        if any(family in mime_type for family in _WORKBOOKS):
            guessed = [self._parsed.title, stem, heading]
        stated = [self._parsed.facts[TITLE].printed] if TITLE in self._parsed.facts else []
        named = next((title for title in (*stated, *guessed) if _WORD.search(title)), stem)
        length = _TITLE_LENGTH
        while self._tokens(_shortened(named, length)) > self._budget // _CONTEXT_SHARE and length > 1:
            length //= 2
        return _shortened(named, length)

    @cached_property
    def about(self) -> str:
        """Issuer and period as printed, unless the title contains them. Empty if the context line has no room."""
        facts = [self._parsed.facts[name].printed for name in (ISSUER, PERIOD) if name in self._parsed.facts]
        lacking = ", ".join(fact for fact in facts if _letters(fact) not in _letters(self.title))
        fits = lacking and self._tokens(f"{self.title} › {lacking}") <= self._budget // _CONTEXT_SHARE
        return lacking if fits else ""

    def _first_heading(self) -> str:
        """Return the first heading if it is near the start and short enough for a title, otherwise ``""``."""
        first = next((block for block in self._parsed.blocks if block.kind is BlockKind.HEADING), None)
        if first is None or first.start > _TITLE_WITHIN or first.end - first.start > 2 * _TITLE_LENGTH:
            return ""
        return self._of(first)

    def sections(self) -> Iterator[tuple[Block, tuple[str, ...]]]:
        """Yield every block with its section path. The path of a heading includes its own text, but not the title."""
        path: list[tuple[int, str]] = []
        previous = None
        for block in self._parsed.blocks:
            if previous is BlockKind.TABLE and block.kind is not BlockKind.TABLE:
                path = [(level, text) for level, text in path if level != CAPTION]
            previous = block.kind
            if block.kind is BlockKind.HEADING:
                path = [(level, text) for level, text in path if level < block.level]
                path.append((block.level, self._of(block)))
            names = [_shortened(text, _TITLE_LENGTH) for _, text in path]
            yield block, tuple(names[1:] if names and names[0] == self.title else names)

    def context(self, section: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
        """Return the section path and the tokens of its context line. Drops outer headings until the line fits."""
        if section not in self._contexts:
            path = " › ".join(part for part in (self.title, self.about, *section) if part)
            tokens = self._tokens(path) if path else 0
            fits = not section or tokens <= self._budget // _CONTEXT_SHARE
            self._contexts[section] = (section, tokens) if fits else self.context(section[1:])
        return self._contexts[section]

    def room(self, section: tuple[str, ...]) -> int:
        """Return the number of tokens left for the text below the context line."""
        return self._budget - self.context(section)[1]

    def _tokens(self, text: str) -> int:
        """Count the tokens of a context line, each line once."""
        if text not in self._counted:
            [self._counted[text]] = self._count([text])
        return self._counted[text]

    def _of(self, block: Block) -> str:
        """Return the text of a heading. Some sources encode characters twice, so that ``&quot;`` remains."""
        return unescape(self._parsed.text[block.start : block.end])


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _shortened(text: str, length: int) -> str:
    """Shorten the text to at most ``length`` characters, at a word boundary."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    return text[: max(length - 1, 1)].rsplit(" ", 1)[0] + "…"


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
        self._count, self._budget = count_tokens, budget
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
