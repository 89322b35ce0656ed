"""Reads the lines of PDF pages with PDFium: words with their boxes and styles."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from math import inf, pi
from pathlib import Path
from statistics import median

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage, PdfTextPage

from ingest.readers.pdf.characters import SOFT_HYPHEN, read_characters, take_columns
from ingest.readers.pdf.drawing import (
    NOTHING,
    Box,
    Drawing,
    Extent,
    Rule,
    find_band,
    find_box,
    find_underlines,
    read_drawing,
    rotate_box,
)
from ingest.readers.pdf.file import Bookmark, is_xfa, open_page, open_pdf, read_bookmarks, read_dates, read_metadata
from ingest.readers.pdf.legibility import ILLEGIBLE, INSET, lack_of
from ingest.readers.pdf.page_images import page_image, pictures_of_text, resolution
from ingest.readers.pdf.shifts import ends_with_small_digit, joined_with_shifted, may_be_shifted, rejoined, with_shifts
from ingest.readers.pdf.slanted import take_margins, take_stacks, with_laid_heads, with_level_heads
from ingest.readers.pdf.styles import PLAIN, Style, font_at, is_underlined, style_at, with_strikes
from ingest.readers.pdf.tables.stored import in_rows
from ingest.readers.pdf.turned import from_top_to_bottom, with_footers_last, with_titles_first
from ingest.readers.pdf.vertical import are_notes, below, with_columns
from ingest.readers.pdf.visibility import hidden_words
from ingest.readers.pdf.words import ON_ONE_LINE, Word, overlaps, without_leaders
from vectorstore.models import Scalar

_STRUCK = re.compile(r"~~[^~\s]+~~(?: ~~[^~\s]+~~)+")
_BULLET = re.compile(r"^[•‣◦▪▫●○■□–·∙-]$")
_NUMBERING = re.compile(r"^(?:\d{1,3}|\(?(?:\d{1,2}|[A-Za-z]|[ivxIVX]{2,4}))[.)]$")  # "(143)" is a figure
_CURRENCY = re.compile(r"^[$€£¥₹]$")
_PERCENT = re.compile(r"^\)?%\)?$")
_LEADERS = 4  # minimum number of dots in a dot leader
_LEADER = re.compile(r"\.{4,}$")
_FIGURE_START = "0123456789(+.,–—-"
_FIGURE_END = "0123456789)%—–-"

_WIDE_GAP = 1.0  # line heights: words with a wider gap belong to different cells
_RULED_GAP = 0.2  # line heights: the same for words with a drawn line between them
_BETWEEN_RULES = 0.5  # line heights: minimum gap between the lines drawn below two columns, not two words

_ANGLES_READ = 200  # sampled characters per page that determine its rotation


@dataclass(frozen=True)
class Line:
    words: tuple[Word, ...]
    cells: tuple[tuple[Word, ...], ...]
    size: float
    page: int
    band: tuple[float, float] | None
    """Vertical positions of the edges below and above the line, if any: the row of a ruled table."""
    boxes: tuple[Box | None, ...]
    """The frame of each cell, if any."""
    underlines: tuple[Extent, ...] = ()
    """Extents of the drawn lines directly below, from left to right. Each may span several cells."""
    style: Style = PLAIN

    @cached_property
    def text(self) -> str:
        return joined(self.words)

    @cached_property
    def bottom(self) -> float:
        return min(word.bottom for word in self.words)

    @cached_property
    def top(self) -> float:
        return max(word.top for word in self.words)

    @property
    def height(self) -> float:
        return self.top - self.bottom


@dataclass(frozen=True, slots=True)
class Document:
    """The lines of every page in the reading order of PDFium, the metadata and the bookmarks."""

    pages: list[list[Line]]
    metadata: dict[str, Scalar]
    dates: dict[str, str]
    bookmarks: Sequence[Bookmark]
    is_xfa: bool
    """Whether a form in XFA replaces the pages."""
    hidden: Mapping[int, int]
    """The number of words that each page has but does not show."""


Recognise = Callable[[int, str, Sequence[Line], int, Callable[[], bytes]], list[Line]]
"""Recognises the text of a page.

