"""The text of each format besides plain paragraphs: numbers, notes, merged cells, charts and others."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest

from ingest.document import ParsedDocument
from ingest.errors import CorruptDocument, EncryptedDocument
from ingest.parser import Parser, load_parser
from ingest.readers.legacy_word import write_flat_text
from ingest.readers.shared.document_builder import DocumentBuilder
from support.office import WORD, write_office, write_open


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def blocks(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(block.kind.value, document.text[block.start : block.end]) for block in document.blocks]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# Word


def _word(path: Path, body: str, **others: str) -> Path:
    parts = {"word/document.xml": f"<w:document {WORD}><w:body>{body}</w:body></w:document>"}
    parts |= {f"word/{name}.xml": f"<w:{name} {WORD}>{content}</w:{name}>" for name, content in others.items()}
    relations = {name: (name, f"word/{name}.xml") for name in others}
    return write_office(path, "word/document.xml", parts, {"word/document.xml": relations})


def _paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def test_word_numbers_its_headings_and_lists_as_printed(parser: Parser, tmp_path: Path) -> None:
    def numbered(list_id: int, level: int) -> str:
        return f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>'

    heading = '<w:outlineLvl w:val="{}"/>'
    numbering = """
      <w:abstractNum w:abstractNumId="0">
        <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1"/></w:lvl>
        <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>
      </w:abstractNum>
      <w:abstractNum w:abstractNumId="1">
        <w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1)"/></w:lvl>
      </w:abstractNum>
      <w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>"""
    body = (
        _paragraph("Scope", heading.format(0) + numbered(1, 0))
        + _paragraph("Terms", heading.format(0) + numbered(1, 0))
        + _paragraph("Notice", heading.format(1) + numbered(1, 1))
        + _paragraph("by letter", numbered(2, 0))
        + _paragraph("by hand", numbered(2, 0))
    )
    document = parser.parse(_word(tmp_path / "a.docx", body, numbering=numbering))
    assert blocks(document) == [
        ("heading", "1 Scope"),
        ("heading", "2 Terms"),
        ("heading", "2.1 Notice"),
        ("list", "c) by letter\nd) by hand"),
    ]
    assert [block.level for block in document.blocks] == [1, 1, 2, 0]


def test_word_has_notes_and_comments_but_no_deleted_text(parser: Parser, tmp_path: Path) -> None:
    body = (
        "<w:p><w:r><w:t>The rent is 900 euros</w:t></w:r><w:del><w:r><w:delText> a week</w:delText></w:r></w:del>"
        '<w:ins><w:r><w:t> a month</w:t></w:r></w:ins><w:r><w:footnoteReference w:id="2"/></w:r>'
        '<w:r><w:commentReference w:id="7"/></w:r></w:p>'
    )
    footnotes = f'<w:footnote w:id="2">{_paragraph("Heating is extra.")}</w:footnote>'
    comments = f'<w:comment w:id="7" w:author="Ada" w:date="2024-05-01">{_paragraph("Too much?")}</w:comment>'
    document = parser.parse(_word(tmp_path / "a.docx", body, footnotes=footnotes, comments=comments))
    assert document.text == (
        "The rent is 900 euros a month[1]\n\n[1] Heating is extra.\n\nComment (Ada, 2024-05-01): Too much?"
    )


def test_word_repeats_merged_cells(parser: Parser, tmp_path: Path) -> None:
    def cell(text: str, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{_paragraph(text)}</w:tc>"

    rows = [
        cell("Region") + cell("Sales", '<w:gridSpan w:val="2"/>'),
        cell("North", '<w:vMerge w:val="restart"/>') + cell("Q1") + cell("5"),
        cell("", "<w:vMerge/>") + cell("Q2") + cell("7"),
    ]
    body = f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"
    assert parser.parse(_word(tmp_path / "a.docx", body)).text.splitlines() == [
        "| Region | Sales | Sales |",
        "| --- | --- | --- |",
        "| North | Q1 | 5 |",
        "| North | Q2 | 7 |",
    ]


def test_tables_of_old_word_files_are_recognised_by_their_tabs() -> None:
    builder = DocumentBuilder()
    write_flat_text("Figure  SEQ Figure \\* ARABIC 1: Plan\n\tFood\t\tLeaf\t50\t\t\nEnd", builder)
    assert blocks(builder.build(parser="", mime_type="")) == [
        ("prose", "Figure 1: Plan"),
        ("table", "|  | Food |\n| --- | --- |\n| Leaf | 50 |"),
        ("prose", "End"),
    ]


# Workbooks


def test_a_sheet_has_a_table_per_header_and_comments(parser: Parser, tmp_path: Path) -> None:
    import openpyxl
    from openpyxl.comments import Comment

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Plan"
    for row in [("Team", "Days"), ("North", 5), ("", 8.5), (), ("Item", "Price"), ("Pump", 120)]:
        sheet.append(row)
    sheet.merge_cells("A2:A3")
    sheet["B3"].comment = Comment("Confirmed?", "Ada")
    book.save(tmp_path / "plan.xlsx")
    assert blocks(parser.parse(tmp_path / "plan.xlsx")) == [
        ("heading", "Plan"),
        ("table", "| Team | Days |\n| --- | --- |\n| North | 5 |\n| North | 8.5 |"),
        ("table", "| Item | Price |\n| --- | --- |\n| Pump | 120 |"),
        ("prose", "B3: Comment (Ada): Confirmed?"),
    ]


def test_headers_of_sheets_are_read_once_without_page_numbers(parser: Parser, tmp_path: Path) -> None:
    import openpyxl

    workbook = openpyxl.Workbook()
    for sheet in (workbook.active, workbook.create_sheet("Second")):
        sheet.append(["Rent", 900])
        sheet.oddHeader.left.text = "Pier & Sons"
        sheet.oddHeader.left.font = "Arial,Bold"
        sheet.oddHeader.left.size = 12
        sheet.oddFooter.center.text = "Page &P of &N"
        sheet.oddFooter.right.text = f"Lease of {sheet.title}"
    workbook.save(tmp_path / "a.xlsx")
    assert parser.parse(tmp_path / "a.xlsx").text.split("\n\n")[-3:] == [
        "Header: Pier & Sons",
        "Footer: Lease of Sheet",
        "Footer: Lease of Second",
    ]


# OpenDocument


def test_an_opendocument_text_has_lists_notes_and_tables(parser: Parser, tmp_path: Path) -> None:
    styles = '<text:list-style style:name="N"><text:list-level-style-number style:num-format="1"/></text:list-style>'
    body = """<text:h text:outline-level="2">Delivery</text:h>
      <text:p>Within<text:s text:c="2"/>10 days<text:note><text:note-citation>1</text:note-citation><text:note-body>
      <text:p>Working days.</text:p></text:note-body></text:note>.</text:p>
      <text:list text:style-name="N"><text:list-item><text:p>pack</text:p></text:list-item>
      <text:list-item><text:p>send</text:p></text:list-item></text:list>
      <table:table><table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>Zone</text:p>
      </table:table-cell><table:covered-table-cell/></table:table-row><table:table-row>
      <table:table-cell><text:p>EU</text:p></table:table-cell><table:table-cell><text:p>5 EUR</text:p>
      </table:table-cell></table:table-row></table:table>"""
    assert blocks(parser.parse(write_open(tmp_path / "a.odt", "text", body, styles))) == [
        ("heading", "Delivery"),
        ("prose", "Within  10 days[1]."),
        ("prose", "[1] Working days."),
        ("list", "1. pack\n2. send"),
        ("table", "| Zone | Zone |\n| --- | --- |\n| EU | 5 EUR |"),
    ]


def test_a_note_in_a_text_box_is_read_once(parser: Parser, tmp_path: Path) -> None:
    note = "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Once.</text:p>"
    box = f"<draw:text-box><text:p>Boxed{note}</text:note-body></text:note></text:p></draw:text-box>"
    body = f"<text:p>Outside<draw:frame>{box}</draw:frame></text:p>"
    assert parser.parse(write_open(tmp_path / "a.odt", "text", body)).text == "Outside\n\nBoxed[1]\n\n[1] Once."


def test_an_opendocument_text_has_its_headers_once(parser: Parser, tmp_path: Path) -> None:
    master = (
        "<style:header><text:p>Lease 4711<text:tab/>Page <text:page-number>1</text:page-number></text:p></style:header>"
        "<style:header-first><text:p>Lease 4711</text:p></style:header-first>"
        "<style:footer-left style:display='false'><text:p>Hidden</text:p></style:footer-left>"
        "<style:footer><text:p>Pier Estates, Bern</text:p><text:p>Rent.</text:p></style:footer>"
    )
    path = write_open(tmp_path / "a.odt", "text", "<text:p>Rent.</text:p>", master=master)
    assert parser.parse(path).text == "Rent.\n\nHeader: Lease 4711\n\nFooter: Pier Estates, Bern"


def test_slides_of_an_opendocument_presentation_are_pages(parser: Parser, tmp_path: Path) -> None:
    def slide(title: str, note: str = "") -> str:
        def frame(text: str) -> str:
            return f"<draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame>"

        notes = f"<presentation:notes><draw:frame>{frame(note)}</presentation:notes>" if note else ""
        return f'<draw:page><draw:frame presentation:class="title">{frame(title)}{notes}</draw:page>'

    document = parser.parse(write_open(tmp_path / "a.odp", "presentation", slide("One", "Smile.") + slide("Two")))
    assert document.text == "One\n\nNotes: Smile.\n\nTwo"
    assert [page.number for page in document.pages] == [1, 2]


# Markup


def test_a_page_has_merged_cells_but_no_menus(parser: Parser, tmp_path: Path) -> None:
    source = """<html lang="fi"><head><meta charset="iso-8859-1"><meta name="author" content="Äijä"><title>T</title>
    </head><body><nav><a href="/">Home</a></nav><p>Sää on hyvä.<table><caption>Pumps</caption>
    <tr><th>Model<th colspan=2>Power<tr><td rowspan=2>A<td>low<td>3<tr><td>high<td>9</table>"""
    document = parser.parse(write(tmp_path / "a.html", source.encode("iso-8859-1")))
    assert blocks(document) == [
        ("prose", "Sää on hyvä."),
        ("prose", "Pumps"),
        ("table", "| Model | Power | Power |\n| --- | --- | --- |\n| A | low | 3 |\n| A | high | 9 |"),
    ]
    assert document.metadata == {"language": "fi", "authors": "Äijä"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<p>One<p>Two<ul><li>a<ul><li>b</ul><li>c</ul>", "One\n\nTwo\n\n- a\n  - b\n- c"),
        ("<ul><li>The <b>Borea</b> works <i>well</i> at -25</ul>", "- The Borea works well at -25"),
        (
            "<ul><li><b>Borea</b> works<ul><li>in <b>snow</b> too</ul> and <i>in</i> ice</ul>",
            "- Borea works\n  - in snow too\n  and in ice",
        ),
        ("<p>one<wbr>word, <b>bold <i>both</b> none</i></p>", "oneword, bold both none"),
        ("<p>a<source media='(width >= 600px)' srcset='a.jpg'>b<source media=\"(width <= 6px)\">c</p>", "abc"),
        ("<source-note>one</source-note><track-list>two</track-list>", "source-note: one\ntrack-list: two"),
        (f"<table><tr><td>12<wbr title='{'x' * 3000}'>34<td>5</table>", "| 1234 | 5 |\n| --- | --- |"),
        ("<p>a</p>" + "<source a=\"'" * 20_000, "a"),
        ("<div>" * 5000 + "deep" + "</div>" * 5000 + "<p>after", "deep\n\nafter"),
        ("<b>" * 5000 + "deep", "deep"),
        ("<p>text" + "<!--" * 200_000, "text"),
    ],
    ids=[
        "unclosed",
        "after bold",
        "after a nested list",
        "overlapping",
        "bracket in a value",
        "own elements",
        "long value",
        "open values",
        "deep",
        "unclosed and deep",
        "unclosed comments",
    ],
)
def test_a_page_with_errors_is_read_like_in_a_browser(
    parser: Parser, tmp_path: Path, source: str, expected: str
) -> None:
    started = process_time()
    assert parser.parse(write(tmp_path / "a.html", source)).text == expected
    assert process_time() - started < 5


def test_a_web_page_saved_as_one_file_is_read_as_a_page(parser: Parser, tmp_path: Path) -> None:
    page = "<html><head><title>Sales</title></head><body><h1>Sales</h1><p>Tea =C2=BD</p></body></html>"
    source = (
        "From: <Saved by Blink>\nSubject: Sales\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary=x\n\n"
        f"--x\nContent-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n{page}\n"
        "--x\nContent-Type: image/png\n\nabc\n--x--\n"
    )
    document = parser.parse(write(tmp_path / "a.mhtml", source))
    assert (document.title, document.text) == ("Sales", "Sales\n\nTea ½")
    with pytest.raises(CorruptDocument, match="contains no web page"):
        parser.parse(write(tmp_path / "b.mht", "Subject: x\n\nNo page"))


def test_a_layout_table_is_not_a_table(parser: Parser, tmp_path: Path) -> None:
    source = """<table><tr><td>Menu</td><td><h1>Prices</h1><p>All in euros.</p>
    <table><tr><th>Item</th><th>Price</th></tr><tr><td>Pump with a long name</td><td>120</td></tr></table></td></tr>
    </table><table><tr><td><p>One frame</p><p>around two lines</p></td></tr></table>"""
    assert blocks(parser.parse(write(tmp_path / "a.html", source))) == [
        ("prose", "Menu"),
        ("heading", "Prices"),
        ("prose", "All in euros."),
        ("table", "| Item | Price |\n| --- | --- |\n| Pump with a long name | 120 |"),
        ("prose", "One frame"),
        ("prose", "around two lines"),
    ]


def test_html_in_markdown_is_read_as_html(parser: Parser, tmp_path: Path) -> None:
    source = "# A\n\n<table><tr><th>x</th></tr><tr><td>1</td></tr></table>\n"
    assert blocks(parser.parse(write(tmp_path / "a.md", source)))[1] == ("table", "| x |\n| --- |\n| 1 |")


def test_asciidoc_has_headings_lists_tables_and_captions(parser: Parser, tmp_path: Path) -> None:
    source = """= Guide
