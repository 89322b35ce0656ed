"""Old Excel files (.xls) are read as Excel shows them: formats, errors, comments, and what is hidden is named."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from ingest.parser import Parser, load_parser
from ingest.readers.sheets.cells import place_name

CASES = Path(__file__).parents[1] / "cases/56-xlsx-hidden"


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def test_cells_are_shown_as_in_excel(parser: Parser) -> None:
    document = parser.parse(CASES / "x1_formats.xls")
    expected = [
        "| Bolt | 2024-03-05 | 1,234.50 EUR | 25.6% | 01067 | 31:30 | 2024-03-05 14:30 | true |",
        "| #DIV/0! |",
        "A2: Comment: Note: bolt from stock 9",
        "| Объединённая ячейка | Объединённая ячейка |",
        "Hidden (hidden sheet)",
        "| Name | Cost (hidden column) | Sell |",
    ]
    assert [each for each in expected if each not in document.text] == []
    assert document.warnings == ("Cells show an error instead of a value: #DIV/0! 1 time.",)


def test_hidden_rows_are_named(parser: Parser, tmp_path: Path) -> None:
    data = bytearray((CASES / "x1_formats.xls").read_bytes())
    row = data.index(struct.pack("<HHH", 0x0208, 16, 2))  # the third row of the first sheet
    data[row + 16] |= 0x20
    (tmp_path / "a.xls").write_bytes(data)
    assert "| Nut (hidden row) | 1999-12-31 |" in parser.parse(tmp_path / "a.xls").text


def test_hidden_parts_of_xlsx_are_named(parser: Parser) -> None:
    text = parser.parse(CASES / "pivot.xlsx").text
    expected = ["Cost (hidden column)", "HiddenRow (hidden row)", "Internal (hidden sheet)"]
    assert [each for each in expected if each not in text] == []


def test_a_file_whose_formats_are_damaged_is_read_with_a_warning(parser: Parser, tmp_path: Path) -> None:
    data = (CASES / "x1_formats.xls").read_bytes()
    font = data.index(struct.pack("<H", 0x00E0))
    (tmp_path / "a.xls").write_bytes(data[:font] + struct.pack("<H", 0x0999) + data[font + 2 :])
    document = parser.parse(tmp_path / "a.xls")
    assert "Bolt" in document.text


@pytest.mark.parametrize(("place", "name"), [((0, 0), "A1"), ((8, 25), "Z9"), ((0, 26), "AA1"), ((1, 702), "AAA2")])
def test_cells_have_the_names_of_excel(place: tuple[int, int], name: str) -> None:
    assert place_name(*place) == name
