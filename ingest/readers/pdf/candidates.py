"""Finds heading candidates in a PDF: short groups of lines in one style. Classifies the content below each."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple
from unicodedata import category

from ingest.readers.pdf.lines import Line, is_bullet, joined
from ingest.readers.pdf.styles import PLAIN, Style
from ingest.readers.pdf.tables.rows import gap

PARAGRAPH_GAP = 0.75  # line heights: lines with a larger space between them belong to different paragraphs
LARGER = 1.12  # minimum ratio to the body type size for large type

_NOT_SMALLER = 0.85  # minimum ratio of a candidate's type size to the body type size
_OTHER_BODY = 300  # characters: a page with less text in its most frequent look takes its body look from the document
_LINES = 4  # maximum lines of a candidate
_LENGTH = 200  # maximum characters of a candidate
_DIGITS = 0.5  # maximum share of digits among the letters and digits of a heading
_TIGHT, _WITHIN = 0.3, 1.0  # line heights: maximum space between a table label and the rows below and above it
_TEXT, _SOME_TEXT = 100, 45  # minimum letters for Below.TEXT and Below.SOME_TEXT
_LINES_OF_TEXT, _LINES_OF_SOME = 6, 3  # maximum lines that count towards each
_NESTED = 3  # maximum depth of headings directly below one another

_WORD = re.compile(r"[^\W\d_]{2}")
_LABEL = re.compile(r"^(?:[^\W\d_]+\.? )?\(?(?:[A-Z]|[IVXLC]+|[a-z]|\d{1,3}[A-Za-z]?(?:\.\d{1,3})*)[.):]{0,2}$")
_BEGINS_NUMBERED = re.compile(r"^(?:\(?[a-z0-9]{1,2}\)|\d{1,3}(?:\.\d{1,3})*\.?)\s")
_ITEM = re.compile(r"[-‐-―]\s")  # a bullet that may also be a minus sign or a mark of a break
_BOXES = "☐☑☒□■"
_AMOUNT = re.compile(r"\d\s?[%‰€£¥₹]$|[$€£¥₹]\s?(?:\d[\d.,]*)?$")  # at the end of a key figure
_IN_BRACKETS = re.compile(r"^\([^()]{4,}\)?$")  # a unit, such as "(in millions)", or its first line
_SENTENCE_END = re.compile(r"[.!?。！？][\"'”’»)\]]*$")


class Look(NamedTuple):
    """Type size and style of a line. The colour counts only if nothing else distinguishes the line from the body."""

    size: float
    style: Style


class Prominence(IntEnum):
    """How much a line stands out from the body text of its page."""

    NONE = 0
    SLIGHT = 1
    """Italic, underlined or coloured."""
    BOLD = 2
    LARGE = 3


class Below(IntEnum):
    """Content below a candidate, ordered from the weakest to the strongest evidence for a heading."""

    TABLE_ROW = 0
    """A row of a table that also has rows above the candidate: the candidate is a label in the table."""
    NOTHING = 1
    TABLE = 2
    SOME_TEXT = 3
    TEXT = 4


@dataclass(frozen=True, slots=True)
class Candidate:
    """A group of lines [start, end) that may be a heading."""

    start: int
    end: int
    text: str
    page: int
    look: Look
    prominence: Prominence
    numbered: bool


class PageLines:
    """The lines of a document. Lines in the spans ``elsewhere`` belong to tables and tables of contents."""

    def __init__(self, lines: Sequence[Line], elsewhere: Sequence[tuple[int, int]]) -> None:
        self.lines = lines
        self.elsewhere = [False] * len(lines)
        for start, end in elsewhere:
            self.elsewhere[start:end] = [True] * (end - start)
        self.pages: dict[int, list[int]] = defaultdict(list)
        for index, line in enumerate(lines):
            self.pages[line.page].append(index)
        self._bodies = self._find_bodies()
        self.looks = [self._look(line) for line in lines]
        self.candidates = list(self._find_candidates())
        self._at = {candidate.start: candidate for candidate in self.candidates}

    def _find_bodies(self) -> dict[int, Look]:
        """Return the body look of each page: the look of most characters outside tables."""
        pages: dict[int, Counter[Look]] = defaultdict(Counter)
        for line, elsewhere in zip(self.lines, self.elsewhere, strict=True):
            look = Look(_rounded(line.size), line.style._replace(underlined=False))
            pages[line.page][look] += 0 if elsewhere else sum(len(word.text) for word in line.words)
        whole: Counter[Look] = Counter()
        for looks in pages.values():
            whole.update(looks)
        most = {page: looks.most_common(1)[0] for page, looks in pages.items()}
        return {
            page: look if characters >= _OTHER_BODY else whole.most_common(1)[0][0]
            for page, (look, characters) in most.items()
        }

    def _look(self, line: Line) -> Look:
        body, style = self._bodies[line.page], line.style
        stands_out = line.size >= LARGER * body.size or style.bold or style.italic or style.underlined
        return Look(_rounded(line.size), style._replace(colour=PLAIN.colour) if stands_out else style)

    def _prominence(self, line: Line) -> Prominence:
        body = self._bodies[line.page]
        if line.size >= LARGER * body.size:
            return Prominence.LARGE
        if line.size < _NOT_SMALLER * body.size:
            return Prominence.NONE
        if line.style.bold and not body.style.bold:
            return Prominence.BOLD
        is_coloured = line.style.colour != body.style.colour and line.size > body.size - 0.5
        if line.style.underlined or (line.style.italic and not body.style.italic) or is_coloured:
            return Prominence.SLIGHT
        return Prominence.NONE

    def _find_candidates(self) -> Iterator[Candidate]:
        start = 0
        while start < len(self.lines):
            end = start + 1
            if not self.elsewhere[start] and _may_begin(self.lines[start]):
                while end < len(self.lines) and self._continues(end):
                    end += 1
                group = self.lines[start:end]
                text = " ".join(line.text for line in group) if len(group) <= _LINES else ""
                if text and _is_title(text):
                    numbered = len(group[0].cells) > 1 or bool(_BEGINS_NUMBERED.match(text))
                    yield Candidate(
                        start, end, text, group[0].page, self.looks[start], self._prominence(group[0]), numbered
                    )
            start = end

    def _continues(self, index: int) -> bool:
        """Return whether the line continues the group of the previous line. A numbered line starts a new group."""
        above, line = self.lines[index - 1], self.lines[index]
        return (
            not self.elsewhere[index]
            and len(line.cells) == 1
            and line.page == above.page
            and self.looks[index] == self.looks[index - 1]
            and space(above, line) < PARAGRAPH_GAP
            and not _BEGINS_NUMBERED.match(line.text)
            and not is_bullet(line.words[0])
        )

    def below(self, candidate: Candidate, depth: int = 0) -> Below:
        """Return the content below the candidate.

        Checks the next line in reading order, which may be on the next page, and the nearest line below on the page.
        """
        group = self.lines[candidate.start : candidate.end]
        following = candidate.end
        is_last = following == len(self.lines) or self.lines[following].page != candidate.page
        if not is_last and _is_below(group, self.lines[following]):
            return self._what_is_at(following, candidate, depth)
        nearest = self._nearest_below(candidate)
        found = Below.NOTHING if nearest is None else self._what_is_at(nearest, candidate, depth)
        if not is_last or following == len(self.lines):
            return found
        return max(found, min(self._what_is_at(following, candidate, depth), Below.SOME_TEXT))

    def _what_is_at(self, index: int, candidate: Candidate, depth: int) -> Below:
        """Return the kind of content that starts at this line below the candidate."""
        if self.elsewhere[index]:
            return Below.TABLE_ROW if self._is_label(candidate, self.lines[index]) else Below.TABLE
        nested = self._at.get(index)
        if nested and nested.prominence and depth < _NESTED:
            is_deeper = nested.look.size <= candidate.look.size and nested.look != candidate.look
            return self.below(nested, depth + 1) if is_deeper or candidate.numbered else Below.NOTHING
        if self.looks[index] == candidate.look and candidate.prominence:
            return Below.NOTHING
        return self._text_at(index)

    def _is_label(self, candidate: Candidate, row: Line) -> bool:
        """Return whether the candidate is a table label: not larger than the row, and close to rows on both sides."""
        first, last = self.lines[candidate.start], self.lines[candidate.end - 1]
        if row.page != last.page or last.size >= LARGER * row.size or gap(last, row) >= _TIGHT or not candidate.start:
            return False
        above = self.lines[candidate.start - 1]
        return self.elsewhere[candidate.start - 1] and above.page == first.page and gap(above, first) < _WITHIN

    def _nearest_below(self, candidate: Candidate) -> int | None:
        group = self.lines[candidate.start : candidate.end]
        below = [index for index in self.pages[candidate.page] if _is_below(group, self.lines[index])]
        outside = (index for index in below if not candidate.start <= index < candidate.end)
        return min(outside, key=lambda index: -self.lines[index].top, default=None)

    def _text_at(self, index: int) -> Below:
        """Return how much text the paragraph at this line contains."""
        end = index + 1
        while (
            end < min(len(self.lines), index + _LINES_OF_TEXT)
            and not self.elsewhere[end]
            and self.lines[end].page == self.lines[index].page
            and space(self.lines[end - 1], self.lines[end]) < PARAGRAPH_GAP
        ):
            end += 1
        texts = [line.text for line in self.lines[index:end]]
        first = texts[:_LINES_OF_SOME]
        if _letters("".join(texts)) >= _TEXT or any(
            _SENTENCE_END.search(text) and _letters(text) > 3 for text in first
        ):
            return Below.TEXT
        is_some = (
            _letters("".join(first)) >= _SOME_TEXT or is_bullet(self.lines[index].words[0]) or texts[0].endswith(":")
        )
        return Below.SOME_TEXT if is_some else Below.NOTHING

    def has_neighbour(self, candidate: Candidate) -> bool:
        """Return whether a line beside the candidate has the same look, as in a table header."""
        return any(
            self.looks[index] == candidate.look and _are_beside(self.lines[own], self.lines[index])
            for index in self.pages[candidate.page]
            if not candidate.start <= index < candidate.end
            for own in range(candidate.start, candidate.end)
        )

    def is_caption(self, candidate: Candidate) -> bool:
        """Return whether the candidate is the caption of a key figure: a larger line with digits directly above it."""
        first = self.lines[candidate.start]
        above = (self.lines[index] for index in self.pages[candidate.page] if index != candidate.start)
        return any(
            line.size > LARGER * first.size
            and any(character.isdigit() for character in line.text)
            and -_TIGHT * line.height <= line.bottom - first.top < first.height
            and _is_below([line], first)
            for line in above
        )


def space(above: Line, below: Line) -> float:
    """Return the space between two lines in heights of the second line, or a large value if that line is higher up."""
    height = (above.bottom - below.top) / max(below.height, 1.0)
    return height if height > -2 else 99.0


def _rounded(size: float) -> float:
    return round(size * 2) / 2


def _may_begin(line: Line) -> bool:
    """Return whether the line may start a heading: it is upright and has one cell, or a number and one cell."""
    if not line.style.upright or is_bullet(line.words[0]):
        return False
    return len(line.cells) == 1 or (
        len(line.cells) <= 3 and bool(_LABEL.match(" ".join(joined(cell) for cell in line.cells[:-1])))
    )


def _is_title(text: str) -> bool:
    """Return whether the text may be a heading, and not an amount, a unit, a clause or a checkbox label."""
    digits = sum(character.isdigit() for character in text)
    return (
        len(text) <= _LENGTH
        and bool(_WORD.search(text))
        and digits <= _DIGITS * (digits + _letters(text))
        and not text.endswith((",", ";"))
        and not text[0].islower()
        and category(text[0]) not in ("So", "Co")
        and not _ITEM.match(text)
        and text[-1] not in _BOXES
        and not _AMOUNT.search(text)
        and not _IN_BRACKETS.match(text)
    )


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _is_below(group: Sequence[Line], line: Line) -> bool:
    """Return whether the line is below the group and overlaps it horizontally."""
    left, right = min(one.words[0].x0 for one in group), max(one.words[-1].x1 for one in group)
    return line.top <= group[-1].bottom + line.height / 2 and line.words[0].x0 < right and line.words[-1].x1 > left


def _are_beside(one: Line, other: Line) -> bool:
    return min(one.top, other.top) - max(one.bottom, other.bottom) > min(one.height, other.height) / 2