Takes the page number, what its own text lacks (``""`` for nothing), the lines of that text, a resolution in dpi, and a
function that renders the page in that resolution. Returns the lines to use.
"""


def joined(words: Iterable[Word]) -> str:
    """Join words with spaces. Struck words next to each other are one text."""
    text = " ".join(word.text for word in words)
    return _STRUCK.sub(lambda run: run[0].replace("~~ ~~", " "), text) if "~~ ~~" in text else text


Inspect = Callable[["PdfPage", int, Sequence["Line"]], None]
"""Inspects an open page. Takes the page, its number and the lines of its own text."""


def read_lines(data: bytes, path: Path, recognise: Recognise, inspect: Inspect = lambda *_: None) -> Document:
    """Return the lines, metadata and bookmarks of the document. Error messages contain ``path``.

    Raises EncryptedDocument, CorruptDocument.
    """
    document = open_pdf(data, path)
    try:
        pages = (open_page(document, number, path) for number in range(1, len(document) + 1))
        hidden: dict[int, int] = {}
        lines = [_lines(page, number, recognise, inspect, hidden) for number, page in enumerate(pages, start=1)]
        return Document(
            lines, read_metadata(document), read_dates(document), read_bookmarks(document), is_xfa(document), hidden
        )
    finally:
        document.close()


def _lines(page: PdfPage, number: int, recognise: Recognise, inspect: Inspect, hidden: dict[int, int]) -> list[Line]:
    try:
        lines, hidden[number] = _written_lines(page, number)
        lack = lack_of(page, [word for line in lines for word in line.words])
        if lack == ILLEGIBLE:
            lines = []
        inspect(page, number, lines)
        if not pdfium.FPDFPage_CountObjects(page):
            return lines
        dpi = resolution(page)
        found = recognise(number, lack, lines, dpi, lambda: page_image(page, dpi))
        return found if lack or found != lines else _with_pictures(page, number, lines, recognise)
    finally:
        page.close()


def _with_pictures(page: PdfPage, number: int, lines: Sequence[Line], recognise: Recognise) -> list[Line]:
    """Return the lines with the recognized lines of pictures, each inserted before the first line below its picture."""
    found = list(lines)
    dpi = resolution(page)
    words = [word for line in lines for word in line.words]
    for box in pictures_of_text(page, words):
        shown = recognise(number, INSET, (), dpi, partial(page_image, page, dpi, box))
        place = next((at for at, line in enumerate(found) if line.top <= box[1] and _is_over(box, line)), len(found))
        found[place:place] = (_moved(line, box[0], box[1]) for line in shown)
    return found


def _is_over(box: tuple[float, float, float, float], line: Line) -> bool:
    return line.words[0].x0 < box[2] and line.words[-1].x1 > box[0]


def _moved(line: Line, x: float, y: float) -> Line:
    """Return a line that was recognized in a part of the page, moved to its place on the page."""
    cells = tuple(
        tuple(replace(word, x0=word.x0 + x, x1=word.x1 + x, bottom=word.bottom + y, top=word.top + y) for word in cell)
        for cell in line.cells
    )
    boxes = tuple(box and box.moved(x, y) for box in line.boxes)
    return replace(line, words=tuple(word for cell in cells for word in cell), cells=cells, boxes=boxes, band=None)


def _written_lines(page: PdfPage, number: int) -> tuple[list[Line], int]:
    """Return the lines of the text of a page, and the number of words that it does not show."""
    text_page = page.get_textpage()
    try:
        turn, *others = _turns(text_page)
        drawing = read_drawing(page, turn)
        visible = rotate_box(page.get_bbox(), turn)
        characters = read_characters(text_page)
        columns = take_columns(text_page, characters, turn)
        words = list(_words(text_page, characters, turn, is_mixed=bool(others)))
        if not turn:
            words = list(with_level_heads(text_page, words))
        placed = [*((index, word) for index, word, _ in words), *(column[0] for column in columns)]
        hidden = hidden_words(page, text_page, placed, turn)
        shown = [
            (index, replace(word, text="") if place in hidden else word, ends)
            for place, (index, word, ends) in enumerate(words)
        ]
        margins = take_margins(text_page, shown, turn) if turn or not page.get_rotation() else []
        margins += [] if turn or page.get_rotation() else take_stacks(shown)
        shown = with_laid_heads(text_page, shown, turn, drawing.vertical_lines)
        groups = list(_word_lines(rejoined(shown), visible))
        reorder = from_top_to_bottom if turn or page.get_rotation() else with_titles_first
        groups = in_rows(reorder(with_footers_last(groups)))
        columns = [each for place, each in enumerate(columns, len(words)) if place not in hidden]
        if columns := [each for each in columns if _is_inside(each[0][1], visible)]:
            if are_notes(groups, columns):
                margins += below(groups, columns)
            else:
                groups, drawing = with_columns(groups, columns), NOTHING
        return [_line(text_page, line, drawing, number, turn) for line in (*groups, *margins)], len(hidden)
    finally:
        text_page.close()


def _turns(text_page: PdfTextPage) -> list[int]:
    """Return the numbers of quarter turns to the left by which characters are rotated, the most frequent first."""
    count = text_page.count_chars()
    sample = range(0, count, max(1, count // _ANGLES_READ))
    angles = (pdfium.FPDFText_GetCharAngle(text_page, index) for index in sample)
    quarters = Counter(_quarter(angle) for angle in angles if angle >= 0)
    return [-quarter % 4 for quarter, _ in quarters.most_common()] or [0]


def _quarter(angle: float) -> int:
    return round(angle / (pi / 2)) % 4


def _word_lines(
    words: Iterable[tuple[int, Word, bool]], visible: tuple[float, float, float, float]
) -> Iterator[list[tuple[int, Word]]]:
    """Yield lines of words with the index of each word's first character.

    Drops words without a valid character, and words outside the visible box, because a page cut from a larger one keeps
    the text of its neighbours. Joins cells from left to right into one line, because PDFium may return each cell of a
    row as a line.
    """
    line: list[tuple[int, Word]] = []
    ended = False
    for index, word, ends_line in words:
        if not word.text or not _is_inside(word, visible):
            ended = ended or ends_line
            continue
        if line and (whole := joined_with_shifted(line[-1][1], word)) is not None:
            line[-1] = line[-1][0], whole
            ended = ends_line
            continue
        if line and not (_continues(line[-1][1], word) if ended else overlaps(line[-1][1], word)):
            yield line
            line = []
        line.append((index, word))
        ended = ends_line
    if line:
        yield line


def _is_inside(word: Word, box: tuple[float, float, float, float]) -> bool:
    """Return whether any part of the word is inside the box."""
    left, bottom, right, top = box
    return word.x0 < right and word.x1 > left and word.bottom < top and word.top > bottom


def _continues(last: Word, word: Word) -> bool:
    """Return whether the word is on the same line, to the right of the last word."""
    return word.x0 >= last.x1 and overlaps(last, word, ON_ONE_LINE)


def _words(
    text_page: PdfTextPage, characters: Sequence[str], turn: int, *, is_mixed: bool
) -> Iterator[tuple[int, Word, bool]]:
    """Yield every word with the index of its first character, and whether a line ends after it.

    A word also ends where the direction of print changes, on a page with several directions.
    """
    count = len(characters)
    start = 0
    while start < count:
        if characters[start].isspace():
            start += 1
            continue
        end = start + 1
        while end < count and not characters[end].isspace() and characters[end - 1] != SOFT_HYPHEN:
            if is_mixed and _quarter_of(text_page, end) != _quarter_of(text_page, start):
                break
            end += 1
        ends_line = end < count and (characters[end] in "\r\n" or characters[end - 1] == SOFT_HYPHEN)
        found = [character.replace(SOFT_HYPHEN, "-") for character in characters[start:end]]
        yield start, _boxed(text_page, found, start, turn), ends_line
        start = end


def _quarter_of(text_page: PdfTextPage, index: int) -> int:
    return _quarter(pdfium.FPDFText_GetCharAngle(text_page, index))


def _boxed(text_page: PdfTextPage, characters: Sequence[str], start: int, turn: int) -> Word:
    """Return the word of these characters, of which the first has the index ``start``."""
    places = (start, start + len(characters) - 1)
    first, last = (rotate_box(text_page.get_charbox(index, loose=True), turn) for index in places)
    left, right = min(first[0], last[0]), max(first[2], last[2])
    bottom, top = min(first[1], last[1]), max(first[3], last[3])
    text = "".join(characters)
    extents = [(box[1], box[3]) for box in (first, last)]
    if may_be_shifted(text, *extents) or (not turn and ends_with_small_digit(text_page, text, start, extents[0])):
        shown = with_shifts(text_page, characters, start, turn)
        if shown != text and not turn:  # lowered characters are below the line
            bottom = max(extents, key=lambda extent: extent[1] - extent[0])[0]
        text = shown
    return Word(text=text, x0=left, x1=right, bottom=bottom, top=top)


def _line(text_page: PdfTextPage, words: Sequence[tuple[int, Word]], drawing: Drawing, page: int, turn: int) -> Line:
    plain = with_strikes(without_leaders([word for _, word in words]), drawing.horizontal_lines)
    size = median(word.top - word.bottom for word in plain)
    return replace(line_of(plain, drawing, size, page), style=_style(text_page, words, drawing, turn))


def line_of(words: Sequence[Word], drawing: Drawing, size: float, page: int) -> Line:
    """Return a line of these words, with its cells in the frames of the drawing."""
    bottom, top = min(word.bottom for word in words), max(word.top for word in words)
    underlines = find_underlines(bottom, top, drawing)
    between = [((left + right) / 2, bottom, top) for left, right in _gaps_between(underlines, words, size)]
    cells = split_cells(words, rules=sorted([*drawing.vertical, *between]) if between else drawing.vertical)
    return Line(
        words=tuple(words),
        cells=cells,
        size=size,
        page=page,
        band=find_band(*words[0].middle, drawing.horizontal),
        boxes=tuple(find_box(*cell[0].middle, cell[-1].x1, drawing) for cell in cells),
        underlines=underlines,
    )


def _gaps_between(underlines: Sequence[Extent], words: Sequence[Word], size: float) -> Iterator[Extent]:
    """Yield the gaps between the lines drawn below two columns that are gaps between words, too."""
    for (_, left), (right, _) in pairwise(underlines):
        is_wide = right - left > _BETWEEN_RULES * size
        if is_wide and not any(word.x0 < right - 1 and word.x1 > left + 1 for word in words):
            yield left, right


def _style(text_page: PdfTextPage, words: Sequence[tuple[int, Word]], drawing: Drawing, turn: int) -> Style:
    """Return the style of the line: that of its first word, with an emphasis only if the last word has it too."""
    (index, first), (last_index, last) = words[0], words[-1]
    style = style_at(text_page, index, turn)
    _, bold, italic = font_at(text_page, last_index) if last_index != index else style[:3]
    edges = min(first.bottom, last.bottom), max(first.top, last.top)
    return style._replace(
        bold=style.bold and bold,
        italic=style.italic and italic,
        underlined=is_underlined(first.x0, last.x1, *edges, drawing.horizontal_lines),
    )


def split_cells(
    words: Sequence[Word], wide_gap: float = _WIDE_GAP, rules: Sequence[Rule] = ()
) -> tuple[tuple[Word, ...], ...]:
    """Split the words of a line into cells at wide gaps, and at narrower gaps that contain a drawn line."""
    cells: list[list[Word]] = [[words[0]]]
    for last, word in pairwise(words):
        begins_item = len(cells) == 1 and len(cells[0]) == 1 and (is_bullet(last) or _NUMBERING.match(last.text))
        ruled = _ruled(last, word, rules)
        gap = (word.x0 - last.x1) / max(word.top - word.bottom, 1.0)
        is_separate = gap > wide_gap or (ruled and gap > _RULED_GAP) or _begins_value(cells[-1], word)
        is_amount = _is_amount(last, word)
        if is_separate and not is_amount and (ruled or not begins_item):
            cells.append([word])
        else:
            cells[-1].append(word)
    return tuple(tuple(cell) for cell in cells)


def _is_amount(last: Word, word: Word) -> bool:
    """Return whether two words form an amount: a currency sign and a figure, or a figure and a percent sign."""
    if _CURRENCY.match(last.text):
        return word.text[0] in _FIGURE_START
    return bool(_PERCENT.match(word.text)) and last.text[-1] in _FIGURE_END


def _begins_value(cell: Sequence[Word], word: Word) -> bool:
    """Return whether the word starts a cell at any gap: after a dot leader, or as a currency sign after a figure."""
    if _CURRENCY.match(word.text):
        return cell[-1].text[-1] in _FIGURE_END
    return bool(_LEADER.search("".join(last.text for last in cell[-_LEADERS:]))) and not set(word.text) <= {"."}


def is_bullet(word: Word) -> bool:
    """Return whether the word is a bullet."""
    return bool(_BULLET.match(word.text))


def _ruled(last: Word, word: Word, rules: Sequence[Rule]) -> bool:
    """Return whether a drawn line is between two words. ``rules`` must be sorted."""
    middle = (word.top + word.bottom) / 2
    between = rules[bisect_left(rules, (last.x1 - 1,)) : bisect_right(rules, (word.x0 + 1, inf))]
    return any(bottom <= middle <= top for _, bottom, top in between)
