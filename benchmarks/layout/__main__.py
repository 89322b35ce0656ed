"""Measure how well tables and headings of PDF pages are read. The gold data was labelled from pictures of the pages.

    python -m benchmarks.layout --reports DATA/annual-reports/docs --quarterly DATA/sec-10-q/docs
    python -m benchmarks.layout …  --beside      also measure pdfplumber, docling, kreuzberg and others, if installed
    python -m benchmarks.layout …  --words 2     also measure words and their order on 2 pages per document (Tesseract)
    python -m benchmarks.layout …  --failures    also list each miss with the text that was read

Scores of cells, each with a row label, a value and column heads:

row        the label and the value are in the same row of a table on that page
head       in addition, all words of the innermost head are above the value, in the header of the table or of the table
           that it continues
all heads  in addition, all words of the outer heads are there

Scores of headings, on pages whose headings are all labelled:

recall     share of gold headings read as headings
precision  share of heading blocks that are gold headings
taken      texts read as headings that only look like headings: slogans, large figures, running page headers

Scores of words, compared with the text that Tesseract recognises on pictures of pages with gold data:

words      share of the recognised words that were read
order      of the words that occur once in both: the share in the longest run in the same order

The time is CPU time per page read. Candor, kreuzberg and docling read whole documents, the others only some pages.

The comparison ignores case, punctuation, footnote marks and heading numbers. A block may join a title and its subtitle.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from time import process_time

from rich.console import Console
from rich.table import Table

from benchmarks.layout.gold import Gold, load
from benchmarks.layout.pictures import recognise
from benchmarks.layout.reading import READERS, NotAvailable, Reading
from benchmarks.layout.scoring import (
    CellResult,
    PageResult,
    WordResult,
    kind_of,
    score_cell,
    score_page,
    score_words,
)


@dataclass(frozen=True, slots=True)
class Result:
    """The scores of one library on one set. ``cells`` or ``pages`` is None if it does not detect tables or headings."""

    reader: str
    gold: Gold
    cells: tuple[CellResult, ...] | None
    pages: tuple[PageResult, ...] | None
    words: tuple[WordResult, ...]
    seconds: float
    """CPU time per page."""


Pictures = Mapping[str, Mapping[int, str]]
"""The recognised text by document and page."""


def main() -> None:
    chosen = _arguments()
    sets = [
        load(name, folder)
        for name, folder in (("annual", chosen.reports), ("quarterly", chosen.quarterly))
        if folder is not None
    ]
    pictures = {
        document: recognise(gold.folder / document, sorted(gold.labelled_pages_of(document))[-chosen.words :])
        if chosen.words
        else {}
        for gold in sets
        for document in gold.documents
    }
    results: list[Result] = []
    for reader in READERS if chosen.beside else ("candor",):
        try:
            results += (_measure(reader, gold, pictures, chosen.failures) for gold in sets if gold.documents)
        except NotAvailable as error:
            print(f"{reader}: {error}")
    _print(results)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=Path, help="folder of the annual reports")
    parser.add_argument("--quarterly", type=Path, help="folder of the quarterly reports")
    parser.add_argument("--beside", action="store_true", help="also measure the other libraries")
    parser.add_argument("--words", type=int, default=0, help="pages per document to measure words on, with Tesseract")
    parser.add_argument("--failures", action="store_true", help="list each miss with the text that was read")
    return parser.parse_args()


def _measure(reader: str, gold: Gold, pictures: Pictures, list_failures: bool) -> Result:
    cells: list[CellResult] | None = []
    pages: list[PageResult] | None = []
    words: list[WordResult] = []
    seconds, read = 0.0, 0
    for document in gold.documents:
        started = process_time()
        reading = READERS[reader](gold.folder / document, gold.pages_of(document))
        seconds += process_time() - started
        read += len(reading.texts)
        own = [score_cell(cell, reading) for cell in gold.cells if cell.document == document]
        headings = [score_page(page, reading) for page in gold.pages if page.document == document]
        cells = None if cells is None or reading.tables is None else [*cells, *own]
        pages = None if pages is None or reading.headings is None else [*pages, *headings]
        words += (score_words(text, reading.texts.get(page, "")) for page, text in pictures[document].items())
        if list_failures:
            _print_failures(reader, document, own, headings if pages is not None else (), reading)
    return Result(
        reader,
        gold,
        None if cells is None else tuple(cells),
        None if pages is None else tuple(pages),
        tuple(words),
        seconds / max(read, 1),
    )


def _print_failures(
    reader: str, document: str, cells: Sequence[CellResult], pages: Sequence[PageResult], reading: Reading
) -> None:
    for result in cells:
        if not result.under_all_heads:
            miss = "outer head" if result.under_head else "head" if result.in_row else "row"
            cell = result.cell
            print(f"\n{reader}: {document}, page {cell.page}: {miss} missed")
            print(f"  expected: {cell.row!r} | {' > '.join(cell.columns)} | {cell.value}")
            print("".join(f"  {line}\n" for line in result.read), end="")
    for page in pages:
        for heading in page.missed:
            kind = kind_of(heading, page.page.page, (*(reading.headings or ()), *reading.others), reading.tables or ())
            print(f"\n{reader}: {document}, page {page.page.page}: heading missed: {heading!r}\n  {kind}")
        for block in page.wrong:
            print(f"\n{reader}: {document}, page {page.page.page}: not a heading: {block!r}")


def _print(results: Sequence[Result]) -> None:
    columns = ("set", "reader", "row", "head", "all heads", "recall", "precision", "taken", "words", "order")
    table = Table(*columns, "CPU ms a page")
    for result in sorted(results, key=lambda result: result.gold.name):
        cells = ("", "", "") if result.cells is None else _cells(result.cells)
        headings = ("", "", "") if result.pages is None else _headings(result.pages)
        words = (_mean([getattr(page, name) for page in result.words]) for name in ("words", "order"))
        table.add_row(result.gold.name, result.reader, *cells, *headings, *words, f"{1000 * result.seconds:.0f}")
    Console().print(table)


def _cells(cells: Sequence[CellResult]) -> tuple[str, str, str]:
    row, head, all_heads = (
        _share(sum(getattr(cell, name) for cell in cells), len(cells))
        for name in ("in_row", "under_head", "under_all_heads")
    )
    return row, head, all_heads


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{fmean(known):.3f}" if known else ""


def _headings(pages: Sequence[PageResult]) -> tuple[str, str, str]:
    found = sum(len(page.found) for page in pages)
    right, wrong = sum(page.right for page in pages), sum(len(page.wrong) for page in pages)
    taken, looks = sum(len(page.taken) for page in pages), sum(len(page.page.not_headings) for page in pages)
    return (
        _share(found, sum(len(page.page.headings) for page in pages)),
        _share(right, right + wrong),
        f"{taken} of {looks}",
    )


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else ""


if __name__ == "__main__":
    main()
