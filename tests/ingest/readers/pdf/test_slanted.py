"""Heads that are drawn at an angle stay with their table."""

from __future__ import annotations

from pathlib import Path

import pytest
from fpdf import FPDF

from ingest.parser import load_parser
from ingest.reader import OcrMode, ParserOptions

HEADS = ["Region North", "Region South", "Total", "Last year"]
ROWS = {"Apples": (12, 15, 18, 21), "Pears": (22, 25, 28, 31), "Plums": (32, 35, 38, 41)}


@pytest.mark.parametrize(("angle", "step"), [(30, 60), (45, 60), (45, 28), (60, 60), (90, 60), (-45, 60)])
def test_slanted_heads_stand_above_their_columns(tmp_path: Path, angle: int, step: int) -> None:
    pdf = FPDF(unit="pt", format=(595, 842))
    pdf.add_page()
    pdf.set_font("Helvetica", size=10)
    pdf.text(60, 60, "The table shows the results of all regions.")
    for number, head in enumerate(HEADS):
        x = 160 + step * number
        with pdf.rotation(angle, x, 190):
            pdf.text(x if angle > 0 else x - pdf.get_string_width(head), 190, head)
    for row, (label, values) in enumerate(ROWS.items()):
        pdf.text(60, 210 + 16 * row, label)
        for number, value in enumerate(values):
            pdf.text(160 + step * number, 210 + 16 * row, str(value))
    pdf.output(str(tmp_path / "a.pdf"))
    text = load_parser("default", ParserOptions(ocr=OcrMode.NEVER)).parse(tmp_path / "a.pdf").text
    assert "|  | Region North | Region South | Total | Last year |\n" in text
    assert text.endswith("| Apples | 12 | 15 | 18 | 21 |\n| Pears | 22 | 25 | 28 | 31 |\n| Plums | 32 | 35 | 38 | 41 |")


@pytest.mark.parametrize("angle", [90, -90])
def test_the_header_of_a_page_with_a_table_on_its_side_is_a_line(tmp_path: Path, angle: int) -> None:
    pdf = FPDF(unit="pt", format=(595, 842))
    pdf.add_page()
    pdf.set_font("Helvetica", size=10)
    pdf.text(60, 40, "Annual report of the authority")
    with pdf.rotation(angle, 300, 420):
        for row, (label, values) in enumerate(ROWS.items()):
            for column, text in enumerate((label, *map(str, values))):
                pdf.text(100 + 80 * column, 400 + 16 * row, text)
        pdf.text(100, 480, "The levels are those of the stations of the river in May.")
    pdf.output(str(tmp_path / "a.pdf"))
    text = load_parser("default", ParserOptions(ocr=OcrMode.NEVER)).parse(tmp_path / "a.pdf").text
    assert "| Pears | 22 | 25 | 28 | 31 |" in text
    assert text.endswith("\n\nAnnual report of the authority")


def test_a_slanted_watermark_is_no_head(tmp_path: Path) -> None:
    pdf = FPDF(unit="pt", format=(595, 842))
    pdf.add_page()
    pdf.set_font("Helvetica", size=60)
    with pdf.rotation(45, 100, 600):
        pdf.text(100, 600, "Draft of May")
    pdf.set_font("Helvetica", size=10)
    pdf.text(60, 60, "The rent is 900 euros.")
    pdf.output(str(tmp_path / "a.pdf"))
    words = load_parser("default", ParserOptions(ocr=OcrMode.NEVER)).parse(tmp_path / "a.pdf").text.split()
    assert sorted(words) == sorted(["Draft", "of", "May", "The", "rent", "is", "900", "euros."])
