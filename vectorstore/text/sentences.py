"""Divides text into sentences of prose, lines of lists and code, and rows of tables, with exact spans.

Sentence ends are marks of punctuation of many scripts. Nothing here depends on the language of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from vectorstore.models import Chunk, ChunkKind

_ENDS = r"(?<=[.!?…؟।])(?=\s)|(?<=[.!?…][\"'”’»)\]])(?=\s)|(?<=[。！？])"
SENTENCE_ENDS = re.compile(rf"{_ENDS}|(?<=\n)")
"""Ends of sentences and of lines."""
LINE_STARTS = re.compile(r"(?<=\n)")
_LOWER, _UPPER = "a-zß-öø-ÿ", "A-ZÀ-ÖØ-Þ"
_RUN_ON = rf"(?<=[{_LOWER}]{{3}}[.!?])(?=[{_UPPER}][{_LOWER}]+\s)"
"""The end of a sentence that a lost blank joined to the next one: a word, its full stop, and a capitalised word."""
_INSIDE_PARAGRAPH = re.compile(f"{_ENDS}|{_RUN_ON}")
_ROW = "|"
"""Readers write the rows of tables between pipes."""
_ITEM = re.compile(r"[-*•‣◦▪·–—]\s|\(?\w{1,3}[.)]\s")
"""The beginning of a list entry."""
_LAST_WORD = re.compile(r"(?:^|[\s(\[\"'“„«])([\w.]+)\.$")
_TITLE = re.compile(r"(?:^\S+(?: \S+)?|(?:^|[\s(])[“„«\"](?=\S)[^”“»\"]{1,60})[!?]$")
"""A title at the beginning of a sentence, as in "Yahoo! Inc. sells" or "“Help! I Need You” is a song"."""
_LONGEST_PART = 3
"""Letters between the stops of an abbreviation. A web address has longer parts."""
_MIN_WRAPPED = 40
"""Characters. Lines of a paragraph are not wrapped at less."""
_RAGGED = 0.1
"""Share of the width that a wrapped line may be shorter: in proportional fonts, characters differ in width."""
_LONGEST_CELL, _CELL_WORDS, _FEWEST_CELLS = 12, 2, 4
"""Characters and words of a cell, and cells of a row. Fewer short lines may be headings or list entries."""
_FIELDS = re.compile(r"[|,;=\t]")
"""Signs between fields. A line that has several is a row itself."""
_LONGEST_WORD = 20
"""Characters. In scripts without spaces, a whole line is one word."""


class Span(NamedTuple):
    """Half-open character offsets in the parsed text of the document."""

    start: int
    end: int


def divide(text: str, start: int, end: int, boundary: re.Pattern[str]) -> list[Span]:
    """Return the spans of the non-blank parts of text[start:end] between boundaries, without surrounding blanks."""
    spans = []
    position = start
    for part in boundary.split(text[start:end]):
        left = len(part) - len(part.lstrip())
        if part.strip():
            spans.append(Span(position + left, position + left + len(part.strip())))
        position += len(part)
    return spans


def units_of(chunk: Chunk) -> list[Span]:
    """Return the spans of a passage's units in its document: header rows of its table, then its own text."""
    units = units_in(chunk.text, chunk.start, code=chunk.kind is ChunkKind.CODE)
    return [*(units_in(chunk.header.text, chunk.header.start, code=False) if chunk.header else ()), *units]


@lru_cache(maxsize=256)  # several steps of a run read the same passages
def units_in(text: str, offset: int, *, code: bool) -> tuple[Span, ...]:
    """Return the units of a text that starts at ``offset``. Lines without a letter or digit are no units."""
    lines = divide(text, 0, len(text), LINE_STARTS)
    spans = lines if code else [span for each in _paragraphs(text, lines) for span in _sentences(text, each)]
    spans = spans if code else list(_join_cells(text, spans))
    return tuple(Span(offset + start, offset + end) for start, end in spans if any(map(str.isalnum, text[start:end])))


