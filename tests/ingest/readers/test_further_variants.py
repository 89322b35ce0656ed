"""Further files of the kinds of faults in ``test_cases.py``: raised print, symbols, number formats, JSON as text."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.errors import CorruptDocument
from ingest.parser import Parser, load_parser
from ingest.readers.pdf.turned import from_top_to_bottom
from ingest.readers.pdf.words import Word
from support.opendocument import write_open_document
from support.raw_pdf import text_at, write_plain_pdf


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


@pytest.fixture
def read(parser: Parser, tmp_path: Path) -> Callable[[str, str], str]:
    def read_text(name: str, content: str) -> str:
        (tmp_path / name).write_text(content)
        return parser.parse(tmp_path / name).text

    return read_text


def _in_runs(*runs: tuple[float, float, str]) -> str:
    """Return the commands that write runs of a rise and a size."""
    shown = "".join(f"{rise} Ts /F {size} Tf ({text}) Tj " for rise, size, text in runs)
    return f"BT 72 700 Td {shown}ET\n"


SHIFTED = {
    "rise of one size": (_in_runs((0, 11, "Emitted 10"), (4, 11, "6"), (0, 11, " tonnes")), "Emitted 10^6 tonnes"),
    "little smaller": (_in_runs((0, 11, "Emitted 10"), (4, 9.9, "6"), (0, 11, " tonnes")), "Emitted 10^6 tonnes"),
    "first letter": (_in_runs((0, 11, "so y"), (5, 11, "2"), (0, 11, " = 7, x"), (-3, 11, "i")), "so y^2 = 7, x_i"),
    "after lowered": (_in_runs((0, 11, "CO"), (-3, 7, "2"), (0, 11, " emitted, 12")), "CO_2 emitted, 12"),
    "lowered alone": (text_at(72, 700, "Level x") + text_at(109, 697, "1", 7), "Level x_1"),
    "sign of its own": (
        _in_runs((0, 11, "\\(279,408"), (1.6, 11, "\\)"), (0, 11, " and 2.79"), (1.6, 11, "%")),
        "(279,408) and 2.79%",
    ),
}


@pytest.mark.parametrize("kind", SHIFTED)
def test_shifted_print_in_runs_of_its_own(parser: Parser, tmp_path: Path, kind: str) -> None:
    drawn, text = SHIFTED[kind]
    write_plain_pdf(tmp_path / "a.pdf", drawn)
    assert parser.parse(tmp_path / "a.pdf").text == text


def test_raised_digits_of_a_font_are_raised(parser: Parser, tmp_path: Path) -> None:
    import typst

    source = "Emitted 10#super[6] tonnes of CO#sub[2], 10#super[−3] Fe#sub[2]O#sub[3], in 2021 106, $x_1^3 = y_2^(2-)$."
    (tmp_path / "a.typ").write_text(source)
    typst.compile(str(tmp_path / "a.typ"), output=str(tmp_path / "a.pdf"))
    text = "Emitted 10^6 tonnes of CO_2, 10^−3 Fe_2O_3, in 2021 106, 𝑥_1^3 = 𝑦_2^(2−) ."
    assert parser.parse(tmp_path / "a.pdf").text.replace("\n", " ") == text


@pytest.mark.parametrize("rows", [["m"], ["m", "plain text"], ["plain text", "m"], ["plain text", "m", "plain text"]])
def test_raised_print_drawn_after_all_lines(parser: Parser, tmp_path: Path, rows: list[str]) -> None:
    from fpdf import FPDF

    pdf = FPDF(unit="pt", format=(400, 400))
    pdf.add_page()
    apart: list[tuple[float, float, str]] = []
    for row, last in enumerate(rows):
        pdf.set_font("helvetica", size=11)
        x, y = 40.0, 60.0 + 18 * row
        for part, shift, mark in (
            ("The plant emits 10", -4, "6"),
            (" tonnes of CO", 2, "2"),
            (f" over 250 {last}", 0, ""),
        ):
            pdf.text(x, y, part)
            x += pdf.get_string_width(part)
            apart.append((x, y + shift, mark))
            x += pdf.get_string_width(mark) * 7 / 11
    pdf.set_font("helvetica", size=7)
    for x, y, mark in apart:
        pdf.text(x, y, mark)
    pdf.output(str(tmp_path / "a.pdf"))
    expected = [f"The plant emits 10^6 tonnes of CO_2 over 250 {last}" for last in rows]
    assert parser.parse(tmp_path / "a.pdf").text == "\n".join(expected)


def test_letters_of_symbol_fonts_in_rtf(read: Callable[[str, str], str]) -> None:
    table = r"{\fonttbl{\f0 Times;}{\f1\fcharset2 Symbol;}{\f2\fnil Symbol;}}{\stylesheet{\s1\f1 Sym;}}"
    body = r"angle {\f1 a}, {\f1 D}x, {\f2\'62}, {\f1\'b3} 7\par"
    assert read("a.rtf", rf"{{\rtf1\ansi\deff0{table}\pard {body}}}") == "angle α, Δx, β, ≥ 7"


def test_number_formats_hide_values_and_show_text(parser: Parser, tmp_path: Path) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(tmp_path / "a.xlsx")
    sheet = book.add_worksheet("A")
    rows: list[tuple[int | str, str]] = [(5, ";;;"), (0, "0;-0;;@"), ("abc", ";;;"), ("abc", '0;0;0;"T: "@')]
    rows += [(-3, '[<0]"minus "0;0'), (4, "0;-0;;@"), (-7, "0;;0")]
    for at, (value, code) in enumerate(rows):
        sheet.write_string(at, 0, f"r{at}")
        sheet.write(at, 1, value, book.add_format({"num_format": code}))
        sheet.write_string(at, 2, "z")
    book.close()
    lines = [line for line in parser.parse(tmp_path / "a.xlsx").text.split("\n") if line.startswith("| r")]
    assert [line.split("|")[2].strip() for line in lines] == ["", "", "", "T: abc", "minus 3", "4", ""]


def test_json_in_a_text_file_is_data(read: Callable[[str, str], str]) -> None:
    assert read("a.txt", '{"name": "M\\u00fcller", "note": "say \\"A\\""}') == 'name: Müller\nnote: say "A"'
    assert "Zoë" in read("b.log", '{"id": 1, "t": "Zo\\u00eb"}\n{"id": 2, "t": "M\\u00fcller"}\n')
    assert read("c.txt", "[1] See the report.") == "[1] See the report."


@pytest.mark.parametrize("matrix", ["0 1 -1 0 40 200", "0 -1 1 0 580 600"])
def test_sideways_print_in_the_margin_is_one_line(parser: Parser, tmp_path: Path, matrix: str) -> None:
    body = "".join(text_at(90, 720 - 16 * row, f"Row {row} of the page text.") for row in range(20))
    margin = f"BT /F 10 Tf {matrix} Tm (Draft version 17 margin note) Tj ET\n"
    unseen = "1 g BT /F 10 Tf 0 1 -1 0 300 200 Tm (Demo-version) Tj ET 0 g\n"
    for drawn in (body + margin, margin + body, body + unseen + margin):
        write_plain_pdf(tmp_path / "a.pdf", drawn)
        assert parser.parse(tmp_path / "a.pdf").text.endswith(
            "Row 19 of the page text.\n\nDraft version 17 margin note"
        )


def test_a_turned_page_whose_lines_run_upwards_is_read_downwards(parser: Parser, tmp_path: Path) -> None:
    lines = [["The depot office counted the pallets of each depot on every day of the year and"]]
    lines += [["published the counts in the yearly report for members and for the press."]]
    lines += [["Depot", "2021", "2022"], ["East", "311", "318"], ["West", "298", "297"], ["Dock", "401", "408"]]
    lines += [["Closing words: the dock moved in May 2022."]]
    places = [60, 74, 140, 158, 176, 194, 260]
    drawn = "".join(
        f"BT /F 11 Tf 0 -1 1 0 {612 - x} {732 - 120 * at} Tm ({text}) Tj ET\n"
        for line, x in zip(lines, places, strict=True)
        for at, text in enumerate(line)
    )
    write_plain_pdf(tmp_path / "a.pdf", drawn)
    text = parser.parse(tmp_path / "a.pdf").text
    assert "of the year and\npublished the counts" in text
    assert "| Depot | 2021 | 2022 |\n| --- | --- | --- |\n| East | 311 | 318 |" in text


def test_many_lines_of_a_turned_page_are_put_in_order() -> None:
    """Without comparing each line with every other."""
    lines = [[(at, Word("a", 10, 20, at, at + 0.9))] for at in range(16_000)]
    assert from_top_to_bottom(lines) == lines[::-1]


def _numbered(level: int, form: str, suffix: str = ".", more: str = "") -> str:
    return (
        f'<text:list-level-style-number text:level="{level}" style:num-format="{form}" style:num-suffix="{suffix}" '
        f"{more}/>"
    )


def _listed(style: str, *items: str, more: str = "") -> str:
    named = f' text:style-name="{style}"' if style else ""
    return f"<text:list{named} {more}>{''.join(items)}</text:list>"


def _item(text: str, inner: str = "", more: str = "") -> str:
    return f"<text:list-item {more}><text:p>{text}</text:p>{inner}</text:list-item>"


_LISTS = {
    "start": (_numbered(1, "1", more='text:start-value="4"'), _listed("A", _item("x"), _item("y")), "4. x\n5. y"),
    "letters": (_numbered(1, "a", ")"), _listed("A", _item("x"), _item("y")), "a) x\nb) y"),
    "levels": (
        _numbered(1, "1") + _numbered(2, "I", more='text:display-levels="2"'),
        _listed("A", _item("x", _listed("", _item("y"))), _item("z")),
        "1. x\n  1.I. y\n2. z",
    ),
    "bullets": (
        _numbered(1, "1") + '<text:list-level-style-bullet text:level="2" text:bullet-char="o"/>',
        _listed("A", _item("x", _listed("", _item("y")))),
        "1. x\n  - y",
    ),
    "restart": (_numbered(1, "1"), _listed("A", _item("x"), _item("y", more='text:start-value="7"')), "1. x\n7. y"),
    "continued": (
        _numbered(1, "1"),
        _listed("A", _item("x")) + _listed("A", _item("y"), more='text:continue-numbering="true"'),
        "1. x\n\n2. y",
    ),
    "again": (_numbered(1, "1"), _listed("A", _item("x")) + _listed("A", _item("y")), "1. x\n\n1. y"),
}


@pytest.mark.parametrize("kind", _LISTS)
def test_lists_of_opendocument_count_as_their_style_says(parser: Parser, tmp_path: Path, kind: str) -> None:
    levels, body, text = _LISTS[kind]
    style = f'<text:list-style style:name="A">{levels}</text:list-style>'
    write_open_document(tmp_path / "a.odt", "text", body, style)
    assert parser.parse(tmp_path / "a.odt").text == text


def test_a_list_has_the_style_of_its_paragraphs(parser: Parser, tmp_path: Path) -> None:
    style = f'<text:list-style style:name="A">{_numbered(1, "I")}{_numbered(2, "a", ")")}</text:list-style>'
    style += '<style:style style:name="Clause" style:list-style-name="A"/>'
    style += '<style:style style:name="P1" style:parent-style-name="Clause"/>'
    style += '<style:style style:name="X" style:parent-style-name="Y"/>'
    style += '<style:style style:name="Y" style:parent-style-name="X"/>'
    body = _listed("", _item("x", _listed("", _item("y"))), _item("z"))
    for name, text in (("P1", "I. x\n  a) y\nII. z"), ("X", "- x\n  - y\n- z")):
        named = body.replace("<text:p>", f'<text:p text:style-name="{name}">')
        write_open_document(tmp_path / "a.odt", "text", named, style)
        assert parser.parse(tmp_path / "a.odt").text == text


def test_headings_of_opendocument_have_their_numbers(parser: Parser, tmp_path: Path) -> None:
    levels = "".join(
        f'<text:outline-level-style text:level="{level}" style:num-format="1" text:display-levels="{level}"/>'
        for level in (1, 2)
    )
    heads = "".join(
        f'<text:h text:outline-level="{level}">{text}</text:h>' for level, text in ((1, "S"), (2, "T"), (1, "U"))
    )
    write_open_document(tmp_path / "a.odt", "text", heads, f"<text:outline-style>{levels}</text:outline-style>")
    assert parser.parse(tmp_path / "a.odt").text == "1 S\n\n1.1 T\n\n2 U"


def test_a_chapter_that_is_a_drawing_is_read(parser: Parser, tmp_path: Path) -> None:
    drawing = '<svg xmlns="http://www.w3.org/2000/svg"><text>Pier <tspan>7</tspan>: 45 EUR</text></svg>'
    with zipfile.ZipFile(tmp_path / "a.epub", "w") as book:
        book.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="c.opf"/></rootfiles></container>',
        )
        book.writestr(
            "c.opf",
            '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.svg" '
            'media-type="image/svg+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
        )
        book.writestr("a.svg", drawing)
        book.writestr("mimetype", "application/epub+zip")
    assert "Pier 7: 45 EUR" in parser.parse(tmp_path / "a.epub").text


def test_cues_of_scripts_without_blanks_are_joined(read: Callable[[str, str], str]) -> None:
    cues = "1\n00:00:01,000 --> 00:00:02,000\n契約は五月に\n\n2\n00:00:02,100 --> 00:00:04,000\n終わります。\n"
    assert read("a.srt", cues) == "(00:00:01) 契約は五月に終わります。"


@pytest.mark.parametrize("level", ["0", "999999999"])
def test_a_heading_of_opendocument_may_have_any_level(parser: Parser, tmp_path: Path, level: str) -> None:
    write_open_document(tmp_path / "a.odt", "text", f'<text:h text:outline-level="{level}">Pumps</text:h>')
    assert parser.parse(tmp_path / "a.odt").text == "Pumps"


def test_text_boxes_in_tables_and_lists_of_opendocument_are_read_once(parser: Parser, tmp_path: Path) -> None:
    note = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Net</text:p></text:note-body>"
    box = f"<draw:frame><draw:text-box><text:p>9 EUR{note}</text:note></text:p></draw:text-box></draw:frame>"
    cell = f"<table:table-row><table:table-cell><text:p>Fee{box}</text:p></table:table-cell></table:table-row>"
    body = f"<table:table>{cell}</table:table>" + _listed("", _item(f"Pump{box}"))
    write_open_document(tmp_path / "a.odt", "text", body)
    boxed = "9 EUR[1]\n\n[1] Net"
    assert parser.parse(tmp_path / "a.odt").text == f"| Fee |\n| --- |\n\n{boxed}\n\n- Pump\n\n{boxed}"


def test_cells_after_a_wide_gap_stay_in_their_column(parser: Parser, tmp_path: Path) -> None:
    def cell(text: str, repeated: int = 1) -> str:
        return (
            f"<table:table-cell table:number-columns-repeated='{repeated}'><text:p>{text}</text:p></table:table-cell>"
        )

    for gap, empty in ((100, 100), (400, 1)):  # empty columns of very wide sheets are left out
        rows = [cell("a") + cell("", gap) + cell("b") + cell("", 900), cell("c") + cell("", gap - 1) + cell("d") * 2]
        columns = f'<table:table-column table:number-columns-repeated="{gap + 1}"/>'
        body = columns + '<table:table-column table:visibility="collapse"/>'
        body += "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
        write_open_document(tmp_path / "a.ods", "spreadsheet", f'<table:table table:name="A">{body}</table:table>')
        lines = parser.parse(tmp_path / "a.ods").text.splitlines()
        assert lines[2] == f"| {' | '.join(['a', *[''] * empty, 'b (hidden column)'])} |"
        assert lines[4] == f"| {' | '.join(['c', *[''] * (empty - 1), 'd', 'd'])} |"


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damage_of_any_compression_is_an_error_of_the_file(parser: Parser, tmp_path: Path, method: int) -> None:
    write_open_document(tmp_path / "a.odt", "text", "<text:p>Pumps</text:p>")
    with zipfile.ZipFile(tmp_path / "a.odt", "a") as package:
        package.writestr("styles.xml", "".join(map(chr, range(33, 1_000))), method)
        info = package.getinfo("styles.xml")
    data = bytearray((tmp_path / "a.odt").read_bytes())
    start = info.header_offset + 60
    data[start : start + 300] = bytes(each ^ 0x55 for each in data[start : start + 300])
    (tmp_path / "a.odt").write_bytes(data)
    with pytest.raises(CorruptDocument, match=r"is damaged in styles\.xml"):
        parser.parse(tmp_path / "a.odt")
