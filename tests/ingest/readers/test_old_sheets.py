"""Old Excel files (.xls) are read as Excel shows them: formats, errors, comments, and what is hidden is named."""

from __future__ import annotations

import struct
import time
import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook

from ingest.parser import Parser, load_parser
from ingest.readers.shared.ooxml import Package
from ingest.readers.sheets.cells import name_hidden, read_sheets
from ingest.readers.sheets.computed import Computed
from support.office import write_open

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


@pytest.mark.parametrize("suffix", [".xls", ".xlsx", ".ods"])
def test_values_that_their_format_hides_are_named(parser: Parser, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    if suffix == ".xlsx":
        book = Workbook()
        book.worksheets[0].append(["Lost", 55])
        book.worksheets[0]["B1"].number_format = ";;;"
        book.save(path)
    elif suffix == ".ods":
        cell = '<table:table-cell office:value-type="float" office:value="55"><text:p/></table:table-cell>'
        cell += '<table:table-cell office:value-type="string"><text:p>Lost</text:p></table:table-cell>'
        write_open(path, "spreadsheet", f"<table:table><table:table-row>{cell}</table:table-row></table:table>")
    else:
        path = CASES / "hidden_format.xls"
    assert "1 values were left out, because the formats" in parser.parse(path).warnings[0]


def test_hidden_parts_of_xlsx_are_named(parser: Parser) -> None:
    text = parser.parse(CASES / "pivot.xlsx").text
    expected = ["Cost (hidden column)", "HiddenRow (hidden row)", "Internal (hidden sheet)"]
    assert [each for each in expected if each not in text] == []


def test_rows_without_numbers_and_many_hidden_columns_are_read_in_linear_time(tmp_path: Path) -> None:
    book = tmp_path / "a.xlsx"
    rows = "<row><c><v>1</v></c></row><row/>" + "<row><c><v>2</v></c></row>" * 20_000
    sheet = f'<worksheet><cols><col min="2" max="16384" hidden="1"/></cols><sheetData>{rows}</sheetData></worksheet>'
    part = '<Relationship Id="s" Type="/worksheet" Target="/xl/sheet.xml"/>'
    with zipfile.ZipFile(book, "w") as package:
        package.writestr("xl/workbook.xml", '<workbook xmlns:r="r"><sheet name="S" r:id="s"/></workbook>')
        package.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{part}</Relationships>")
        package.writestr("xl/sheet.xml", sheet)
    package = Package(book.read_bytes(), book)
    started = time.process_time()
    (read,) = read_sheets(package, "xl/workbook.xml", Computed(b""))
    assert (read.rows[:3], len(read.rows)) == ([["1"], [""], ["2"]], 20_002)
    assert time.process_time() - started < 3


def test_hidden_columns_beyond_the_rows_take_no_time() -> None:
    started = time.process_time()
    assert name_hidden([["x"] for _ in range(20_000)], [], range(10_000))[0] == ["x (hidden column)"]
    assert time.process_time() - started < 1


def test_a_file_whose_formats_are_damaged_is_read_with_a_warning(parser: Parser, tmp_path: Path) -> None:
    data = (CASES / "x1_formats.xls").read_bytes()
    font = data.index(struct.pack("<H", 0x00E0))
    (tmp_path / "a.xls").write_bytes(data[:font] + struct.pack("<H", 0x0999) + data[font + 2 :])
    document = parser.parse(tmp_path / "a.xls")
    assert "Bolt" in document.text


@pytest.mark.parametrize("empty", [0, 3])
def test_hidden_parts_of_open_sheets_are_named(parser: Parser, tmp_path: Path, empty: int) -> None:
    def cells(*texts: str) -> str:
        one = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
        return "".join(one.format(text) for text in texts)

    gap = f'<table:table-row table:number-rows-repeated="{empty}"><table:table-cell/></table:table-row>' * bool(empty)
    body = (
        '<table:table table:name="Open"><table:table-column/><table:table-column table:visibility="collapse"/>'
        f"{gap}<table:table-row>{cells('Part', 'Cost')}</table:table-row>"
        '<table:table-row table:visibility="filter" table:number-rows-repeated="2">'
        f"{cells('Pump', '5')}</table:table-row></table:table>"
    )
    path = write_open(tmp_path / "a.ods", "spreadsheet", body)
    with zipfile.ZipFile(path, "a") as package:
        package.writestr(
            "META-INF/manifest.xml",
            '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:file-entry m:full-path="/"/>'
            "</m:manifest>",
        )
    expected = "| Part | Cost (hidden column) |\n| --- | --- |\n| Pump (hidden row) | 5 |\n| Pump (hidden row) | 5 |"
    assert expected in parser.parse(path).text


def test_hidden_parts_of_xml_sheets_are_named(parser: Parser, tmp_path: Path) -> None:
    def row(*texts: str, hidden: str = "") -> str:
        return f"<Row{hidden}>{''.join(f'<Cell><Data>{text}</Data></Cell>' for text in texts)}</Row>"

    hidden = ' ss:Hidden="1"'
    columns = f"<Column/><Column{hidden}/>"
    (tmp_path / "a.xml").write_text(
        '<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" '
        'xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet" xmlns:x="urn:schemas-microsoft-com:office:excel">'
        f'<Worksheet ss:Name="S"><Table>{columns}{row("Part", "Cost")}{row("Pump", "7", hidden=hidden)}</Table>'
        '</Worksheet><Worksheet ss:Name="Internal"><Table><Row/></Table><x:WorksheetOptions>'
        "<x:Visible>SheetHidden</x:Visible></x:WorksheetOptions></Worksheet></Workbook>"
    )
    text = parser.parse(tmp_path / "a.xml").text
    assert text.startswith("S\n\n| Part | Cost (hidden column) |\n| --- | --- |\n| Pump (hidden row) | 7 |")
    assert "Internal (hidden sheet)" in text
