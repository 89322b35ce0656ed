"""Writes the sample files that are not stored: those of office programs, PDF, books, pictures and archives."""

from __future__ import annotations

import gzip
import struct
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from support.compound import write_compound
from support.files import make_png
from support.office import OFFICE, WORD, write_office, write_open, write_xps
from support.raw_pdf import RawPage, write_raw_pdf

PLANT = Path(__file__).parents[1] / "ingest" / "cases" / "42-ppt-twice-no-slides" / "plant.zip"


def _run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"


def _paragraph(*runs: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{''.join(runs)}</w:p>"


def write_word(path: Path) -> None:
    """Write a Word file."""
    item = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    boxed = f"<w:txbxContent>{_paragraph(_run('box words'))}</w:txbxContent>"
    box = f"<w:r><w:pict><v:shape><v:textbox>{boxed}</v:textbox></v:shape></w:pict></w:r>"
    picture = '<wp:inline><wp:docPr id="1" name="a" descr="picture description"/></wp:inline>'
    picture = f"<w:r><w:drawing>{picture}</w:drawing></w:r>"
    caption = _paragraph(_run("Picture caption"), properties='<w:pStyle w:val="Caption"/>')
    marks = "".join(
        f'<w:r><w:{kind}Reference w:id="{number}"/></w:r>'
        for kind, number in (("footnote", 2), ("endnote", 2), ("comment", 7))
    )
    link = f"""<w:fldSimple w:instr='HYPERLINK "https://example.org/form"'>{_run("the link")}</w:fldSimple>"""
    field = f'<w:fldSimple w:instr=" DOCPROPERTY x ">{_run(" field value")}</w:fldSimple>'
    rows = "".join(
        f"<w:tr>{''.join(f'<w:tc>{_paragraph(_run(cell))}</w:tc>' for cell in row)}</w:tr>"
        for row in (("Part", "Price"), ("Bolt", "5"))
    )
    choice = (
        "<w:sdt><w:sdtPr><w:dropDownList/></w:sdtPr><w:sdtContent>" + _run("chosen option") + "</w:sdtContent></w:sdt>"
    )
    body = (
        _paragraph(_run("The heading"), properties='<w:outlineLvl w:val="0"/>')
        + _paragraph(
            _run("The paragraph"), marks, _run(" with "), _run("struck words", "<w:strike/>"), _run(", 10"),
            _run("6", '<w:vertAlign w:val="superscript"/>'), _run(", "), _run("hidden words", "<w:vanish/>"),
            "<w:del><w:r><w:delText>deleted words</w:delText></w:r></w:del>",
            f"<w:ins>{_run('inserted words')}</w:ins>", " ", link, field,
            choice, "<m:oMath><m:r><m:t>E = mc</m:t></m:r></m:oMath>",
        )
        + _paragraph(_run("first item"), properties=item) + _paragraph(_run("second item"), properties=item)
        + f"<w:tbl>{rows}</w:tbl>" + _paragraph(box, picture) + caption
        + '<w:sectPr><w:headerReference w:type="default" r:id="header"/></w:sectPr>'
    )  # fmt: skip
    spaces = (
        f'{WORD} xmlns:r="{OFFICE}" xmlns:v="urn:schemas-microsoft-com:vml" '
        'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
        'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    )
    others = {
        "footnotes": f'<w:footnote w:id="2">{_paragraph(_run("the footnote"))}</w:footnote>',
        "endnotes": f'<w:endnote w:id="2">{_paragraph(_run("the endnote"))}</w:endnote>',
        "comments": f'<w:comment w:id="7" w:author="Ada">{_paragraph(_run("the comment"))}</w:comment>',
        "header": _paragraph(_run("the header")),
        "numbering": '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/>'
        '<w:numFmt w:val="decimal"/>'
        '<w:lvlText w:val="%1."/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>',
    }  # fmt: skip
    tags = dict.fromkeys(others) | {"header": "hdr"}
    parts = {"word/document.xml": f"<w:document {spaces}><w:body>{body}</w:body></w:document>"}
    parts |= {
        f"word/{name}.xml": f"<w:{tags[name] or name} {WORD}>{text}</w:{tags[name] or name}>"
        for name, text in others.items()
    }
    relations = {name: (name, f"word/{name}.xml") for name in others} | {
        "link": ("hyperlink", "https://example.org/form")
    }
    write_office(path, "word/document.xml", parts, {"word/document.xml": relations})


def write_slides(path: Path) -> None:
    """Write a presentation with python-pptx."""
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "The heading"
    slide.placeholders[1].text = "first item\nsecond item"
    box = slide.shapes.add_textbox(0, 0, Inches(2), Inches(1)).text_frame
    box.text = "box words "
    link = box.paragraphs[0].add_run()
    link.text, link.hyperlink.address = "the link", "https://example.org/form"
    struck = box.paragraphs[0].add_run()
    struck.text = "struck words"
    struck._r.get_or_add_rPr().set("strike", "sngStrike")
    table = slide.shapes.add_table(2, 2, 0, 0, Inches(2), Inches(1)).table
    for place, text in enumerate(("Part", "Price", "Bolt", "5")):
        table.cell(place // 2, place % 2).text = text
    slide.notes_slide.notes_text_frame.text = "speaker notes"
    image = path.with_suffix(".png")
    image.write_bytes(make_png())
    picture = slide.shapes.add_picture(str(image), 0, 0)
    picture._element.nvPicPr.cNvPr.set("descr", "picture description")
    data = CategoryChartData()
    data.categories = ["Ducks"]
    data.add_series("Counted", [12])
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(2), Inches(2), data)
    hidden = deck.slides.add_slide(deck.slide_layouts[5])
    hidden.shapes.title.text = "hidden slide"
    hidden._element.set("show", "0")
    deck.save(str(path))


def write_old_slides(path: Path) -> None:
    """Write a presentation of PowerPoint 97."""
    with zipfile.ZipFile(PLANT) as archive:
        path.write_bytes(archive.read("plant.ppt"))


def write_workbook(path: Path) -> None:
    """Write a workbook with xlsxwriter."""
    import xlsxwriter

    image = path.with_suffix(".png")
    image.write_bytes(make_png())
    with xlsxwriter.Workbook(path) as workbook:
        sheet = workbook.add_worksheet("Sheet name")
        sheet.write_row(0, 0, ["Part", "Price"])
        sheet.write_row(1, 0, ["Bolt", 5])
        sheet.write(2, 0, "struck words", workbook.add_format({"font_strikeout": True}))
        sheet.write(2, 1, 0.256, workbook.add_format({"num_format": "0.0%"}))
        sheet.write_formula(3, 1, "=B2*2", None, 10)
        sheet.write_url(4, 0, "https://example.org/form", string="the link")
        sheet.write_row(5, 0, ["hidden words"])
        sheet.set_row(5, None, None, {"hidden": True})
        sheet.write_comment("A2", "the comment", {"author": "Ada"})
        sheet.insert_textbox("D2", "box words")
        sheet.insert_image("D9", str(image), {"description": "picture description"})
        sheet.set_header("&Cthe header")
        chart = workbook.add_chart({"type": "column"})
        chart.add_series({"name": "Counted", "values": "='Sheet name'!$B$2:$B$2"})
        chart.set_title({"name": "Chart title"})
        sheet.insert_chart("D20", chart)
        hidden = workbook.add_worksheet("Internal")
        hidden.write(0, 0, "words of a hidden sheet")
        hidden.hide()


def write_binary_workbook(path: Path) -> None:
    """Write an Excel binary workbook (MS-XLSB), for which there is no library: its records have a number and a size."""

    def record(number: int, data: bytes = b"") -> bytes:
        kind = bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7])
        return kind + bytes([len(data)]) + data

    def wide(text: str) -> bytes:
        return struct.pack("<I", len(text)) + text.encode("utf-16-le")

    def sheet(*rows: Sequence[str | float]) -> bytes:
        cells = b""
        for number, row in enumerate(rows):
            cells += record(0, struct.pack("<II9x", number, 0))
            for column, value in enumerate(row):
                at = struct.pack("<II", column, 0)
                cells += (
                    record(6, at + wide(value)) if isinstance(value, str) else record(5, at + struct.pack("<d", value))
                )
        size = record(148, struct.pack("<IIII", 0, len(rows) - 1, 0, 1))
        return record(129) + size + record(145) + cells + record(146) + record(130)

    names = ("Sheet name", "Internal")
    sheets = b"".join(
        record(156, struct.pack("<II", state, state + 1) + wide(f"r{state}") + wide(name))
        for state, name in enumerate(names)
    )
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = "".join(
        f'<Relationship Id="r{number}" Type="{kind}/worksheet" Target="worksheets/sheet{number}.bin"/>'
        for number in (0, 1)
    )
    main = (
        '<Override PartName="/xl/workbook.bin" ContentType="application/vnd.ms-excel.sheet.binary.macroEnabled.main"/>'
    )
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("[Content_Types].xml", f"<Types>{main}</Types>")
        package.writestr("xl/_rels/workbook.bin.rels", f"<Relationships>{relations}</Relationships>")
        package.writestr("xl/workbook.bin", record(131) + record(143) + sheets + record(144) + record(132))
        package.writestr("xl/worksheets/sheet0.bin", sheet(("Part", "Price"), ("Bolt", 5.0)))
        package.writestr("xl/worksheets/sheet1.bin", sheet(("words of a hidden sheet",)))


