"""Tables with several head rows: each passage names the column of every figure."""

from __future__ import annotations

from pathlib import Path

import pytest
from docx import Document
from openpyxl import Workbook

from ingest.document import ParsedDocument
from ingest.parser import load_parser

HEAD = "| Branch | 2024 Plan | 2024 Actual | 2025 Plan | 2025 Actual |"
ROWS = [[f"Branch {number}", *(str(1000 * number + column) for column in range(4))] for number in range(1, 40)]


def write_html(file: Path) -> None:
    head = (
        '<tr><th rowspan="2">Branch</th><th colspan="2">2024</th><th colspan="2">2025</th></tr>'
        "<tr><th>Plan</th><th>Actual</th><th>Plan</th><th>Actual</th></tr>"
    )
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in ROWS)
    file.write_text(f"<html><body><table><thead>{head}</thead><tbody>{rows}</tbody></table></body></html>")


def write_xlsx(file: Path) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Branch", 2024, None, 2025, None])
    sheet.append([None, "Plan", "Actual", "Plan", "Actual"])
    for area in ("A1:A2", "B1:C1", "D1:E1"):
        sheet.merge_cells(area)
    for name, *figures in ROWS:
        sheet.append([name, *map(int, figures)])
    book.save(file)


def write_docx(file: Path) -> None:
    document = Document()
    table = document.add_table(rows=0, cols=5)
    for row in (["Branch", "2024", "", "2025", ""], ["", "Plan", "Actual", "Plan", "Actual"], *ROWS):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    for one, other in (((0, 0), (1, 0)), ((0, 1), (0, 2)), ((0, 3), (0, 4))):
        table.cell(*one).merge(table.cell(*other))
    document.save(str(file))


@pytest.mark.parametrize(("name", "write"), [("a.html", write_html), ("a.xlsx", write_xlsx), ("a.docx", write_docx)])
def test_head_rows_are_joined_per_column(name: str, write: object, tmp_path: Path) -> None:
    assert callable(write)
    write(tmp_path / name)
    parsed = load_parser("default").parse(tmp_path / name)
    assert header(parsed) == HEAD
    assert "| Branch 1 | 1000 |" in parsed.text


@pytest.mark.parametrize(
    "lines",
    [
        ["Name,Team,Team", "Ada,Red,Blue", "Bea,Red,Red"],  # the row below is no head
        ["Item,Price", "Pump,9000", "Valve,12"],
    ],
)
def test_an_ordinary_table_has_one_head_row(lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert header(load_parser("default").parse(tmp_path / "a.csv")) == f"| {' | '.join(lines[0].split(','))} |"


FIGURES = [",".join(row) for row in ROWS]
TEXTS = [f"Branch {number},Ann,open,Bob,closed" for number in range(1, 9)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Branch,2024,,2025,", ",Plan,Actual,Plan,Actual", *FIGURES], HEAD),
        (["Sales by branch,,,,", "Branch,2024,,2025,", ",Plan,Actual,Plan,Actual", *FIGURES], HEAD),
        (["Sales,Sales,Sales,Sales,Sales", "Branch,P24,A24,P25,A25", *FIGURES], "| Branch | P24 | A24 | P25 | A25 |"),
        (
            ["Branch,North,North,South,South", "Branch,Head,State,Head,State", *TEXTS],
            "| Branch | North Head | North State | South Head | South State |",
        ),
        (["Name,City,,Note,", ",,Rome,,open", *TEXTS], "| Name | City |  | Note |  |"),  # the row below has gaps
    ],
)
def test_blank_and_repeated_heads_are_joined_and_titles_left_out(
    lines: list[str], expected: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert header(load_parser("default").parse(tmp_path / "a.csv")) == expected


def header(parsed: ParsedDocument) -> str:
    [block] = [block for block in parsed.blocks if block.header_end is not None]
    assert block.header_end is not None
    return parsed.text[block.start : block.header_end].splitlines()[0]
