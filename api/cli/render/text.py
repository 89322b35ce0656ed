"""A console that is safe for untrusted text; paragraphs, lists and tables, for all renderers."""

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from multi_agent.values.sources import readable

INDENT = "    "
EXCERPT_LENGTH = 300  # characters


def show_line(console: Console, text: str | Text, style: str = "") -> None:
    """Print a line that only the terminal breaks."""
    console.print(Text(text, style=style) if isinstance(text, str) else text, soft_wrap=True)


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


@contextmanager
def progress_bar(*columns: ProgressColumn, shown: bool) -> Iterator[tuple[Progress, Console]]:
    """Show a bar on standard error, if that is a terminal. Yield it with the console."""
    console = SafeConsole(file=sys.stderr, highlight=False)
    shown_columns = (BarColumn(), *columns, TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*shown_columns, console=console, transient=True, disable=not (shown and console.is_terminal)) as bar:
        yield bar, console


class SafeConsole(Console):
    """A console that replaces control characters in text, such as terminal escape sequences. Styles still work."""

    def render(self, *args: Any, **kwargs: Any) -> Iterable[Segment]:
        for segment in super().render(*args, **kwargs):
            yield segment if segment.control else Segment(readable(segment.text), segment.style)
