"""Lines that a PDF stores out of order."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.parser import Parser, load_parser
from support.raw_pdf import text_at, write_plain_pdf


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def test_a_title_that_is_stored_after_its_table_stands_above_it(parser: Parser, tmp_path: Path) -> None:
    rows = [
        ("CHF000", "2022", "2021"),
        ("Inventories", "311", "318"),
        ("Receivables", "298", "297"),
        ("Cash", "401", "408"),
    ]
    cells = [
        (x, 640 - 20 * at, text) for at, row in enumerate(rows) for x, text in zip((72, 300, 400), row, strict=True)
    ]
    title = [(72, 700, "Consolidated Balance Sheet")]
    foot = [(72, 40, "Annual report 59")]
    drawn = "".join(f"BT /F 11 Tf {x} {y} Td ({text}) Tj ET\n" for x, y, text in (*cells, *title, *foot))
    write_plain_pdf(tmp_path / "a.pdf", drawn)
    text = parser.parse(tmp_path / "a.pdf").text
    assert text.index("Consolidated Balance Sheet") < text.index("Inventories") < text.index("Annual report 59")


@pytest.mark.parametrize("order", ["first second", "second first"])
def test_a_title_of_two_lines_is_moved_as_a_whole(parser: Parser, tmp_path: Path, order: str) -> None:
    title = [(72, {"first": 712, "second": 700}[each], f"Title {each} line") for each in order.split()]
    stored = [(72, 640, "Body one"), (72, 620, "Body two"), *title, (72, 40, "Foot")]
    write_plain_pdf(tmp_path / "a.pdf", "".join(text_at(x, y, text) for x, y, text in stored))
    text = " ".join(parser.parse(tmp_path / "a.pdf").text.split())
    assert text == "Title first line Title second line Body one Body two Foot"


def test_the_second_column_stays_behind_the_first(parser: Parser, tmp_path: Path) -> None:
    first = [(72, 600 - 14 * at, f"The first column has the line {at} here") for at in range(12)]
    second = [(330, 642 - 14 * at, f"The second column has the line {at} here") for at in range(15)]
    drawn = "".join(f"BT /F 10 Tf {x} {y} Td ({text}) Tj ET\n" for x, y, text in (*first, *second))
    write_plain_pdf(tmp_path / "a.pdf", drawn)
    text = " ".join(parser.parse(tmp_path / "a.pdf").text.split())
    assert text.index("first column has the line 11") < text.index("second column has the line 0")
