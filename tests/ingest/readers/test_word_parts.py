"""Text of Word files outside the body: alternative chunks, headers and footers."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from ingest.parser import Parser, load_parser
from support.files import write_docx
from support.office import OFFICE, WORD, write_office


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def _word(path: Path, body: str, parts: Mapping[str, str], relations: Mapping[str, tuple[str, str]]) -> Path:
    document = f'<w:document {WORD} xmlns:r="{OFFICE}"><w:body>{body}</w:body></w:document>'
    parts = {"word/document.xml": document, **parts}
    return write_office(path, "word/document.xml", parts, {"word/document.xml": relations})


def _paragraph(*runs: str) -> str:
    return f"<w:p>{''.join(run if run.startswith('<') else f'<w:r><w:t>{run}</w:t></w:r>' for run in runs)}</w:p>"


# Alternative chunks

CHUNKS = {
    "afchunk.htm": "<html><head><title>T</title></head><body><h2>Terms</h2><p>Heating is extra.</p></body></html>",
    "afchunk.rtf": r"{\rtf1\ansi Heating is extra.\par}",
    "afchunk.txt": "Heating is extra.",
    "afchunk.mht": (
        "MIME-Version: 1.0\nContent-Type: multipart/related; boundary=x\n\n--x\n"
        "Content-Type: text/html; charset=utf-8\n\n<html><body><p>Heating is extra.</p></body></html>\n--x--\n"
    ),
    "afchunk.dat": "<html><body><p>Heating is extra.</p></body></html>",
}


@pytest.mark.parametrize("name", CHUNKS)
def test_an_alternative_chunk_is_read_in_place(parser: Parser, tmp_path: Path, name: str) -> None:
    body = _paragraph("The rent is 900 euros.") + '<w:altChunk r:id="c"/>' + _paragraph("It is due in May.")
    path = _word(tmp_path / "a.docx", body, {f"word/{name}": CHUNKS[name]}, {"c": ("aFChunk", f"word/{name}")})
    document = parser.parse(path)
    text = [each for each in document.text.split("\n\n") if each != "Terms"]
    assert (text, document.warnings) == (["The rent is 900 euros.", "Heating is extra.", "It is due in May."], ())


def test_a_document_in_a_table_of_a_document_is_read_once(parser: Parser, tmp_path: Path) -> None:
    inner = write_docx(tmp_path / "inner.docx", ["Heating is extra.", ("table", [("kW", "m"), ("5", "7")])])
    cell = f"<w:tc>{_paragraph('Rent')}</w:tc>"
    chunk = '<w:tc><w:altChunk r:id="c"/><w:p/></w:tc>'
    path = _word(tmp_path / "a.docx", f"<w:tbl><w:tr>{cell}{chunk}</w:tr></w:tbl>", {}, {})
    with zipfile.ZipFile(path, "a") as package:
        package.write(inner, "word/inner.docx")
    path = _with_relation(path, tmp_path / "b.docx", "c", "aFChunk", "word/inner.docx")
    text = parser.parse(path).text
    assert text.count("Heating is extra.") == 1
    assert "| 5 | 7 |" in text


def _with_relation(path: Path, target: Path, identity: str, kind: str, part: str) -> Path:
    """Copy the package with one more relation of the document."""
    with zipfile.ZipFile(path) as package, zipfile.ZipFile(target, "w") as copy:
        for name in package.namelist():
            content = package.read(name)
            if name == "word/_rels/document.xml.rels":
                entry = f'<Relationship Id="{identity}" Type="{OFFICE}/{kind}" Target="/{part}"/></Relationships>'
                content = content.replace(b"</Relationships>", entry.encode())
            copy.writestr(name, content)
    return target


def test_a_chunk_that_cannot_be_read_is_a_warning(parser: Parser, tmp_path: Path) -> None:
    body = _paragraph("The rent is 900 euros.") + '<w:altChunk r:id="c"/>'
    path = _word(tmp_path / "a.docx", body, {"word/c.docx": "PK\x03\x04"}, {"c": ("aFChunk", "word/c.docx")})
    document = parser.parse(path)
    assert document.text == "The rent is 900 euros."
    assert "c.docx" in document.warnings[0]


# Headers and footers


def _with_headers(path: Path, body: str, headers: Mapping[str, str], section: str = "", settings: str = "") -> Path:
    """Write a document with headers and footers by name: ``header.default``, ``footer.first`` and others."""
    references, parts, relations = "", {}, {}
    for name, content in headers.items():
        kind, _, use = name.partition(".")
        references += f'<w:{kind}Reference w:type="{use}" r:id="{name}"/>'
        parts[f"word/{name}.xml"] = f"<w:{kind} {WORD}>{content}</w:{kind}>"
        relations[name] = (kind, f"word/{name}.xml")
    parts["word/settings.xml"] = f"<w:settings {WORD}>{settings}</w:settings>"
    relations["s"] = ("settings", "word/settings.xml")
    return _word(path, f"{body}<w:sectPr>{references}{section}</w:sectPr>", parts, relations)


def _field(code: str, result: str) -> str:
    def mark(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    return (
        f"{mark('begin')}<w:r><w:instrText> {code} </w:instrText></w:r>{mark('separate')}"
        f"<w:r><w:t>{result}</w:t></w:r>{mark('end')}"
    )


_TAB = "<w:r><w:tab/></w:r>"


def test_text_that_only_headers_and_footers_have_is_read_once(parser: Parser, tmp_path: Path) -> None:
    headers = {
        "header.default": _paragraph("Lease 4711", _TAB, "Ada Lovelace"),
        "footer.default": _paragraph("Lease 4711") + _paragraph("Pier Estates, Bern"),
    }
    body = _paragraph("Between Ada Lovelace and Pier Estates, Bernstein.")
    path = _with_headers(tmp_path / "a.docx", body, headers)
    assert parser.parse(path).text.split("\n\n") == [
        "Between Ada Lovelace and Pier Estates, Bernstein.",
        "Header: Lease 4711 Ada Lovelace",
        "Footer: Pier Estates, Bern",
    ]


def test_page_numbers_of_footers_are_left_out(parser: Parser, tmp_path: Path) -> None:
    pages = ["Page ", _field("PAGE", "1"), " of ", _field("NUMPAGES \\* MERGEFORMAT", "3")]
    simple = '<w:fldSimple w:instr=" PAGE "><w:r><w:t>1</w:t></w:r></w:fldSimple>'
    headers = {
        "header.default": _paragraph(simple),
        "footer.default": _paragraph("Lease 4711", _TAB, *pages) + _paragraph("Signed by both parties, page ", simple),
    }
    path = _with_headers(tmp_path / "a.docx", _paragraph("Rent."), headers)
    assert parser.parse(path).text == "Rent.\n\nFooter: Lease 4711\nSigned by both parties, page"


@pytest.mark.parametrize(
    ("section", "settings", "seen"),
    [("", "", []), ("<w:titlePg/>", "", ["First"]), ("", "<w:evenAndOddHeaders/>", ["Even"])],
)
def test_headers_that_no_page_shows_are_left_out(
    parser: Parser, tmp_path: Path, section: str, settings: str, seen: list[str]
) -> None:
    headers = {"header.first": _paragraph("First"), "header.even": _paragraph("Even")}
    path = _with_headers(tmp_path / "a.docx", _paragraph("Rent."), headers, section, settings)
    assert parser.parse(path).text.split("\n\n")[1:] == [f"Header: {text}" for text in seen]


def test_a_section_continues_the_headers_of_the_one_before(parser: Parser, tmp_path: Path) -> None:
    headers = {"header.default": _paragraph("Lease 4711"), "header.first": _paragraph("Annex")}
    path = _with_headers(tmp_path / "a.docx", _paragraph("Rent."), headers)
    with zipfile.ZipFile(path) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    later = b"</w:sectPr></w:pPr></w:p><w:sectPr><w:titlePg/></w:sectPr></w:body>"
    document = parts["word/document.xml"].replace(b"<w:sectPr>", b"<w:p><w:pPr><w:sectPr>")
    parts["word/document.xml"] = document.replace(b"</w:sectPr></w:body>", later)
    with zipfile.ZipFile(path, "w") as package:
        for name, content in parts.items():
            package.writestr(name, content)
    assert parser.parse(path).text == "Rent.\n\nHeader: Lease 4711\n\nHeader: Annex"


def test_a_letterhead_in_a_text_box_is_read(parser: Parser, tmp_path: Path) -> None:
    box = f"<w:r><w:pict><w:txbxContent>{_paragraph('Pier Estates, Bern')}</w:txbxContent></w:pict></w:r>"
    path = _with_headers(tmp_path / "a.docx", _paragraph("Rent."), {"header.default": _paragraph(box)})
    assert parser.parse(path).text == "Rent.\n\nHeader: Pier Estates, Bern"


def test_numbers_of_any_length_are_read(parser: Parser, tmp_path: Path) -> None:
    digits = "9" * 5_000
    level = f'<w:outlineLvl w:val="{digits}"/><w:numPr><w:ilvl w:val="{digits}"/></w:numPr>'
    body = f'<w:p><w:pPr>{level}</w:pPr><w:r><w:rPr><w:position w:val="{digits}"/></w:rPr><w:t>Rent</w:t></w:r></w:p>'
    styles = f'<w:styles {WORD}><w:style w:styleId="a"><w:pPr>{level}</w:pPr></w:style></w:styles>'
    path = _word(tmp_path / "a.docx", body, {"word/styles.xml": styles}, {"s": ("styles", "word/styles.xml")})
    assert parser.parse(path).text == "Rent"


def test_addresses_of_links_have_their_place_in_the_page(parser: Parser, tmp_path: Path) -> None:
    body = _paragraph('<w:hyperlink r:id="l" w:anchor="k4"><w:r><w:t>Rules</w:t></w:r></w:hyperlink>', " and ")
    body += _paragraph(_field('HYPERLINK "https://b.example/d" \\l "k5"', "terms"))
    _word(tmp_path / "a.docx", body, {}, {"s": ("styles", "styles.xml")})
    relation = 'Target="https://a.example/d" TargetMode="External"'
    with zipfile.ZipFile(tmp_path / "a.docx") as package, zipfile.ZipFile(tmp_path / "b.docx", "w") as copy:
        for name in package.namelist():
            entry = f'<Relationship Id="l" Type="{OFFICE}/hyperlink" {relation}/></Relationships>'
            copy.writestr(name, package.read(name).replace(b"</Relationships>", entry.encode()))
    text = parser.parse(tmp_path / "b.docx").text
    assert text == "Rules (https://a.example/d#k4) and\n\nterms (https://b.example/d#k5)"