_LINK = '<text:a xlink:href="https://example.org/form" xmlns:xlink="http://www.w3.org/1999/xlink">the link</text:a>'
_ROWS = "".join(
    "<table:table-row>"
    + "".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in row)
    + "</table:table-row>"
    for row in (("Part", "Price"), ("Bolt", "5"))
)
_OPEN_TABLE = f"<table:table table:name='T'>{_ROWS}</table:table>"
_OPEN_STYLES = (
    '<style:style style:name="S" style:family="text">'
    '<style:text-properties style:text-line-through-style="solid"/></style:style>'
    '<style:style style:name="H" style:family="text"><style:text-properties text:display="none"/></style:style>'
)
_ANNOTATION = "<office:annotation><text:p>the comment</text:p></office:annotation>"


def write_open_text(path: Path) -> None:
    """Write an OpenDocument text."""
    note = (
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>the note</text:p></text:note-body></text:note>"
    )
    deleted = (
        '<text:tracked-changes><text:changed-region text:id="c">'
        "<text:deletion><text:p>deleted words</text:p></text:deletion></text:changed-region></text:tracked-changes>"
    )
    frame = "<draw:frame><draw:text-box><text:p>box words</text:p></draw:text-box></draw:frame>"
    picture = (
        '<draw:frame><draw:image/><svg:desc xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0">'
        "picture description</svg:desc></draw:frame>"
    )
    body = (
        f'{deleted}<text:h text:outline-level="1">The heading</text:h><text:p>The paragraph{note}{_ANNOTATION}, '
        '<text:span text:style-name="S">struck words</text:span> '
        '<text:span text:style-name="H">hidden words</text:span>'
        f"{_LINK} <text:user-field-get>field value</text:user-field-get>{frame}{picture}</text:p>"
        "<text:list><text:list-item><text:p>first item</text:p></text:list-item></text:list>"
        f"{_OPEN_TABLE}<text:p>Picture caption</text:p>"
    )
    write_open(path, "text", body, _OPEN_STYLES, "<style:header><text:p>the header</text:p></style:header>")


