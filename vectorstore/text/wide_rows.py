"""Shortens the rows of wide tables for the embedding model: what tells rows apart stays, most figures go.

The names and figures of 41 columns fill a passage, and all passages of such a table look alike to the model. Their
words are indexed in full, and their text is kept in full to be read and quoted.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

WIDE = 16
"""Columns. Rows with fewer are unchanged."""
_TEXTS = 9  # columns with letters that are kept, beside the first column, which is usually the key
_FIGURES = 3  # columns without letters that are kept
_BETWEEN = re.compile(r"(?<!\\)\|")


def narrowed(text: str) -> str:
    """Return the text with fewer columns in each run of wide rows. The first row of a run has the column names."""
    if text.count("|") < WIDE:
        return text
    return "\n".join(_narrowed_lines(text.split("\n")))


def columns_of(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the columns to keep, by the cells of the rows below the first."""
    below = rows[1:] or rows
    has_letters = [any(any(map(str.isalpha, row[at])) for row in below) for at in range(len(rows[0]))]
    texts = [at for at, has in enumerate(has_letters) if has and at][:_TEXTS]
    figures = [at for at, has in enumerate(has_letters) if not has and at][:_FIGURES]
    return sorted({0, *texts, *figures})


def cells_of(line: str) -> list[str]:
    """Return the cells of a row such as ``| a | b |``, or an empty list if the line is no row."""
    line = line.strip()
    return _BETWEEN.split(line[1:-1]) if line[:1] == line[-1:] == "|" and len(line) > 1 else []


def row_of(cells: Sequence[str], columns: Sequence[int]) -> str:
    """Return a row of some columns."""
    return f"|{'|'.join(cells[at] for at in columns if at < len(cells))}|"


def _narrowed_lines(lines: Sequence[str]) -> Iterator[str]:
    rows = [(cells_of(line), line) for line in lines]
    for width, run in groupby(rows, key=lambda row: len(row[0])):
        found = list(run)
        if width < WIDE:
            yield from (line for _, line in found)
            continue
        columns = columns_of([cells for cells, _ in found])
        yield from (row_of(cells, columns) for cells, _ in found)
