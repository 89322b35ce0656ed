"""Other files of the kinds of faults in ``test_cases.py``: other producers, positions and formats."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.containers.embedded import pdf_files
from ingest.parser import Parser, load_parser
from ingest.reader import OcrMode, ParserOptions
from ingest.readers.shared.numerals import format_count
from support.opendocument import write_open_document
from support.raw_pdf import text_at, write_plain_pdf

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


@pytest.fixture
def read(parser: Parser, tmp_path: Path) -> Callable[[str, str | bytes], str]:
    def read_text(name: str, content: str | bytes) -> str:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return parser.parse(tmp_path / name).text

    return read_text


Read = Callable[[str, str | bytes], str]

PLAIN = [
    (
        "round.bib",
        '@book(knuth84,\n author = "D. Knuth",\n title = {The {TeX}book (Vol. A)},\n year = 1984\n)\n'
        "@misc{b, title={B}}",
        ["@book{knuth84,", "title = {The TeXbook (Vol. A)}", "@misc{b,"],
    ),
    (
        "chapters.rst",
        "Manual\n======\n\n.. toctree::\n   :maxdepth: 2\n   :caption: Contents\n\n"
        "   install\n   Guide <guide/a>\n\nEnd.\n",
        ["Contents", "install", "Guide <guide/a>", "End."],
    ),
    (
        "cell.tex",
        r"\documentclass{article}\begin{document}\begin{table}\caption{Fee in 2024}"
        r"\begin{tabular}{c} 42 EUR \end{tabular}\end{table}\end{document}",
        ["Fee in 2024\n\n42 EUR"],
    ),
    (
        "escaped.csv",
        'name,note,n\nA,"say \\"hi\\", then go",1\nB,"C:\\",2\nC,"D:\\","x"\n',
        ['| A | say "hi", then go | 1 |', "| B | C:\\ | 2 |", "| C | D:\\ | x |"],
    ),
    ("display.html", "<table><tr><td>x<td>12<span style='display:block'>34</span></td></tr></table>", ["12 34"]),
    ("sheet.html", "<style>.l{display: flex}</style><h2>Head<small class=l>sub</small></h2>", ["Head sub"]),
    (
        "symbols.html",
        "<p>x <font face=Symbol>&#163;</font> 5, <span style='font-family:Wingdings'>þ</span> yes, "
        "<span style='font-family:\"Symbol\"'>&#xF0B3;</span> 7</p>",
        ["x ≤ 5, ☑ yes, ≥ 7"],
    ),
    (
        "boxes.html",
        "<div style='display:flex'><span>12</span><span>34</span></div><ul><li style='display:flex'><span>Price</span>"
        "<span>20</span></ul><p>Sum<span style='display:inline-flex'><i>7</i><i>8</i></span></p>",
        ["12\n", "34\n", "- Price 20", "7\n"],
    ),
    ("fused.html", "<table><tr><td>A<td>B<tr><td>1<address>2</address><td>C<form>3</form></table>", ["| 1 2 | C 3 |"]),
    ("break.html", "<table><tr><td>a<td>b<tr><td>12<wbr>34<td>5</table>", ["| 1234 | 5 |"]),
    (
        "raised.html",
        "<p>E 10<span style='position:relative;top:-4.5pt;mso-text-raise:4.5pt'>6</span> t, x<span style='"
        "vertical-align:-0.4em'>1</span>, 10<span style='vertical-align: 0.5em'>9</span>, <b style='position:relative;"
        "top:-1px'>badge</b>, <math><semantics><msup><mi>m</mi><mn>2</mn></msup><annotation encoding='x'>m^{2}"
        "</annotation></semantics></math>.</p>",
        ["E 10^6 t, x_1, 10^9, badge, m^2"],
    ),
    (
        "medium.html",
        "<style>@import url(x.css); @media print{.k{display:none} @supports (x){.k{display:none}}} /*.k{display:none}*/"
        "</style><p class=k>kept</p>",
        ["kept"],
    ),
    ("utf16.html", "<meta charset=utf-16><p>Größe 5 €</p>", ["Größe 5 €"]),
    ("xhtml.html", "<?xml version='1.0' encoding='iso-8859-1'?><meta charset=utf-8><p>Größe 5 €</p>", ["Größe 5 €"]),
    (
        "japanese.xml",
        "<?xml version='1.0' encoding='Shift_JIS'?><r><name>契約書①</name></r>".encode("cp932"),
        ["契約書①"],
    ),
    ("wide.xml", "<?xml version='1.0'?><r><name>一\u3000契約</name></r>".encode("utf-16-le"), ["契約"]),
    ("wide.html", "<html><p>一般契約</p></html>".encode("utf-16-be"), ["一般契約"]),
    (
        "bank.csv",
        "Statement of May\nHolder: A. Smith\n\nDate;Text;Amount\n"
        + "".join(f"0{day}.05.2024;Pump, big {day};1{day},50\n" for day in range(1, 9)),
        ["| Date | Text | Amount |", "| 01.05.2024 | Pump, big 1 | 11,50 |"],
    ),
    (
        "statement.csv",
        "Account: 12\nMay\nDate;Amount;Text\n1;5,00;Rent\n2;7,00;Gas\n",
        ["12\nMay\n\n| Date | Amount | Text |"],
    ),
    ("export.csv", "# of 2024\n# unit: EUR, net\nid,name,v\n1,Bolt,5\n2,Nut,6\n", ["net\n\n| id | name | v |"]),
    ("narrow.csv", "id,name\n1,Ann\n2,Bob,x,y,z\n3,C,x,y,z\n4,C,x,y,z\n", ["| id | name |"]),
    ("hash.csv", "# of 2024\n#id,Name\n1,Ann,3\n2,Bob,4\n3,Cy,5\n", ["of 2024\n\n| #id | Name |"]),
    ("escaped.csv", 'id,note\n1,"a\\"b, c"\n2,"d"\n', ['| 1 | a"b, c |']),
    ("folders.csv", 'id,path\n1,"C:\\dir\\"\n2,"D:\\x, y\\"\n', ["| 2 | D:\\x, y\\ |"]),
    (
        "both.csv",
        'path,note\n"C:\\dir\\","x"\n"D:\\a","he \\"said\\" it"\n',
        ["| C:\\dir\\ | x |", '| D:\\a | he "said" it |'],
    ),
    ("prose.csv", "A line\nAnother, with a comma\nA third\nA fourth, also\nA fifth\n", ["| Another, with a comma |"]),
    ("reversed.html", "<ol reversed><li>c<li>b<li>a</ol>", ["3. c\n2. b\n1. a"]),
    ("values.html", "<ol><li value=7>q<li>r</ol>", ["7. q\n8. r"]),
    ("style.html", "<ol style='list-style-type: upper-roman'><li>s<li>t</ol>", ["I. s\nII. t"]),
    ("note.md", "Fee 7[^1] net.\n\n[^1]: https://example.org/fees\n", ["7[^1] net", "[^1]: https://example.org/fees"]),
    ("picture.md", 'See <img src="p.png" alt="Pump &amp; valve"> here.\n', ["See Pump & valve here."]),
    ("item.md", "- a\n  <div>5</div><div>6</div>\n", ["5 6"]),
    ("item.md", "- <div>5</div><div>6</div>\n", ["- 5 6"]),
    ("type.md", "<details>\n<summary>A List<String> of <item_id></summary>\n", ["A List<String> of <item_id>"]),
    ("span.html", "<table><tr><td rowspan=0>A<td>1<tr><td>2<tr><td>3</table>", ["| A | 2 |\n| A | 3 |"]),
    ("cell.md", "| a | b |\n|---|---|\n| 5 | x<div>y</div> |\n", ["| 5 | x y |"]),
    ("blank.csv", 'a,b\n1, "x, y"\n2, "z"\n', ["| 1 | x, y |\n| 2 | z |"]),
    (
        "old.vcs",
        "BEGIN:VCALENDAR\r\nVERSION:1.0\r\nBEGIN:VEVENT\r\nSUMMARY;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Gr=C3=B6=\r\n"
        "=C3=9Fe\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
        ["Summary: Größe"],
    ),
    (
        "series.ics",
        "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:20250401T110000Z\r\nRECURRENCE-ID:20250331T090000Z\r\n"
        "RRULE:FREQ=DAILY;UNTIL=20250630T000000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
        ["Instead of: 2025-03-31 09:00 UTC", "FREQ=DAILY;UNTIL=2025-06-30 00:00 UTC"],
    ),
    (
        "free.ics",
        "BEGIN:VCALENDAR\nBEGIN:VFREEBUSY\nFREEBUSY:20240401T080000Z/20240401T090000Z\nEND:VFREEBUSY\n"
        "BEGIN:VEVENT\nATTACH:https://example.org/a.pdf\nX-ALT-DESC;FMTTYPE=text/html:<p>Fee <b>7</b>\nEND:VEVENT\n"
        "BEGIN:VEVENT\nX-ALT-DESC:<p>Twice\nDESCRIPTION:Room 5\nEND:VEVENT\n",
        ["Busy: 2024-04-01 08:00 UTC/2024-04-01 09:00 UTC", "Attachment: https://example.org/a.pdf\n\nFee 7\n\nRoom 5"],
    ),
    (
        "latin.ics",
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Größe\nDTSTART:20240301T090000Z\nEND:VEVENT\nEND:VCALENDAR\n".encode(
            "cp1252"
        ),
        ["Größe"],
    ),
    ("damaged.json", b'{"name": "M\xc3\xbcller", "note": "a bad \xff byte"}', ["name: Müller"]),
    (
        "wide.ttml",
        '<?xml version="1.0"?><tt xmlns="http://www.w3.org/ns/ttml"><p begin="2s">Größe.</p></tt>'.encode("utf-16-le"),
        ["(00:00:02) Größe."],
    ),
    ("mail.adoc", "Ask mailto:desk@example.org[the desk^] now.\n", ["Ask the desk (desk@example.org) now."]),
    (
        "form.rtf",
        r"{\rtf1 Way: {\field{\*\fldinst FORMDROPDOWN {\*\formfield{\fftype2\ffres25\ffhaslistbox{\*\ffname D}"
        r"\ffdefres1{\*\ffl Air}{\*\ffl Sea}}}}{\fldrslt }}, {\field{\*\fldinst FORMCHECKBOX {\*\formfield{\fftype1"
        r"\ffres1}}}{\fldrslt }} yes\par}",
        ["Way: Sea, [x] yes"],
    ),
    (
        "old.vcf",
        "BEGIN:VCARD\r\nVERSION:2.1\r\nN;CHARSET=windows-1251;ENCODING=QUOTED-PRINTABLE:=C8=E2=E0=ED=EE=E2;=C8=E2=E0=ED\r\n"
        "END:VCARD\r\n",
        ["Name: Иванов, Иван"],
    ),
]


@pytest.mark.parametrize(("name", "content", "passages"), PLAIN, ids=[case[0] for case in PLAIN])
def test_text_files_say_what_they_show(read: Read, name: str, content: str | bytes, passages: list[str]) -> None:
    text = read(name, content)
    assert [passage for passage in passages if passage not in text] == []


def test_hidden_words_in_a_line_of_markdown_are_left_out(read: Read) -> None:
    assert "H1" not in read("a.md", "Show <span style='display: none'>H1</span> end <b hidden='x'>H2</b>.\n")
    assert read("a.md", "<span hidden>H3</span> end.\n") == " end.".strip()


def test_marks_and_numbers_of_notes_are_as_word_prints_them(parser: Parser, tmp_path: Path) -> None:
    own = '<w:r><w:footnoteReference w:id="7" w:customMarkFollows="1"/><w:t>*</w:t></w:r>'
    notes = "".join(
        f'<w:footnote w:id="{each}"><w:p>{_run(text)}</w:p></w:footnote>' for each, text in ((7, "A."), (8, "B."))
    )
    section = '<w:sectPr><w:footnotePr><w:numFmt w:val="lowerRoman"/><w:numStart w:val="3"/></w:footnotePr></w:sectPr>'
    body = f"<w:p>{_run('Fee 90')}{own}{_run(', 20')}<w:r><w:footnoteReference w:id='8'/></w:r></w:p>{section}"
    _write_docx(tmp_path / "a.docx", body, {"footnotes": f"<w:footnotes {_W}>{notes}</w:footnotes>"})
    assert parser.parse(tmp_path / "a.docx").text == "Fee 90[*], 20[iii]\n\n[*] A.\n\n[iii] B."


def test_own_marks_of_notes_are_only_their_sign(parser: Parser, tmp_path: Path) -> None:
    own = '<w:footnoteReference w:id="{}" w:customMarkFollows="1"/>'
    sign = '<w:sym w:font="Symbol" w:char="F0B7"/>'
    body = f"<w:r>{own.format(1)}</w:r>{_run('*')}{_run(', 30')}<w:r>{own.format(2)}{sign}</w:r>{_run(', 40')}"
    body += (
        f"<w:r>{own.format(3)}<w:t>†</w:t><w:t> net</w:t></w:r>{_run(', 50')}<w:r><w:footnoteReference w:id='4'/></w:r>"
    )
    notes = "".join(f'<w:footnote w:id="{each}"><w:p>{_run(f"N{each}")}</w:p></w:footnote>' for each in range(1, 5))
    _write_docx(
        tmp_path / "a.docx", f"<w:p>{_run('20')}{body}</w:p>", {"footnotes": f"<w:footnotes {_W}>{notes}</w:footnotes>"}
    )
    text = parser.parse(tmp_path / "a.docx").text
    assert text == "20*, 30[•], 40[†] net, 50[1]\n\nN1\n\n[•] N2\n\n[†] N3\n\n[1] N4"


def test_notes_of_word_are_counted_by_section(parser: Parser, tmp_path: Path) -> None:
    def section(number: int, properties: str) -> str:
        reference = f"<w:r><w:footnoteReference w:id='{number}'/></w:r>"
        ends = f"<w:pPr><w:sectPr><w:footnotePr>{properties}</w:footnotePr></w:sectPr></w:pPr>"
        return f"<w:p>{ends}{_run('x')}{reference}</w:p>"

    body = section(1, '<w:pos w:val="beneathText"/>') + section(2, '<w:numFmt w:val="lowerRoman"/>') + section(3, "")
    settings = f'<w:settings {_W}><w:footnotePr><w:numStart w:val="5"/></w:footnotePr></w:settings>'
    _write_docx(tmp_path / "a.docx", body, {"settings": settings})
    assert parser.parse(tmp_path / "a.docx").text == "x[5]\n\nx[vi]\n\nx[7]"


def _write_docx(path: Path, body: str, parts: dict[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as package:
        package.writestr("[Content_Types].xml", "<Types/>")
        package.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r" Type="{_OFFICE}/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
        )
        listed = "".join(f'<Relationship Id="{each}" Type="{_OFFICE}/{each}" Target="{each}.xml"/>' for each in parts)
        package.writestr(
            "word/_rels/document.xml.rels", f'<Relationships xmlns="{_RELATIONS}">{listed}</Relationships>'
        )
        package.writestr("word/document.xml", f"<w:document {_W}><w:body>{body}</w:body></w:document>")
        for name, content in parts.items():
            package.writestr(f"word/{name}.xml", content)


def _run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def test_word_shows_raised_positions_and_symbols(parser: Parser, tmp_path: Path) -> None:
    field = "".join(
        f"<w:r>{each}</w:r>"
        for each in (
            '<w:fldChar w:fldCharType="begin"/>', '<w:instrText> SYMBOL 163 \\f "Symbol" \\s 12 </w:instrText>',
            '<w:fldChar w:fldCharType="separate"/>', "<w:t>?</w:t>", '<w:fldChar w:fldCharType="end"/>',
        )
    )  # fmt: skip
    raised = _run("6", '<w:position w:val="10"/>')
    box = _run("þ", '<w:rFonts w:ascii="Wingdings"/>')
    _write_docx(tmp_path / "a.docx", f"<w:p>{_run('Load 10')}{raised}{_run(' t, ')}{field}{_run(' 5 ')}{box}</w:p>", {})
    assert parser.parse(tmp_path / "a.docx").text == "Load 10^6 t, ≤ 5 ☑"
    damaged = '<w:r><w:sym w:font="Symbol" w:char="zz"/></w:r>'
    body = f"<w:p>{_run('Load ')}{field.replace('163', '0163')}{damaged}</w:p>"
    _write_docx(tmp_path / "b.docx", body, {})
    assert parser.parse(tmp_path / "b.docx").text == "Load ≤\ufffd"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (r'EQ \* jc2 \* "Font:Mincho" \* hps10 \o\ad(\s\up 9(とうきょう),東京)', "東京"),
        (r"EQ \f(1;2)", "1/2"),
        (r"EQ x\s\up 5(2) + \r(3,8)", "x^2 + ^3√(8)"),
        ("EQ \\f(1;2)" + "\\a" * 1000, "\\f(1;2)" + "\\a" * 1000),
    ],
)
def test_fields_of_equations_have_no_result(parser: Parser, tmp_path: Path, code: str, text: str) -> None:
    mark = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    field = f"{mark.format('begin')}<w:r><w:instrText> {code} </w:instrText></w:r>{mark.format('end')}"
    art = '<w:r><w:pict><v:textpath xmlns:v="urn:schemas-microsoft-com:vml" string="Art"/></w:pict></w:r>'
    _write_docx(tmp_path / "a.docx", f"<w:p>{_run('In ')}{field}{_run(' now ')}{art}</w:p>", {})
    assert parser.parse(tmp_path / "a.docx").text == f"In {text} now Art"


def test_word_counts_in_other_scripts(parser: Parser, tmp_path: Path) -> None:
    kinds = ["russianLower", "chineseCounting", "decimalEnclosedCircle", "decimalFullWidth", "ganada", "ordinal",
             "ordinalText", "cardinalText"]  # fmt: skip
    levels = "".join(
        f'<w:lvl w:ilvl="{at}"><w:start w:val="12"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="%{at + 1}."/></w:lvl>'
        for at, kind in enumerate(kinds)
    )
    numbering = (
        f'<w:numbering {_W}><w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>'
    )
    items = "".join(
        f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{at}"/><w:numId w:val="1"/></w:numPr></w:pPr>{_run("x")}</w:p>'
        for at in range(len(kinds))
    )
    _write_docx(tmp_path / "a.docx", items, {"numbering": numbering})
    marks = [line.split()[0] for line in parser.parse(tmp_path / "a.docx").text.splitlines()]
    assert marks == ["м.", "十二.", "⑫.", "１２.", "타.", "12th.", "Twelfth.", "Twelve."]
    german = '<w:docDefaults><w:rPrDefault><w:rPr><w:lang w:val="de-AT"/></w:rPr></w:rPrDefault></w:docDefaults>'
    _write_docx(tmp_path / "a.docx", items, {"numbering": numbering, "styles": f"<w:styles {_W}>{german}</w:styles>"})
    assert parser.parse(tmp_path / "a.docx").text.split()[-2:] == ["12.", "x"]


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "First"), (20, "Twentieth"), (21, "Twenty-first"), (40, "Fortieth"), (99, "Ninety-ninth"), (100, "100")],
)
def test_counts_in_words(count: int, words: str) -> None:
    assert format_count(count, "ordinalText") == words


def test_empty_items_of_word_count(parser: Parser, tmp_path: Path) -> None:
    levels = (
        '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="none"/><w:lvlText w:val="Note:"/></w:lvl>'
    )
    numbering = (
        f'<w:numbering {_W}><w:abstractNum w:abstractNumId="0">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>'
    )

    def item(text: str = "", level: int = 0, mark: str = "", shown: str = "") -> str:
        numbered = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr><w:rPr>{mark}</w:rPr>'
        return f"<w:p><w:pPr>{numbered}</w:pPr>{_run(text, mark) if text else ''}{shown}</w:p>"

    cells = f"<w:tc>{item()}</w:tc><w:tc><w:p>{_run('Pump')}</w:p></w:tc>"
    body = item("a") + item() + item("hidden", mark="<w:vanish/>") + item("b") + item("c", 1)
    body += item(mark="<w:vanish/><w:specVanish/>", shown=_run("Term."))
    _write_docx(tmp_path / "a.docx", f"{body}<w:tbl><w:tr>{cells}</w:tr></w:tbl>", {"numbering": numbering})
    assert parser.parse(tmp_path / "a.docx").text == "1. a\n3. b\n  Note: c\n4. Term.\n\n| 5. | Pump |\n| --- | --- |"


def test_formulas_of_openpyxl_are_computed(parser: Parser, tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["Item", "Q1", "Total"], ["Rent", 5, "=B2*2"], ["Form", "", '=HYPERLINK("https://example.org/f","f")']):
        sheet.append(row)
    sheet.append(["Due", "=DATE(2024,2,29)", '=IF(B2>4,"high","low")'])
    sheet["B4"].number_format = "yyyy-mm-dd"
    book.save(tmp_path / "a.xlsx")
    document = parser.parse(tmp_path / "a.xlsx")
    assert "| Rent | 5 | 10 |\n| Form |  | f (https://example.org/f) |\n| Due | 2024-02-29 | high |" in document.text
    assert document.warnings == ("4 formulas without a stored value: Candor computed what the cells show.",)


def test_a_zero_that_xlsxwriter_stores_for_each_formula_is_no_value(parser: Parser, tmp_path: Path) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(tmp_path / "a.xlsx")
    sheet = book.add_worksheet("A")
    for row, cells in enumerate((["Rent", 5], ["Sum", "=SUM(B1:B1)*3"], ["Age", "=YEAR(TODAY())-1990"], ["?", "=1/0"])):
        sheet.write_row(row, 0, cells)
    book.close()
    document = parser.parse(tmp_path / "a.xlsx")
    assert "| Sum | 15 |\n| Age | =YEAR(TODAY())-1990 |\n| ? | =1/0 |" in document.text
    assert "2 formulas without a stored value: shown as written." in document.warnings[1]


def test_dates_from_1904_are_not_computed(parser: Parser, tmp_path: Path) -> None:
    import openpyxl
    from openpyxl.utils.datetime import CALENDAR_MAC_1904

    book = openpyxl.Workbook()
    book.epoch = CALENDAR_MAC_1904
    book["Sheet"]["A1"] = "=DATE(2024,2,29)"
    book.save(tmp_path / "a.xlsx")
    assert "| =DATE(2024,2,29) |" in parser.parse(tmp_path / "a.xlsx").text


def test_formulas_of_a_workbook_that_is_not_computed_are_shown(parser: Parser, tmp_path: Path) -> None:
    cell = '<row r="1"><c r="A1"><f>1+1</f></c><c r="B1"><f>[1]Sheet1!A1</f></c><c r="C1"><f>A1)</f></c></row>'
    _write_cells(tmp_path / "a.xlsx", cell)
    document = parser.parse(tmp_path / "a.xlsx")
    assert "| =1+1 | =[1]Sheet1!A1 | =A1) |" in document.text
    assert "3 formulas without a stored value: shown as written." in document.warnings[0]


def _write_cells(path: Path, rows: str) -> None:
    """Write a workbook with these rows of cells."""
    import xlsxwriter

    whole = path.with_name("whole.xlsx")
    book = xlsxwriter.Workbook(whole)
    book.add_worksheet("A")
    book.close()
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(path, "w") as copy:
        for name in source.namelist():
            content = source.read(name).decode()
            copy.writestr(name, content.replace("<sheetData/>", f"<sheetData>{rows}</sheetData>"))


def test_each_cell_of_a_shared_formula_has_its_own(parser: Parser, tmp_path: Path) -> None:
    _write_cells(
        tmp_path / "a.xlsx",
        '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><v>2</v></c></row>'
        '<row r="2"><c r="A2"><v>4</v></c><c r="B2"><f t="shared" ref="B2:B3" si="0">A2*$B$1+LOG10(NOW())&amp;"A2"</f>'
        '</c></row><row r="3"><c r="A3"><v>5</v></c><c r="B3"><f t="shared" si="0"/></c></row>'
        '<row r="4"><c r="A4" t="str"><f>""</f><v/></c>'
        '<c r="B4" t="inlineStr"><is><t>a_x000D_\nb</t></is></c></row>',
    )
    text = parser.parse(tmp_path / "a.xlsx").text
    assert '| 4 | =A2*$B$1+LOG10(NOW())&"A2" |\n| 5 | =A3*$B$1+LOG10(NOW())&"A2" |\n|  | a b |' in text


def test_dates_of_a_chart_are_dates(parser: Parser, tmp_path: Path) -> None:
    import xlsxwriter

    for folder, first in ((False, "2024-01-01"), (True, "2028-01-02")):
        book = xlsxwriter.Workbook(tmp_path / "a.xlsx")
        sheet = book.add_worksheet("A")
        sheet.write_row(0, 0, [45292, 7])
        chart = book.add_chart({"type": "line"})
        chart.add_series({"name": "Rate", "categories": "=A!$A$1:$A$1", "values": "=A!$B$1:$B$1"})
        chart.set_x_axis({"date_axis": True})
        sheet.insert_chart("D1", chart)
        book.close()
        if folder:
            _change(tmp_path / "a.xlsx", "xl/charts/chart1.xml", "<c:chart>", '<c:date1904 val="1"/><c:chart>')
        assert f"| {first} | 7 |" in parser.parse(tmp_path / "a.xlsx").text


def test_check_boxes_of_excel_have_their_state(parser: Parser, tmp_path: Path) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(tmp_path / "a.xlsx")
    sheet = book.add_worksheet("A")
    sheet.write(0, 0, "Order")
    sheet.write_comment(0, 0, "note")
    sheet.insert_textbox("C3", "Express delivery")
    book.close()
    boxes = "".join(
        f"<v:shape><v:textbox><div><font>{label}</font><br></div></v:textbox>"
        f"<x:ClientData ObjectType='Checkbox'>{state}</x:ClientData></v:shape>"
        for label, state in (
            ("Express delivery", "<x:Checked>1</x:Checked>"),
            ("Insured", ""),
            ("Insured", "<x:Checked>1</x:Checked>"),
        )
    )
    _change(tmp_path / "a.xlsx", "xl/drawings/vmlDrawing1.vml", "</xml>", f"{boxes}</xml>")
    text = parser.parse(tmp_path / "a.xlsx").text
    assert "[x] Express delivery\n[ ] Insured\n[x] Insured" in text
    assert text.count("Express delivery") == 1


def _change(path: Path, part: str, old: str, new: str) -> None:
    with zipfile.ZipFile(path) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    with zipfile.ZipFile(path, "w") as package:
        for name, content in parts.items():
            package.writestr(name, content.replace(old.encode(), new.encode()) if name == part else content)


def test_symbols_and_charts_of_excel(parser: Parser, tmp_path: Path) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(tmp_path / "a.xlsx")
    sheet = book.add_worksheet("A")
    sheet.write_row(0, 0, ["yes", 1])
    sheet.write(1, 0, "þ", book.add_format({"font_name": "Wingdings"}))
    sheet.write_rich_string(1, 1, book.add_format({"font_name": "Symbol"}), "\uf0a3", " 5 bar")
    chart = book.add_chart({"type": "line"})
    chart.add_series({"name": "Share", "values": "=A!$B$1:$B$1"})
    sheet.insert_chart("D1", chart)
    book.close()
    text = parser.parse(tmp_path / "a.xlsx").text
    assert "| ☑ | ≤ 5 bar |" in text
    assert "|  | Share |" in text


def test_cells_of_opendocument_are_read_as_shown(parser: Parser, tmp_path: Path) -> None:
    def cell(shown: str, attributes: str = 'office:value-type="float"') -> str:
        return f"<table:table-cell {attributes}>{shown and f'<text:p>{shown}</text:p>'}</table:table-cell>"

    rows = [
        cell("Code", 'office:value-type="string"') + cell("Value", 'office:value-type="string"'),
        cell("01067") + cell("25.6 %", 'office:value-type="percentage" office:value="0.256"'),
        cell("m<text:span text:style-name='U'>2</text:span>", 'office:value-type="string"')
        + cell("31:30", 'office:value-type="time" office:time-value="PT31H30M00S"'),
        cell("5.3.24", 'office:value-type="date" office:date-value="2024-03-05"')
        + cell("", 'table:formula="of:=[.A2]*2"'),
        "<table:table-cell office:value-type='float' office:value='7'/>"
        + cell("WAHR", 'office:value-type="boolean" office:boolean-value="true"'),
        cell("99", 'office:value-type="float" table:style-name="S"') + "<table:table-cell/>" * 3,
    ]
    styles = (
        '<style:style style:name="U" style:family="text"><style:text-properties style:text-position="33% 58%"/>'
        '</style:style><style:style style:name="S" style:family="table-cell"><style:text-properties '
        'style:text-line-through-style="solid"/></style:style>'
    )
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    write_open_document(tmp_path / "a.ods", "spreadsheet", f'<table:table table:name="A">{body}</table:table>', styles)
    document = parser.parse(tmp_path / "a.ods")
    assert document.text == (
        "A\n\n| Code | Value |\n| --- | --- |\n| 01067 | 25.6 % |\n| m^2 | 31:30 |\n| 2024-03-05 | =[.A2]*2 |\n"
        "| 7 | WAHR |\n| ~~99~~ |  |"
    )
    assert "1 formula without a stored value" in document.warnings[0]


def test_a_form_of_opendocument_is_read(parser: Parser, tmp_path: Path) -> None:
    form = 'xmlns:form="urn:oasis:names:tc:opendocument:xmlns:form:1.0"'
    fields = (
        '<form:text form:id="c1" form:current-value="Ann" form:value="Name"/>'
        '<form:checkbox form:id="c2" form:label="yes" form:current-state="checked"/><form:listbox form:id="c3">'
        '<form:option form:label="Air"/><form:option form:label="Sea" form:current-selected="true"/></form:listbox>'
        '<form:radio form:id="c4" form:label="no"/><form:password form:id="c5" form:value="secret"/>'
    )
    places = " ".join(f'<draw:control draw:control="c{number}"/>' for number in range(1, 6))
    content = f"<office:forms {form}><form:form>{fields}</form:form></office:forms><text:p>By {places}</text:p>"
    write_open_document(tmp_path / "a.odt", "text", content)
    assert parser.parse(tmp_path / "a.odt").text == "By Ann [x] yes Sea [ ] no"


def test_a_hidden_section_of_opendocument_is_left_out(parser: Parser, tmp_path: Path) -> None:
    section = '<text:section text:display="none"><text:p>old</text:p></text:section>'
    write_open_document(tmp_path / "a.odt", "text", f"<text:p>Shown.</text:p>{section}")
    assert parser.parse(tmp_path / "a.odt").text == "Shown."


def test_symbol_fonts_and_objects_of_opendocument(parser: Parser, tmp_path: Path) -> None:
    styles = (
        '<style:style style:name="S"><style:text-properties style:font-name="Symbol1"/></style:style>'
        '<style:style style:name="A"><style:text-properties style:font-name="Arial"/></style:style>'
    )
    frames = "".join(
        f'<draw:frame><draw:{kind} draw:href="./Object {number}"/></draw:frame>'
        for number, kind in enumerate(("object", "object", "object-ole"), start=1)
    )
    body = f'<text:p text:style-name="S">\uf0b3 7 <text:span text:style-name="A">a</text:span>{frames}</text:p>'
    write_open_document(tmp_path / "a.odt", "text", body, styles)
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    rows = f"<table:table-row>{cell.format('Fee')}{cell.format('77')}</table:table-row>"
    write_open_document(tmp_path / "sheet.ods", "spreadsheet", f"<table:table>{rows}</table:table>")
    with zipfile.ZipFile(tmp_path / "sheet.ods") as sheet, zipfile.ZipFile(tmp_path / "a.odt", "a") as package:
        inner = '<draw:object draw:href="./Object 1"/><draw:object draw:href="../Object 2"/></office:spreadsheet>'
        table = sheet.read("content.xml").decode()
        package.writestr("Object 1/content.xml", table.replace("</office:spreadsheet>", inner))
        package.writestr("Object 1/Object 1/content.xml", table.replace("77", "88"))
        package.writestr(
            "Object 2/content.xml",
            '<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><msup><mi>m</mi><mn>2</mn></msup>'
            '<annotation encoding="StarMath 5.0">m^{2}</annotation></semantics></math>',
        )
    document = parser.parse(tmp_path / "a.odt")
    assert document.text == "≥ 7 a\n\n| Fee | 77 |\n| --- | --- |\n\n| Fee | 88 |\n| --- | --- |\n\nm^2"
    assert document.warnings == ("An embedded object is of another program and was not read.",)


def test_cells_of_excel_2003_are_read_as_shown(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(
        '<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" '
        'xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><Styles>'
        '<Style ss:ID="z"><NumberFormat ss:Format="00000"/></Style>'
        '<Style ss:ID="p" ss:Parent="q"/><Style ss:ID="q"><NumberFormat ss:Format="Percent"/></Style>'
        '<Style ss:ID="d"><Font ss:StrikeThrough="1"/></Style></Styles><Worksheet ss:Name="A"><Table><Row>'
        '<Cell ss:StyleID="z"><Data ss:Type="Number">1067</Data></Cell>'
        '<Cell ss:StyleID="p"><Data ss:Type="Number">0.256</Data></Cell><Cell ss:Formula="=RC[-1]*2"/></Row><Row>'
        '<Cell ss:StyleID="d"><Data ss:Type="Number">99</Data></Cell>'
        '<Cell><Data ss:Type="Number">19.990000000000002</Data></Cell><Cell><ss:Data ss:Type="String" '
        'xmlns="http://www.w3.org/TR/REC-html40">m<Sup>2</Sup></ss:Data></Cell></Row></Table></Worksheet></Workbook>'
    )
    document = parser.parse(tmp_path / "a.xml")
    assert "| 01067 | 25.60% | =RC[-1]*2 |" in document.text
    assert "| ~~99~~ | 19.99 | m^2 |" in document.text
    assert "1 formula without a stored value" in document.warnings[0]


def _write_book(path: Path, parts: dict[str, str], manifest: str, spine: str, metadata: str = "") -> None:
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/c.opf"/></rootfiles></container>',
        )
        book.writestr(
            "OEBPS/c.opf",
            f'<package xmlns="http://www.idpf.org/2007/opf">{metadata}<manifest>{manifest}</manifest><spine>{spine}</spine>'
            '<guide><reference type="toc" href="g.xhtml#top"/></guide></package>',
        )
        for name, content in parts.items():
            book.writestr(name, content)


def test_chapters_of_a_book_are_found_by_any_address(parser: Parser, tmp_path: Path) -> None:
    chapters = {
        "OEBPS/a.xhtml": "<p>One 11.</p>",
        "OEBPS\\b.html": "<p>Two 22.</p>",
        "OEBPS/c.xhtml": "<p>Three 33.</p>",
        "OEBPS/e.xhtml": "<p>Not in the spine 44.</p>",
        "OEBPS/f.xhtml": "",
        "OEBPS/g.xhtml": "<p>Contents of the guide</p>",
        "OEBPS/h.xhtml": "encrypted",
        "OEBPS/n.xhtml": "<nav>Contents</nav>",
        "META-INF/encryption.xml": "<e><CipherReference URI='OEBPS/h.xhtml'/></e>",
    }
    manifest = (
        '<item id="a" href="/OEBPS/a.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="b" href="b.html" media-type="text/x-oeb1-document"/><item id="c" href="c.xhtml"/>'
        '<item id="d" href="d.pdf" media-type="application/pdf"/>'
        '<item id="e" href="e.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="f" href="f.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="g" href="g.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="h" href="h.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="n" href="n.xhtml" media-type="application/xhtml+xml" properties="nav scripted"/>'
    )
    spine = "".join(f'<itemref idref="{each}"/>' for each in ("a", "b", "c", "d", "lost"))
    _write_book(tmp_path / "a.epub", chapters, manifest, spine)
    document = parser.parse(tmp_path / "a.epub")
    assert document.text == "One 11.\n\nTwo 22.\n\nThree 33.\n\nNot in the spine 44."
    assert document.warnings == (
        "The chapter d.pdf is no page and was not read.",
        "The chapter lost is missing in the file and was not read.",
        "The chapter f.xhtml is an empty file.",
        "The page h.xhtml is encrypted and was not read. The order does not list it.",
    )  # fmt: skip


@pytest.mark.parametrize("description", ["Two boys search a ferry.", "&lt;p&gt;Two boys search a ferry.&lt;/p&gt;"])
def test_the_authors_and_the_description_of_a_book_can_be_quoted(
    parser: Parser, tmp_path: Path, description: str
) -> None:
    fields = "<title>The Pier</title><creator>A. Lin</creator><creator>B. Moe</creator>"
    metadata = f"<metadata>{fields}<description>{description}</description></metadata>"
    item = '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
    _write_book(tmp_path / "a.epub", {"OEBPS/a.xhtml": "<p>One.</p>"}, item, '<itemref idref="a"/>', metadata)
    front = "Title: The Pier\nAuthors: A. Lin, B. Moe\n\nTwo boys search a ferry."
    assert parser.parse(tmp_path / "a.epub").text == f"{front}\n\nOne."


def test_the_style_sheets_of_a_book_apply(parser: Parser, tmp_path: Path) -> None:
    page = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><link rel="stylesheet" href="../s.css"/></head><body>'
        '<p>was <span class="k">99</span> 10<span class="u">6</span> t</p><p class="h">gone</p></body></html>'
    )
    parts = {
        "OEBPS/t/a.xhtml": page,
        "OEBPS/s.css": ".h{display:none} .k{text-decoration:line-through} .u{vertical-align:super}",
    }
    item = '<item id="a" href="t/a.xhtml" media-type="application/xhtml+xml"/>'
    _write_book(tmp_path / "a.epub", parts, item, '<itemref idref="a"/>')
    assert parser.parse(tmp_path / "a.epub").text == "was ~~99~~ 10^6 t"


def test_words_of_a_pdf_under_shapes_or_in_their_colour_are_left_out(parser: Parser, tmp_path: Path) -> None:
    write_plain_pdf(
        tmp_path / "a.pdf",
        text_at(72, 700, "Price 80 EUR.") + text_at(72, 680, "COVERED 999")
        + "1 g 60 670 300 25 re f 0 g 60 600 200 20 re f " + text_at(72, 605, "BLACK 997")
        + "0.2 0.3 0.6 rg 60 540 300 30 re f 1 g " + text_at(72, 550, "On blue 5"),
    )  # fmt: skip
    document = parser.parse(tmp_path / "a.pdf")
    assert document.text.split() == ["Price", "80", "EUR.", "On", "blue", "5"]
    assert "4 words on page 1 are not shown" in document.warnings[0]


def test_words_of_a_pdf_that_are_cut_off_or_behind_a_picture_are_left_out(parser: Parser, tmp_path: Path) -> None:
    white = "<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>"
    write_plain_pdf(
        tmp_path / "a.pdf",
        text_at(72, 700, "Price 80 EUR.") + text_at(72, 680, "BEHIND 999") + "q 200 0 0 20 60 672 cm /I Do Q "
        "q 1 0 0 1 50 600 cm 0 0 60 20 re W n " + text_at(22, 5, "Fee 7") + text_at(122, 5, "CUT 998") + "Q",
        resources="/XObject<</I 4 0 R>>", objects=[f"{white}stream\n\xff\nendstream"],
    )  # fmt: skip
    document = parser.parse(tmp_path / "a.pdf")
    assert document.text.split() == ["Price", "80", "EUR.", "Fee", "7"]
    assert "4 words on page 1 are not shown" in document.warnings[0]


def test_invisible_words_outside_of_scans_are_left_out(parser: Parser, tmp_path: Path) -> None:
    drawn = (
        text_at(72, 700, "Price 80 EUR.") + f"q /G gs {text_at(72, 650, 'CLEAR 999')} Q 3 Tr {text_at(72, 600, 'GONE')}"
    )
    write_plain_pdf(tmp_path / "a.pdf", drawn, resources="/ExtGState<</G<</ca 0>>>>")
    document = parser.parse(tmp_path / "a.pdf")
    assert document.text == "Price 80 EUR."
    assert "3 words on page 1 are not shown" in document.warnings[0]


def test_invisible_words_stay_on_dense_scans_and_on_pages_without_other_text(parser: Parser, tmp_path: Path) -> None:
    image = "<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>"
    words = "".join(text_at(20 + 19 * (at % 30), 780 - 7 * (at // 30), f"w{at}", 5) for at in range(3100))
    scan = f"q 612 0 0 792 0 0 cm /I Do Q 3 Tr {words}"
    write_plain_pdf(
        tmp_path / "a.pdf", scan, resources="/XObject<</I 4 0 R>>", objects=[f"{image}stream\nA\nendstream"]
    )
    outlines = "".join(f"{72 + 9 * at} 700 m {76 + 9 * at} 709 l {78 + 9 * at} 700 l f " for at in range(5))
    write_plain_pdf(tmp_path / "b.pdf", f"{outlines} 3 Tr {text_at(300, 700, 'Price of 12 is 80')}")
    assert parser.parse(tmp_path / "a.pdf").text.count("w") == 3100
    assert parser.parse(tmp_path / "b.pdf").text == "Price of 12 is 80"


def test_a_group_on_a_layer_that_is_off_is_left_out(parser: Parser, tmp_path: Path) -> None:
    drawn = text_at(72, 680, "HIDDEN 999")
    write_plain_pdf(
        tmp_path / "a.pdf",
        text_at(72, 700, "Price 80 EUR.") + "/X Do",
        catalog="/OCProperties<</OCGs[4 0 R]/D<</OFF[4 0 R]>>>>",
        resources="/XObject<</X 5 0 R>>",
        objects=[
            "<</Type/OCG/Name(L)>>",
            "<</Type/XObject/Subtype/Form/BBox[0 0 612 792]/OC 4 0 R/Resources<</Font<</F 3 0 R>>>>"
            f"/Length {len(drawn)}>>stream\n{drawn}endstream",
        ],
    )
    assert parser.parse(tmp_path / "a.pdf").text == "Price 80 EUR."


@pytest.mark.parametrize(
    ("width", "height", "scale", "is_scan"), [(612, 792, 1, 1), (6, 8, 100, 1), (6000, 6000, 0.01, 0)]
)
def test_a_scan_in_a_form_is_covered_by_a_picture(
    tmp_path: Path, width: float, height: float, scale: float, is_scan: bool
) -> None:
    drawn = f"q {width} 0 0 {height} 0 0 cm /I Do Q"
    objects = [
        "<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>stream\nA\n"
        "endstream",
        f"<</Type/XObject/Subtype/Form/BBox[0 0 {width} {height}]/Resources<</XObject<</I 4 0 R>>>>"
        f"/Length {len(drawn)}>>stream\n{drawn}\nendstream",
    ]
    page = f"q {scale} 0 0 {scale} 0 0 cm /X Do Q\n{text_at(40, 10, 'ACME-000123')}"
    write_plain_pdf(tmp_path / "a.pdf", page, resources="/XObject<</X 5 0 R>>", objects=objects)
    warnings = load_parser("default", ParserOptions(ocr=OcrMode.NEVER)).parse(tmp_path / "a.pdf").warnings
    covered = "page 1 covered by a picture, with few words of text, not read"
    assert [each.startswith(covered) for each in warnings] == [True] * is_scan


def test_a_file_in_a_comment_of_a_pdf_is_a_document(tmp_path: Path) -> None:
    write_plain_pdf(
        tmp_path / "a.pdf",
        text_at(72, 700, "Page."),
        page="/Annots[<</Type/Annot/Subtype/FileAttachment/Rect[9 9 20 20]/FS 5 0 R>>]",
        objects=[
            "<</Type/EmbeddedFile/Length 9>>stream\nValue: 42\nendstream",
            "<</Type/Filespec/F(pinned.txt)/EF<</F 4 0 R>>>>",
        ],
    )
    assert list(pdf_files(tmp_path / "a.pdf")) == [("pinned.txt", b"Value: 42")]


def test_a_file_that_only_af_names_is_a_document(tmp_path: Path) -> None:
    packed = zlib.compress(b"<Total>42</Total>").decode("latin-1")
    write_plain_pdf(
        tmp_path / "a.pdf",
        text_at(72, 700, "Invoice."),
        catalog="/AF[5 0 R]",
        objects=[
            f"<</Type/EmbeddedFile/Filter/FlateDecode/Length {len(packed)}>>stream\n{packed}\nendstream",
            "<</Type/Filespec/F(invoice.xml)/EF<</F 4 0 R>>/AFRelationship/Data>>",
        ],
    )
    assert list(pdf_files(tmp_path / "a.pdf")) == [("invoice.xml", b"<Total>42</Total>")]


def test_a_damaged_file_that_only_af_names_is_an_error(tmp_path: Path) -> None:
    write_plain_pdf(
        tmp_path / "a.pdf",
        text_at(72, 700, "Invoice."),
        catalog="/AF[<</Type/Filespec/F(invoice.xml)/EF<</F 4 0 R>>>>]",
        objects=["<</Type/EmbeddedFile/Filter/FlateDecode/Length 5>>stream\nwrong\nendstream"],
    )
    with pytest.raises(ValueError, match="an attached file cannot be read"):
        list(pdf_files(tmp_path / "a.pdf"))


def test_a_listed_file_of_a_pdf_is_a_document_once(tmp_path: Path) -> None:
    write_plain_pdf(
        tmp_path / "a.pdf",
        "",
        catalog="/Names<</EmbeddedFiles<</Names[(a) 5 0 R]>>>>",
        objects=[
            "<</Type/EmbeddedFile/Subtype/application#2Foctet-stream/Length 3>>stream\ntwo\nendstream",
            "<</Type/Filespec/F(a.bin)/EF<</F 4 0 R>>>>",
        ],
    )
    assert list(pdf_files(tmp_path / "a.pdf")) == [("a.bin", b"two")]


@pytest.mark.parametrize("kind", ["text", "presentation"])
def test_addresses_of_linked_drawings_are_kept(parser: Parser, tmp_path: Path, kind: str) -> None:
    link = 'xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="https://example.org/plan.pdf"'
    shown = "<draw:frame><draw:text-box><text:p>Plan</text:p></draw:text-box></draw:frame>"
    body = f"<draw:a {link}>{shown}</draw:a>"
    path = tmp_path / "a.odt"
    write_open_document(path, kind, f"<text:p>{body}</text:p>" if kind == "text" else f"<draw:page>{body}</draw:page>")
    assert parser.parse(path).text == "https://example.org/plan.pdf\n\nPlan"