:author: Ada

Press *start*, see https://example.org[the plan].

. one
. two
** nested

.Limits
[cols="1,1"]
|===
|Mode |Power
2+|both
|.a|b
|===

----
x = 1
----
"""
    document = parser.parse(write(tmp_path / "a.adoc", source))
    assert blocks(document) == [
        ("heading", "Guide"),
        ("prose", "Press start, see the plan (https://example.org)."),
        ("list", "1. one\n2. two\n  - nested"),
        ("prose", "Limits"),
        ("table", "| Mode | Power |\n| --- | --- |\n| both | both |\n| .a | b |"),
        ("code", "x = 1"),
    ]
    assert (document.title, document.metadata) == ("Guide", {"authors": "Ada"})


def test_an_xml_article_has_sections_tables_and_formulas(parser: Parser, tmp_path: Path) -> None:
    source = r"""<?xml version="1.0"?><!DOCTYPE article SYSTEM "jats.dtd"><article><front><article-meta>
    <title-group><article-title>On &agr;-decay</article-title></title-group><contrib-group>
    <contrib contrib-type="author"><name><surname>Curie</surname><given-names>Marie</given-names></name></contrib>
    </contrib-group></article-meta></front><body><sec><title>Method</title><p>CO<sub>2</sub> at
    <inline-formula><alternatives><tex-math>\begin{document}$x^2$\end{document}</tex-math></alternatives></inline-formula></p><table-wrap><table><tr><td>a</td><td>b</td></tr></table></table-wrap></sec></body></article>"""
    document = parser.parse(write(tmp_path / "a.xml", source))
    assert ("heading", "On α-decay") in blocks(document)
    assert blocks(document)[-3:] == [
        ("heading", "Method"),
        ("prose", "CO_2 at\nx^2"),
        ("table", "| a | b |\n| --- | --- |"),
    ]
    assert (document.title, document.metadata) == ("On α-decay", {"authors": "Marie Curie"})


def test_xml_records_keep_their_field_names(parser: Parser, tmp_path: Path) -> None:
    source = "<?xml version='1.0'?><orders><order><id>7</id><price>12.50</price></order></orders>"
    assert parser.parse(write(tmp_path / "a.xml", source)).text == "id: 7\nprice: 12.50"


def test_broken_xml_is_read_with_a_warning(parser: Parser, tmp_path: Path) -> None:
    document = parser.parse(write(tmp_path / "a.xml", "<?xml version='1.0'?><a><p>Fish & chips</p><p>Tea</a>"))
    assert document.text == "Fish & chips\n\nTea"
    assert "not well-formed" in document.warnings[0]


def test_xml_entities_are_not_fetched_or_read_from_files(parser: Parser, tmp_path: Path) -> None:
    write(tmp_path / "secret.txt", "the secret")
    source = (
        f"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file://{tmp_path}/secret.txt">]><a><p>x: &x;</p></a>"""
    )
    assert "the secret" not in parser.parse(write(tmp_path / "a.xml", source)).text


