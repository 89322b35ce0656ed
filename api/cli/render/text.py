"""A console that is safe for untrusted text; paragraphs, lists and tables, for all renderers."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from multi_agent.values.sources import readable

INDENT = "    "
EXCERPT_LENGTH = 300  # characters
_BEFORE = 60  # characters of an excerpt before its first word
_STEM = 4  # letters that forms of a word share at least
_RULE = re.compile(r"^\|(?: *:?-+:? *\|)+\n", re.MULTILINE)  # between the heads of a table and its rows
_ROWS = re.compile(r"\|\n\|")


def show_paragraph(console: Console, text: str, bold: Sequence[str] = ()) -> None:
    """Print indented text, wrapped to the width of the console, with some words in bold."""
    width = max(20, console.width - 2 * len(INDENT))
    for line in text.splitlines():
        shown = Text(textwrap.fill(line, width, initial_indent=INDENT, subsequent_indent=INDENT))
        shown.highlight_words(bold, "bold", case_sensitive=False)
        console.print(shown, soft_wrap=True)


def show_list(console: Console, heading: str, items: Sequence[str]) -> None:
    """Print a heading and its items, if there are items."""
    if items:
        console.print(Text(f"\n{heading}", style="bold"))
        for item in items:
            show_paragraph(console, item)


def show_table(console: Console, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows under column headings."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    width = console.width
    if not console.is_terminal:  # programs read the rows, so none is broken
        console.width = 10_000
    console.print(table)
    console.width = width


def excerpt(text: str) -> str:
    """Return the beginning of a text, cut at a word."""
    return textwrap.shorten(text, EXCERPT_LENGTH, placeholder=" …")


def excerpt_around(text: str, words: Sequence[str]) -> str:
    """Return the part of a passage that has most of the words. A " / " is between the rows of a table."""
    text = " ".join(_ROWS.sub(" / ", _RULE.sub("", text)).split())
    found = sorted(place for word in words for place in _places(word, text))
    if not found:
        return excerpt(text)
    last = EXCERPT_LENGTH - _BEFORE
    first = max((at for at, _ in found), key=lambda at: len({word for other, word in found if 0 <= other - at < last}))
    begin = text.find(" ", first - _BEFORE) + 1 if first > 2 * _BEFORE else 0
    return ("… " if begin else "") + excerpt(text[begin:])


def _places(word: str, text: str) -> list[tuple[int, str]]:
    """Return where a text has the word, or else words that begin like it."""
    for part in (rf"{re.escape(word)}\b", re.escape(word[: max(_STEM, len(word) - 3)])):
        if found := [(each.start(), word) for each in re.finditer(rf"\b{part}", text, re.IGNORECASE)]:
            return found
    return []


class SafeConsole(Console):
    """A console that replaces control characters in text, such as terminal escape sequences. Styles still work."""

    def render(self, *args: Any, **kwargs: Any) -> Iterable[Segment]:
        for segment in super().render(*args, **kwargs):
            yield segment if segment.control else Segment(readable(segment.text), segment.style)
