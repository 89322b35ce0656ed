"""Measure tables of PDFs of many kinds, whose cells were written down from pictures of the pages.

    python -m benchmarks.layout.by_eye --documents DIR              the share of cells that were read, by document
    python -m benchmarks.layout.by_eye --documents DIR --failures   also list the cells that were missed
    python -m benchmarks.layout.by_eye --documents DIR --scans      read noisy, slightly turned pictures of the pages

``by_eye.tsv`` names each document below DIR: ``formats`` is that of ``benchmarks.formats``; ``camelot``, ``pdfplumber``
and ``tabula-java`` are clones of github.com/camelot-dev/camelot, /jsvine/pdfplumber and /tabulapdf/tabula-java (MIT).
The scores are those of ``benchmarks.layout``. The last 4 documents were labelled after the last change of the reader,
so that nothing was tuned with them.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benchmarks.layout.gold import HERE, Cell
from benchmarks.layout.reading import candor
from benchmarks.layout.scoring import CellResult, score_cell

DPI, TURN, NOISE = 200, 0.4, 12  # of the pictures: resolution, degrees, standard deviation of the grey values


def load(path: Path = HERE / "by_eye.tsv") -> dict[str, list[Cell]]:
    """Return the cells by document. Their heads are separated by " > ", the outermost first."""
    cells: dict[str, list[Cell]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            heads = tuple(filter(None, line["heads"].split(" > ")))
            cells[line["document"]].append(
                Cell(
                    document=line["document"],
                    page=int(line["page"]),
                    row=line["row"],
                    columns=heads,
                    value=line["value"],
                )
            )
    return cells


def picture(source: Path, page: int, target: Path) -> None:
    """Write a PDF with a noisy, slightly turned picture of the page."""
    import numpy
    import pypdfium2
    from PIL import Image

    with pypdfium2.PdfDocument(source) as document:
        image = document[page - 1].render(scale=DPI / 72, grayscale=True).to_pil().convert("L")
    turned = image.rotate(TURN, Image.Resampling.BICUBIC, fillcolor=255)
    noise = numpy.random.default_rng(7).normal(0, NOISE, (turned.height, turned.width))
    Image.fromarray((numpy.asarray(turned) + noise).clip(0, 255).astype("uint8")).save(target, "PDF", resolution=DPI)


def score(cells: Sequence[Cell], documents: Path, as_scan: bool) -> list[CellResult]:
    """Return the scores of the cells of one document."""
    source = documents / cells[0].document
    if not as_scan:
        reading = candor(source, {cell.page for cell in cells})
        return [score_cell(cell, reading) for cell in cells]
    with TemporaryDirectory() as folder:
        target = Path(folder, "scan.pdf")
        picture(source, cells[0].page, target)
        reading = candor(target, {1})
        return [score_cell(cell.model_copy(update={"page": 1}), reading) for cell in cells]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=Path, required=True, help="folder of the documents")
    parser.add_argument("--scans", action="store_true", help="read pictures of the pages")
    parser.add_argument("--failures", action="store_true", help="list the cells that were missed")
    parser.add_argument("--only", default="", help="measure the documents whose names contain this")
    arguments = parser.parse_args()
    console, shown, results = Console(width=140), Table("document", "cells", "row", "head", "all heads"), []
    for document, cells in load().items():
        if arguments.only in document:
            own = score(cells, arguments.documents, arguments.scans)
            shown.add_row(*_row(document, own))
            results += own
            if arguments.failures:
                _print_failures(console, own)
    shown.add_row(*_row("all", results))
    console.print(shown)


def _row(name: str, results: Sequence[CellResult]) -> Iterable[str]:
    counts = (sum(getattr(each, field) for each in results) for field in ("in_row", "under_head", "under_all_heads"))
    return name, str(len(results)), *map(str, counts)


def _print_failures(console: Console, results: Sequence[CellResult]) -> None:
    for each in results:
        if not each.under_all_heads:
            miss = "outer head" if each.under_head else "head" if each.in_row else "row"
            cell = each.cell
            console.print(f"{cell.document}: {miss} missed: {cell.row!r} | {' > '.join(cell.columns)} | {cell.value}")
            for line in each.read:
                console.print(f"    {line}", markup=False)


if __name__ == "__main__":
    main()