def test_a_document_nested_too_deeply_is_rejected(parser: Parser, tmp_path: Path) -> None:
    with pytest.raises(CorruptDocument, match="nested too deeply"):
        parser.parse(write(tmp_path / "a.xml", "<?xml version='1.0'?>" + "<a>" * 5000 + "x" + "</a>" * 5000))


# Encrypted


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx"])
def test_an_encrypted_office_file_is_rejected(parser: Parser, tmp_path: Path, name: str) -> None:
    import io

    ooxml = pytest.importorskip("msoffcrypto.format.ooxml")
    plain = _word(tmp_path / "plain.docx", _paragraph("x"))
    sealed = io.BytesIO()
    ooxml.OOXMLFile(plain.open("rb")).encrypt("word", sealed)
    with pytest.raises(EncryptedDocument, match="password"):
        parser.parse(write(tmp_path / name, sealed.getvalue()))


# PDF


@pytest.mark.parametrize("angle", [90, 270])
def test_a_rotated_page_is_read_upright(parser: Parser, tmp_path: Path, angle: int) -> None:
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    with pdf.rotation(angle, x=105, y=148):
        for row, cells in enumerate([("Model", "Power", "Price"), ("A-1", "5 kW", "900"), ("A-2", "7 kW", "1200")]):
            for column, cell in enumerate(cells):
                pdf.text(60 + 40 * column, 140 + 6 * row, cell)
    pdf.output(str(tmp_path / "a.pdf"))
    text = parser.parse(tmp_path / "a.pdf").text
    assert text == "| Model | Power | Price |\n| --- | --- | --- |\n| A-1 | 5 kW | 900 |\n| A-2 | 7 kW | 1200 |"


