"""Measure how well tables and headings of PDF pages are read. The gold data was labelled from pictures of the pages.

    python -m benchmarks.layout --reports DATA/annual-reports/docs --quarterly DATA/sec-10-q/docs
    python -m benchmarks.layout …  --beside      also measure pdfplumber, kreuzberg and docling, if available
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

The comparison ignores case, punctuation, footnote marks and heading numbers. A block may join a title and its subtitle.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table

from benchmarks.layout.gold import Gold, load
from benchmarks.layout.reading import READERS, NotAvailable, Reading
from benchmarks.layout.scoring import CellResult, PageResult, kind_of, score_cell, score_page


@dataclass(frozen=True, slots=True)
class Result:
    """The scores of one library on one set. ``pages`` is None if the library does not detect headings."""

    reader: str
    gold: Gold
    cells: tuple[CellResult, ...]
    pages: tuple[PageResult, ...] | None
    seconds: float


def main() -> None:
    chosen = _arguments()
    sets = [
        load(name, folder)
        for name, folder in (("annual", chosen.reports), ("quarterly", chosen.quarterly))
        if folder is not None
    ]
    results: list[Result] = []
    for reader in READERS if chosen.beside else ("candor",):
        try:
            results += (_measure(reader, gold, list_failures=chosen.failures) for gold in sets if gold.documents)
        except NotAvailable as error:
            print(f"{reader}: {error}")
    _print(results)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=Path, help="folder of the annual reports")
    parser.add_argument("--quarterly", type=Path, help="folder of the quarterly reports")
    parser.add_argument("--beside", action="store_true", help="also measure pdfplumber, kreuzberg and docling")
    parser.add_argument("--failures", action="store_true", help="list each miss with the text that was read")
    return parser.parse_args()


def _measure(reader: str, gold: Gold, *, list_failures: bool) -> Result:
    cells: list[CellResult] = []
    pages: list[PageResult] | None = []
    seconds = 0.0
    for document in gold.documents:
        started = perf_counter()
        reading = READERS[reader](gold.folder / document, gold.pages_of(document))
        seconds += perf_counter() - started
        own = [score_cell(cell, reading) for cell in gold.cells if cell.document == document]
        headings = [score_page(page, reading) for page in gold.pages if page.document == document]
        cells += own
        pages = None if pages is None or reading.headings is None else [*pages, *headings]
        if list_failures:
            _print_failures(reader, document, own, headings if pages is not None else (), reading)
    return Result(reader, gold, tuple(cells), None if pages is None else tuple(pages), seconds)


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
            kind = kind_of(heading, page.page.page, (*(reading.headings or ()), *reading.others), reading.tables)
            print(f"\n{reader}: {document}, page {page.page.page}: heading missed: {heading!r}\n  {kind}")
        for block in page.wrong:
            print(f"\n{reader}: {document}, page {page.page.page}: not a heading: {block!r}")


def _print(results: Sequence[Result]) -> None:
    table = Table("set", "reader", "cells", "row", "head", "all heads", "recall", "precision", "taken", "seconds")
    for result in sorted(results, key=lambda result: result.gold.name):
        count = len(result.cells)
        rows, heads, all_heads = (
            _share(sum(getattr(cell, name) for cell in result.cells), count)
            for name in ("in_row", "under_head", "under_all_heads")
        )
        headings = ("", "", "") if result.pages is None else _headings(result.pages)
        table.add_row(
            result.gold.name, result.reader, str(count), rows, heads, all_heads, *headings, f"{result.seconds:.0f}"
        )
    Console().print(table)


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
    return f"{part / whole:.3f} ({part} of {whole})" if whole else ""


if __name__ == "__main__":
    main()