def write_open_slides(path: Path) -> None:
    """Write an OpenDocument presentation."""
    body = (
        '<draw:page draw:name="p"><draw:frame presentation:class="title">'
        "<draw:text-box><text:p>The heading</text:p></draw:text-box></draw:frame>"
        "<draw:frame><draw:text-box><text:list><text:list-item><text:p>first item</text:p></text:list-item></text:list>"
        f"<text:p>The paragraph {_LINK}</text:p></draw:text-box></draw:frame>"
        f"<draw:frame>{_OPEN_TABLE}</draw:frame>{_ANNOTATION}"
        '<presentation:notes><draw:frame presentation:class="notes">'
        "<draw:text-box><text:p>speaker notes</text:p></draw:text-box></draw:frame>"
        "</presentation:notes></draw:page>"
    )
    write_open(
        path,
        "presentation",
        body,
        _OPEN_STYLES,
        "<draw:frame><draw:text-box><text:p>master words</text:p></draw:text-box></draw:frame>",
    )


def write_open_sheet(path: Path) -> None:
    """Write an OpenDocument spreadsheet."""

    def row(content: str, visibility: str = "visible") -> str:
        cell = f'<table:table-cell office:value-type="string">{content}</table:table-cell>'
        return f'<table:table-row table:visibility="{visibility}">{cell}</table:table-row>'

    rows = _ROWS.replace("<table:table-cell>", '<table:table-cell office:value-type="string">')
    rows += row(f"<text:p>{_LINK}</text:p>") + row(
        '<text:p><text:span text:style-name="S">struck words</text:span></text:p>'
    )
    cell = '<table:table-cell office:value-type="percentage" office:value="0.256">'
    rows += f"<table:table-row>{cell}<text:p>25.6%</text:p></table:table-cell></table:table-row>"
    rows += row(f"{_ANNOTATION}<text:p>with comment</text:p>") + row("<text:p>hidden words</text:p>", "collapse")
    write_open(path, "spreadsheet", f"<table:table table:name='Sheet name'>{rows}</table:table>", _OPEN_STYLES)
    with zipfile.ZipFile(path, "a") as package:
        package.writestr(
            "META-INF/manifest.xml", '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
        )


