"""Measure tables of generated PDFs with known cells: 13 tables, each with every ruling and in every storage order.

    python -m benchmarks.layout.drawn              the share of cells that were read, by table, ruling and order
    python -m benchmarks.layout.drawn --failures   also list the cells that were missed
    python -m benchmarks.layout.drawn --keep DIR   also keep the PDFs

The scores are those of ``benchmarks.layout``: the label and the value in one row, the innermost head above the value,
and all heads above it. A PDF may store a table by rows, by columns or its labels before its values, whatever it shows.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.layout.gold import Cell
from benchmarks.layout.reading import candor
from benchmarks.layout.scoring import CellResult, score_cell

if TYPE_CHECKING:
    from fpdf import FPDF

LINE = 4.4  # millimetres between the lines of a cell
PAD = 1.4  # millimetres between a cell and its frame
SIZE = 9.0  # points
PROSE = (
    "The office collects these figures once a year from the local authorities and checks them against the registers. "
    "Differences to earlier editions come from late reports and from corrections that the authorities sent in. "
    "Readers who compare regions should note that the definitions changed in the course of the period."
)


@dataclass(frozen=True)
class Drawn:
    """A table: the heads of each level as (text, columns that it spans), and rows of a label and values."""

    name: str
    heads: Sequence[Sequence[tuple[str, int]]]
    rows: Sequence[Sequence[str]]
    label_width: float = 45
    width: float = 20
    align: str = "R"

    def columns(self) -> list[tuple[str, ...]]:
        """Return the heads above each value column, outermost first."""
        levels = [[text for text, span in level for _ in range(span)] for level in self.heads]
        return [tuple(text for text in texts if text) for texts in zip(*levels, strict=True)][1:]


def _figures(labels: Sequence[str], count: int, seed: int = 7) -> list[list[str]]:
    return [
        [label, *(f"{(seed * (r + 3) * (c + 5) * 37) % 9000 + 100:,}" for c in range(count))]
        for r, label in enumerate(labels)
    ]


REGIONS = ("North", "South", "East", "West", "Coast", "Islands", "Hills", "Lakes", "Capital", "Total")
TABLES = (
    Drawn(
        "plain",
        [[("Region", 1), ("Births", 1), ("Deaths", 1), ("Moves in", 1), ("Moves out", 1), ("Balance", 1)]],
        _figures(REGIONS, 5),
    ),
    Drawn(
        "years",
        [[("Country", 1), *((str(year), 1) for year in range(2019, 2025))]],
        _figures(("Austria", "Belgium", "Croatia", "Denmark", "Estonia", "Finland"), 6, 11),
    ),
    Drawn(
        "two levels",
        [[("", 1), ("Men", 2), ("Women", 2), ("Both", 2)], [("Age", 1), *[("Employed", 1), ("Seeking", 1)] * 3]],
        _figures(("15 to 24", "25 to 39", "40 to 54", "55 to 64", "65 and over"), 6, 13),
    ),
    Drawn(
        "long labels",
        [[("Item", 1), ("2023", 1), ("2024", 1), ("Change", 1)]],
        _figures(
            (
                "Income from fees,\nlicences and rents",
                "Grants",
                "Repayments of loans\nby municipalities",
                "Interest",
                "Costs of staff, including\npensions and training",
                "Other costs",
            ),
            3,
            17,
        ),
    ),
    Drawn(
        "long heads",
        [
            [
                ("Station", 1),
                ("Mean\ntemperature\n(degrees)", 1),
                ("Days\nbelow\nzero", 1),
                ("Rain\n(mm)", 1),
                ("Hours of\nsunshine", 1),
            ]
        ],
        _figures(("Harbour", "Airport", "Summit", "Valley", "Old town"), 4, 19),
    ),
    Drawn(
        "units",
        [[("Company", 1), ("Market value", 1), ("Revenue", 1), ("Margin", 1)]],
        [
            ["Alpha", "3.71T", "394.3B", "25.3%"],
            ["Beta", "83.0B", "9.4B", "11.0%"],
            ["Gamma", "1.2B", "640M", "n.a."],
            ["Delta", "512M", "88M", "-3.1%"],
        ],
        width=26,
    ),
    Drawn(
        "versions",
        [[("Feature", 1), ("1.0", 1), ("1.1", 1), ("2.0", 1), ("2.1", 1)]],
        [
            ["Export", "no", "yes", "yes", "yes"],
            ["Import", "yes", "yes", "yes", "yes"],
            ["Search", "no", "no", "beta", "yes"],
            ["Signing", "no", "no", "no", "beta"],
        ],
        align="C",
    ),
    Drawn(
        "groups",
        [[("", 1), ("2023", 1), ("2024", 1)]],
        [
            ["Assets", "", ""],
            ["  Cash", "1,204", "1,377"],
            ["  Loans", "8,112", "8,940"],
            ["Liabilities", "", ""],
            ["  Deposits", "7,001", "7,345"],
            ["  Bonds", "1,150", "1,420"],
            ["Equity", "1,165", "1,552"],
        ],
        label_width=50,
    ),
    Drawn(
        "words",
        [[("Risk", 1), ("Likelihood", 1), ("Effect", 1), ("Owner", 1)]],
        [
            ["Flood", "low", "severe", "Works"],
            ["Fire", "medium", "severe", "Safety"],
            ["Strike", "medium", "limited", "Staff"],
            ["Fraud", "low", "limited", "Audit"],
            ["Outage", "high", "moderate", "Systems"],
        ],
        width=26,
        align="L",
    ),
    Drawn(
        "spread",
        [[("Group", 1), ("n", 1), ("Mean (SD)", 1), ("95% CI", 1), ("p", 1)]],
        [
            ["Control", "48", "12.4 (3.1)", "11.5 to 13.3", "0.41"],
            ["Low dose", "51", "14.9 (2.8)", "14.1 to 15.7", "0.03"],
            ["High dose", "47", "17.2 (3.6)", "16.2 to 18.2", "<0.001"],
            ["All", "146", "14.8 (3.7)", "14.2 to 15.4", "-"],
        ],
        width=25,
        align="C",
    ),
    Drawn(
        "gaps",
        [[("Crop", 1), ("Area", 1), ("Yield", 1), ("Price", 1), ("Subsidy", 1)]],
        [
            ["Wheat", "412", "7.1", "", "31"],
            ["Rye", "88", "", "190", ""],
            ["Maize", "", "9.8", "175", "12"],
            ["Oats", "57", "4.9", "182", ""],
            ["Hops", "9", "", "", "5"],
        ],
    ),
    Drawn(
        "long",
        [[("No.", 1), *((f"Q{n}", 1) for n in range(1, 7))]],
        _figures([f"Unit {n}" for n in range(1, 25)], 6, 23),
        label_width=25,
    ),
    Drawn(
        "three levels",
        [
            [("", 1), ("Public", 4), ("Private", 2)],
            [("", 1), ("Schools", 2), ("Colleges", 2), ("Schools", 2)],
            [("Area", 1), *[("Pupils", 1), ("Staff", 1)] * 3],
        ],
        _figures(("Urban", "Suburban", "Rural", "Remote"), 6, 29),
    ),
)
RULINGS = ("none", "rows", "grid", "boxes", "frame", "one frame", "framed heads", "shaded rows")
ORDERS = ("rows", "columns", "labels first")


@dataclass(frozen=True)
class Box:
    """A cell on the page: its lines, its place in the table, and its edges in millimetres."""

    lines: Sequence[str]
    row: int
    column: int
    x: float
    y: float
    width: float
    height: float
    align: str


def boxes_of(table: Drawn, left: float, top: float) -> list[Box]:
    """Return the cells of the table with their places. A row is as high as its highest cell."""
    found: list[Box] = []
    y = top
    widths = [table.label_width, *[table.width] * (len(table.rows[0]) - 1)]
    levels = [*table.heads, *([(text, 1) for text in row] for row in table.rows)]
    for index, level in enumerate(levels):
        height = max(text.count("\n") + 1 for text, _ in level) * LINE + 2 * PAD
        column = 0
        for text, span in level:
            x, width = left + sum(widths[:column]), sum(widths[column : column + span])
            align = "L" if column == 0 else "C" if span > 1 else table.align
            found.append(Box(text.split("\n"), index, column, x, y, width, height, align))
            column += span
        y += height
    return found


def draw(pdf: FPDF, table: Drawn, ruling: str, order: str, left: float, top: float) -> float:
    """Draw the table on the page. Return its lower edge."""
    boxes = boxes_of(table, left, top)
    _rule(pdf, table, boxes, ruling)
    texts = [(box, number, line) for box in boxes for number, line in enumerate(box.lines) if line.strip()]
    heads = len(table.heads)
    match order:
        case "columns":
            texts.sort(key=lambda each: (each[0].column, each[0].row, each[1]))
        case "labels first":
            texts.sort(key=lambda each: (each[0].column > 0, each[0].row if each[0].row >= heads else 0))
    for box, number, line in texts:
        bold = box.row < heads
        pdf.set_font("Helvetica", "B" if bold else "", SIZE)
        room = box.height - 2 * PAD - LINE * len(box.lines)
        y = box.y + PAD + LINE * (number + 0.75) + (room if bold else 0)
        width = pdf.get_string_width(line.strip())
        indent = 4 if line.startswith("  ") else 0
        x = {"L": box.x + PAD + indent, "R": box.x + box.width - PAD - width, "C": box.x + (box.width - width) / 2}[
            box.align
        ]
        pdf.text(x, y, line.strip())
    return max(box.y + box.height for box in boxes)


def _rule(pdf: FPDF, table: Drawn, boxes: Sequence[Box], ruling: str) -> None:
    left, right = boxes[0].x, max(box.x + box.width for box in boxes)
    heads = len(table.heads)
    top, body, bottom = (
        boxes[0].y,
        min(box.y for box in boxes if box.row >= heads),
        max(box.y + box.height for box in boxes),
    )
    pdf.set_line_width(0.2)
    for box in boxes:
        if ruling == "grid" or (ruling == "framed heads" and box.row < heads):
            _frame(pdf, box.x, box.y, box.width, box.height)
        elif ruling == "boxes":
            pdf.rect(box.x, box.y, box.width, box.height)
        elif ruling == "rows" and box.column == 0:
            pdf.line(left, box.y + box.height, right, box.y + box.height)
        elif ruling == "shaded rows" and box.column == 0 and box.row >= heads and box.row % 2:
            pdf.set_fill_color(225)
            pdf.rect(left, box.y, right - left, box.height, style="F")
        elif ruling == "one frame" and box.row >= heads and box.row == len(table.heads):
            _frame(pdf, box.x, body, box.width, bottom - body)
        elif ruling == "one frame" and box.row < heads:
            _frame(pdf, box.x, box.y, box.width, box.height)
    if ruling == "frame":
        pdf.rect(left, top, right - left, bottom - top)
        pdf.line(left, body, right, body)


def _frame(pdf: FPDF, x: float, y: float, width: float, height: float) -> None:
    for x0, y0, x1, y1 in ((0, 0, 1, 0), (0, 1, 1, 1), (0, 0, 0, 1), (1, 0, 1, 1)):
        pdf.line(x + x0 * width, y + y0 * height, x + x1 * width, y + y1 * height)


def write(path: Path, table: Drawn, ruling: str, order: str) -> None:
    """Write a PDF page with a heading, text, the table with a title, and text below."""
    from fpdf import FPDF

    pdf = FPDF()
    pdf.set_auto_page_break(auto=False)
    pdf.add_page()
    pdf.set_font("Helvetica", "B", 14)
    pdf.text(18, 20, "Annual statistics")
    pdf.set_xy(17, 26)
    pdf.set_font("Helvetica", "", 10)
    pdf.multi_cell(176, 5, PROSE)
    pdf.set_font("Helvetica", "B", 10)
    pdf.text(18, pdf.get_y() + 9, f"Table 1. {table.name.capitalize()}")
    bottom = draw(pdf, table, ruling, order, 18, pdf.get_y() + 13)
    if bottom < 240:
        pdf.set_xy(17, bottom + 6)
        pdf.set_font("Helvetica", "", 10)
        pdf.multi_cell(176, 5, PROSE)
    pdf.output(str(path))


def cells_of(table: Drawn, document: str) -> Iterator[Cell]:
    """Yield the cells of the table with a value."""
    columns = table.columns()
    for row in table.rows:
        for head, value in zip(columns, row[1:], strict=True):
            if value.strip():
                heads = tuple(" ".join(text.split()) for text in head)
                yield Cell(document=document, page=1, row=" ".join(row[0].split()), columns=heads, value=value)


def measure(folder: Path, only: str = "") -> Iterator[tuple[tuple[str, str, str], list[CellResult]]]:
    """Yield the scores of each table, ruling and order."""
    for table, ruling, order in product(TABLES, RULINGS, ORDERS):
        name = f"{table.name}-{ruling}-{order}.pdf".replace(" ", "_")
        if only and only not in name:
            continue
        write(folder / name, table, ruling, order)
        reading = candor(folder / name, {1})
        yield (table.name, ruling, order), [score_cell(cell, reading) for cell in cells_of(table, name)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--failures", action="store_true", help="list the cells that were missed")
    parser.add_argument("--keep", type=Path, help="keep the PDFs in this folder")
    parser.add_argument("--only", default="", help="measure the PDFs whose names contain this")
    arguments = parser.parse_args()
    console = Console(width=160)
    sums: dict[tuple[str, str], list[CellResult]] = defaultdict(list)
    with TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for (table, ruling, order), results in measure(folder, arguments.only):
            for kind, name in (("all", ""), ("table", table), ("ruling", ruling), ("order", order)):
                sums[kind, name] += results
            if arguments.failures:
                missed = [each for each in results if not each.under_all_heads]
                if missed:
                    first = missed[0]
                    console.print(
                        f"{first.cell.document}: {len(missed)} of {len(results)}, {first.cell!r} {first.read}"
                    )
    shown = RichTable("", "", "cells", "row", "head", "all heads")
    for (kind, name), results in sums.items():
        shares = [
            sum(getattr(each, field) for each in results) / len(results)
            for field in ("in_row", "under_head", "under_all_heads")
        ]
        shown.add_row(kind, name, f"{len(results):,}", *(f"{share:.3f}" for share in shares))
    console.print(shown)


if __name__ == "__main__":
    main()
