"""The gold data: table cells and page headings, labelled from pictures of the pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

HERE = Path(__file__).parent


class Cell(BaseModel, frozen=True):
    """A table cell: the label of its row, the heads of its column (outermost first) and its value."""

    document: str
    page: int
    row: str
    columns: tuple[str, ...]
    value: str


class Page(BaseModel, frozen=True):
    """The headings of a page.

    Texts in ``optional`` may be read as headings or not. Texts in ``not_headings`` only look like headings.
    """

    document: str
    page: int
    headings: tuple[str, ...]
    not_headings: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


Line = TypeVar("Line", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold data of one set of documents."""

    name: str
    folder: Path
    cells: tuple[Cell, ...]
    pages: tuple[Page, ...]

    def pages_of(self, document: str) -> frozenset[int]:
        """Return the pages of the document with gold data and the pages before them, where a table may begin."""
        pages = self.labelled_pages_of(document)
        return pages | {page - 1 for page in pages if page > 1}

    def labelled_pages_of(self, document: str) -> frozenset[int]:
        """Return the pages of the document with gold data."""
        return frozenset(page for name, page in self._places() if name == document)

    @property
    def documents(self) -> list[str]:
        return sorted({name for name, _ in self._places()})

    def _places(self) -> Iterator[tuple[str, int]]:
        yield from ((cell.document, cell.page) for cell in self.cells)
        yield from ((page.document, page.page) for page in self.pages)


def load(name: str, folder: Path, gold: Path = HERE) -> Gold:
    """Load ``NAME_cells.jsonl`` and ``NAME_headings.jsonl``. A missing file counts as empty."""
    cells, pages = _lines(Cell, gold / f"{name}_cells.jsonl"), _lines(Page, gold / f"{name}_headings.jsonl")
    return Gold(name, folder, tuple(cells), tuple(pages))


def _lines(kind: type[Line], path: Path) -> list[Line]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [kind.model_validate_json(line) for line in lines if line.strip()]