def _paragraphs(text: str, lines: list[Span]) -> Iterator[Span]:
    """Join the lines of wrapped paragraphs. Rows of tables and the beginnings of list entries stay apart."""
    width = 0  # of the block of lines, up to the next blank line or table
    joined: Span | None = None
    for index, line in enumerate(lines):
        if index == 0 or _is_apart(text, lines[index - 1], line):
            width = max(len(text[each.start : each.end]) for each in _block(text, lines, index))
        elif joined and _is_wrapped(text, lines[index - 1], line, width):
            joined = Span(joined.start, line.end)
            continue
        if joined:
            yield joined
        joined = line
    if joined:
        yield joined


def _join_cells(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """Join runs of very short lines: the cells of a table that has one cell in each line, such as opening hours."""
    run: list[Span] = []
    for span in spans:
        if run and not (_is_cell(text, span) and _is_cell(text, run[-1]) and _is_next_line(text, run[-1], span)):
            yield from _joined(run)
            run = []
        run.append(span)
    yield from _joined(run)


def _joined(run: Sequence[Span]) -> Sequence[Span]:
    return [Span(run[0].start, run[-1].end)] if len(run) >= _FEWEST_CELLS else run


def _is_cell(text: str, span: Span) -> bool:
    words = text[span.start : span.end]
    return len(words) <= _LONGEST_CELL and words.count(" ") < _CELL_WORDS and not _FIELDS.search(words)


def _is_next_line(text: str, previous: Span, line: Span) -> bool:
    return text.count("\n", previous.end, line.start) == 1 and not _ITEM.match(text[line.start : line.end])


def _block(text: str, lines: list[Span], index: int) -> Iterator[Span]:
    yield lines[index]
    for previous, line in zip(lines[index:], lines[index + 1 :], strict=False):
        if _is_apart(text, previous, line):
            return
        yield line


def _is_apart(text: str, previous: Span, line: Span) -> bool:
    """Return whether a blank line is between two lines, or one of them is a row of a table."""
    return text.count("\n", previous.end, line.start) > 1 or _ROW in (text[previous.start], text[line.start])


def _is_wrapped(text: str, previous: Span, line: Span, width: int) -> bool:
    """Return whether the line continues the previous one: its first word would not have fitted, or is in lower case."""
    following = text[line.start : line.end]
    if _ITEM.match(following):
        return False
    word = following.split(maxsplit=1)[0][:_LONGEST_WORD]
    room = (1 - _RAGGED) * width - (previous.end - previous.start)
    return width >= _MIN_WRAPPED and (following[0].islower() or len(word) >= room)


def _sentences(text: str, paragraph: Span) -> Iterator[Span]:
    if text[paragraph.start] == _ROW:
        yield paragraph
        return
    sentence: Span | None = None
    for part in divide(text, *paragraph, _INSIDE_PARAGRAPH):
        before = text[sentence.start : sentence.end] if sentence else ""
        if sentence and (_TITLE.search(before) or continues(before, text[part.start])):
            sentence = Span(sentence.start, part.end)
            continue
        if sentence:
            yield sentence
        sentence = part
    if sentence:
        yield sentence


def continues(sentence: str, following: str) -> bool:
    """Return whether the full stop at the end belongs to an abbreviation or a number.

    That is: one letter, short parts with stops inside (e.g., z.B., but no web address), a number below 100 (3. Mai), a
    capitalised word of up to three letters (Dr., Fig.), a short word before a number (no. 5), or whatever a lower-case
    letter follows, also after the "?" of a title. Where the sentence did end, two sentences form one unit.
    """
    last = _LAST_WORD.search(sentence)
    if last is None or following.islower():
        return following.islower() or (following == "(" and sentence[-1:] in ("!", "?"))
    word = last[1]
    if following.isdigit() and not word.isdigit():
        return len(word) <= 4
    is_short = len(word) <= (2 if word.isdigit() else 3 if word[0].isupper() else 1)
    parts = word.strip(".").split(".")
    return is_short or (len(parts) > 1 and max(map(len, parts)) <= _LONGEST_PART)