CASES = Path(__file__).parents[1] / "cases"


def _damaged_sheet() -> bytes:
    data = bytearray((CASES / "56-xlsx-hidden" / "x1_formats.xls").read_bytes())
    for at, value in (
        (2979, 203),
        (2996, 118),
        (3653, 119),
        (8316, 240),
    ):  # found by chance; the formats cannot be read
        data[at] = value
    return bytes(data)


@pytest.mark.parametrize(
    ("name", "content", "warning"),
    [
        ("a.csv", 'a,b\n1,"open\n2,x\n3,y\n', "Line 2 opens a quote that is never closed."),
        ("a.json", '{"a": 1, "b": [}', "The file is not valid JSON, or nested too deeply"),
        ("a.rtf", r"{\rtf1 The rent {\b is 5 EUR.", "Raised, lowered and struck text of the file could not be told"),
        ("a.xls", _damaged_sheet(), "Numbers and dates are shown as they are stored"),
    ],
)
def test_a_damaged_file_is_read_with_a_warning(
    parser: Parser, tmp_path: Path, name: str, content: str | bytes, warning: str
) -> None:
    document = parser.parse(write(tmp_path / name, content))
    assert document.text
    assert [each for each in document.warnings if each.startswith(warning)]


def test_an_embedded_part_that_cannot_be_read_is_named(parser: Parser, tmp_path: Path) -> None:
    body = '<w:p><w:r><w:t>Rent 5.</w:t></w:r></w:p><w:altChunk r:id="aFChunk"/>'
    spaces = f'{WORD} xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    parts = {
        "word/document.xml": f"<w:document {spaces}><w:body>{body}</w:body></w:document>",
        "word/a.pdf": "%PDF-1.4 x",
    }
    relations = {"word/document.xml": {"aFChunk": ("aFChunk", "word/a.pdf")}}
    document = parser.parse(write_office(tmp_path / "a.docx", "word/document.xml", parts, relations))
    assert document.text == "Rent 5."
    assert document.warnings[0].startswith("A part of the document was not read.")


def test_halves_of_characters_are_joined_or_replaced() -> None:
    """Programs print names of files that are no UTF-8 with them, and Excel escapes them (``_xD83D_``)."""
    into = DocumentBuilder()
    into.prose("a \ud83d\ude00 b \udce4")
    into.table([["n"], ["\udc00"]])
    assert into.text == "a \U0001f600 b \ufffd\n\n| n |\n| --- |\n| \ufffd |"