def write_xps_file(path: Path) -> None:
    """Write an XPS file."""

    def glyphs(text: str, x: int, y: int, size: int = 16) -> str:
        return f'<Glyphs UnicodeString="{text}" OriginX="{x}" OriginY="{y}" FontRenderingEmSize="{size}"/>'

    table = "".join(
        glyphs(text, 100 + 200 * (at % 2), 300 + 24 * (at // 2))
        for at, text in enumerate(["Part", "Price", "Bolt", "5", "Nut", "7"])
    )
    lines = glyphs("The heading", 100, 100, 32) + "".join(
        glyphs(f"The paragraph goes on in line {row}.", 100, 150 + 22 * row) for row in range(4)
    )
    write_xps(path, [lines + table])


def write_pdf_file(path: Path) -> None:
    """Write a PDF with comments, a text box, a form field, hidden words and headers."""
    from fpdf import FPDF

    class Paper(FPDF):
        def header(self) -> None:
            self.set_font("Helvetica", size=8)
            self.cell(0, 10, "the header", new_x="LMARGIN", new_y="NEXT")

    pdf = Paper()
    for page in range(3):
        pdf.add_page()
        pdf.set_font("Helvetica", "B", 20)
        pdf.multi_cell(0, 14, ("The heading", "Second chapter", "Third part")[page], new_x="LMARGIN", new_y="NEXT")
        pdf.set_font("Helvetica", size=11)
        pdf.multi_cell(0, 6, "The paragraph is long enough to be prose. " * 8, new_x="LMARGIN", new_y="NEXT")
        pdf.ln(8)
        if page:
            continue
        pdf.multi_cell(0, 6, "- first item\n- second item", new_x="LMARGIN", new_y="NEXT")
        with pdf.table() as table:
            for row in (("Part", "Price"), ("Bolt", "5"), ("Nut", "7")):
                table.row(row)
        pdf.set_text_color(255)
        pdf.cell(0, 10, "hidden words", new_x="LMARGIN", new_y="NEXT")
        pdf.set_text_color(0)
        pdf.text_annotation(20, 20, "the comment")
        pdf.free_text_annotation("box words", 20, 200, 60, 10)
        pdf.cell(0, 10, "the link", link="https://example.org/form")
    pdf.output(str(path))


def write_pdf_form(path: Path) -> None:
    """Write a PDF with form fields."""
    fields = [
        "/Subtype/Widget/Rect[100 500 300 520]/FT/Tx/T(Name)/V(field value)",
        "/Subtype/Widget/Rect[100 470 300 490]/FT/Ch/Ff 131072/T(Kind)"
        "/Opt[(chosen option)(other option)]/V(chosen option)",
    ]
    write_raw_pdf(path, [RawPage(["The paragraph"], fields)])


def write_picture(path: Path) -> None:
    """Write a picture of two lines of text."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("L", (900, 260), 255)
    draw = ImageDraw.Draw(image)
    for row, text in enumerate(("The paragraph is printed", "on a picture of a page.")):
        draw.text((40, 40 + 90 * row), text, fill=0, font=ImageFont.load_default(48))
    image.save(path, dpi=(200, 200))


def write_book(path: Path) -> None:
    """Write an EPUB."""
    container = '<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>'
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        '<dc:title>Stored title</dc:title></metadata><manifest><item id="a" href="a.xhtml" '
        'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>'
    )
    chapter = (
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body>'
        '<h1>The heading</h1><p>The paragraph<a epub:type="noteref" href="#n">1</a>, <del>struck words</del>.</p>'
        "<ul><li>first item</li><li>second item</li></ul><table><tr><th>Part</th><th>Price</th></tr>"
        '<tr><td>Bolt</td><td>5</td></tr></table><img src="a.png" alt="picture description"/><pre>code = 1</pre>'
        '<p>10<sup>6</sup> <a href="https://example.org/form">the link</a></p>'
        "<figure><figcaption>Picture caption</figcaption></figure>"
        "<table><caption>Table caption</caption><tr><td>a</td><td>b</td></tr></table>"
        '<p style="display: none">hidden words</p>'
        '<aside epub:type="footnote" id="n"><p>the note</p></aside></body></html>'
    )
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr("META-INF/container.xml", container)
        book.writestr("p.opf", package)
        book.writestr("a.xhtml", chapter)


def write_archive(path: Path) -> None:
    """Write an archive with an archive in it."""
    inner = path.with_name("inner.txt")
    inner.write_text("The paragraph")
    packed = path.with_name("packed.txt.gz")
    packed.write_bytes(gzip.compress(b"compressed words"))
    with tarfile.open(path.with_name("inner.tar.xz"), "w:xz") as tar:
        tar.add(inner, "inner.txt")
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(path.with_name("inner.tar.xz"), "inner.tar.xz")
        archive.write(packed, "packed.txt.gz")


def write_pages_file(path: Path) -> None:
    """Write a file of Pages with a preview."""
    preview = path.with_suffix(".pdf")
    write_pdf_file(preview)
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("Index/Document.iwa", b"\0\1")
        package.write(preview, "QuickLook/Preview.pdf")


def write_outlook_message(path: Path) -> None:
    """Write an Outlook message."""
    page = (
        "<h2>The heading</h2><p>The paragraph, <s>struck words</s>, 10<sup>6</sup>, "
        "<a href='https://example.org/form'>the link</a><span style='display: none'>hidden words</span></p>"
        "<ul><li>first item</li></ul><table><tr><th>Part<th>Price<tr><td>Bolt<td>5</table>"
    )
    texts = {"0037": "The subject", "0C1A": "The sender", "0C1F": "sender@example.org"}
    people = {"3001": "The recipient", "39FE": "recipient@example.org"}
    kind = bytes(8) + struct.pack("<HHIQ", 3, 0x0C15, 6, 1)
    recipient = {**_outlook_texts(people), "__properties_version1.0": kind}
    body = {"__substg1.0_10130102": page.encode()}
    head = {"__properties_version1.0": bytes(32)}
    write_compound(path, {**head, **_outlook_texts(texts), **body, "__recip_version1.0_#00000000": recipient})


def _outlook_texts(texts: dict[str, str]) -> dict[str, bytes]:
    return {f"__substg1.0_{key}001F": text.encode("utf-16-le") for key, text in texts.items()}


WRITERS: dict[str, Callable[[Path], None]] = {
    "sample.docx": write_word, "sample.pptx": write_slides, "sample.ppt": write_old_slides,
    "sample.xlsx": write_workbook, "sample.xlsb": write_binary_workbook,
    "sample.odt": write_open_text, "sample.odp": write_open_slides,
    "sample.ods": write_open_sheet, "sample.xps": write_xps_file, "sample.pdf": write_pdf_file,
    "form.pdf": write_pdf_form, "sample.png": write_picture, "sample.epub": write_book, "sample.zip": write_archive,
    "sample.pages": write_pages_file, "sample.msg": write_outlook_message,
}  # fmt: skip
