"""The gold data: cells of tables and headings of pages, read from pictures of the pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: the label of its row, the heads above its column (outermost first) and its value."""

    document: str
    page: int
    row: str
    columns: tuple[str, ...]
    value: str


@dataclass(frozen=True, slots=True)
class Page:
    """The headings of a page. ``optional`` may be headings or not; ``not_headings`` only look like headings."""

    document: str
    page: int
    headings: tuple[str, ...]
    not_headings: tuple[str, ...]
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gold:
    """The gold data of one set of documents."""

    name: str
    folder: Path
    cells: tuple[Cell, ...]
    pages: tuple[Page, ...]

    def pages_of(self, document: str) -> frozenset[int]:
        """Return the pages of the document that have gold data, and the pages before them, where a table may begin."""
        pages = {page for name, page in self._places() if name == document}
        return frozenset(pages | {page - 1 for page in pages if page > 1})

    @property
    def documents(self) -> list[str]:
        return sorted({name for name, _ in self._places()})

    def _places(self) -> Iterator[tuple[str, int]]:
        yield from ((cell.document, cell.page) for cell in self.cells)
        yield from ((page.document, page.page) for page in self.pages)


def load(name: str, folder: Path, gold: Path = HERE) -> Gold:
    """Read ``NAME_cells.jsonl`` and ``NAME_headings.jsonl``. A file that does not exist is empty."""
    cells = (
        Cell(str(line["document"]), _page(line), str(line["row"]), _strings(line, "columns"), str(line["value"]))
        for line in _lines(gold / f"{name}_cells.jsonl")
    )
    pages = (
        Page(
            str(line["document"]),
            _page(line),
            _strings(line, "headings"),
            _strings(line, "not_headings"),
            _strings(line, "optional"),
        )
        for line in _lines(gold / f"{name}_headings.jsonl")
    )
    return Gold(name, folder, tuple(cells), tuple(pages))


def _lines(path: Path) -> Iterator[dict[str, object]]:
    if path.exists():
        yield from (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


def _page(line: dict[str, object]) -> int:
    return int(str(line["page"]))


def _strings(line: dict[str, object], name: str) -> tuple[str, ...]:
    values = line.get(name) or []
    return tuple(map(str, values)) if isinstance(values, list) else ()
