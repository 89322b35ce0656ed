"""Front matter and tags of notes, and the properties of Office and PDF files."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import pytest

from ingest.document import DATE, FactSource
from ingest.facts.facts import find_facts
from ingest.parser import Parser, load_parser
from support.files import write_docx, write_pdf
from support.office import write_open

NOTE = """---
title: "Orion kick-off"
tags: [Meeting, project/Orion]
date: 2024-03-05
aliases:
  - Start of Orion
budget: 12500.50
time: 12:30
draft: no
owner: {name: Ann}
---
# Agenda #planning

Met [[People/Bob|Bob]], see ![[plan.png]] and #follow-up. #Line-tag too.
Not: #1, issue #42, C#sharp, a#b, \\#escaped, https://example.org/a#frag, [link](https://example.org/#part), `#code`.

```sh
#comment
```

    #indented
"""
CUSTOM = (
    '<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/custom-properties" '
    'xmlns:vt="http://schemas.openxmlformats.org/officeDocument/2006/docPropsVTypes">'
    '<property name="Project"><vt:lpwstr>Orion</vt:lpwstr></property>'
    '<property name="Copies"><vt:i4>3</vt:i4></property></Properties>'
)
META = (
    '<office:document-meta xmlns:office="o" xmlns:meta="m" xmlns:dc="d"><office:meta><dc:title>Plan</dc:title>'
    "<meta:keyword>pump</meta:keyword><meta:keyword>water</meta:keyword>"
    '<meta:user-defined meta:name="Project">Orion</meta:user-defined></office:meta></office:document-meta>'
)


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def test_a_note_has_the_fields_of_its_front_matter_and_tags(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text(NOTE, encoding="utf-8")
    note = parser.parse(tmp_path / "note.md")
    assert note.title == "Orion kick-off"
    assert note.fields == {
        "tags": ("follow-up", "line-tag", "meeting", "planning", "project/orion"), "date": "2024-03-05",
        "aliases": ("Start of Orion",), "budget": 12500.5, "time": "12:30", "draft": "no",
    }  # fmt: skip
    assert "Met [[People/Bob|Bob]], see ![[plan.png]] and #follow-up." in note.text
    date = find_facts(note)[DATE]
    assert (date.value, date.quote, date.source) == ("2024-03-05", "date: 2024-03-05", FactSource.PROPERTY)


def test_a_text_has_the_fields_of_its_front_matter(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("---\nproject: Orion\n---\nThe pump. #none\n", encoding="utf-8")
    assert parser.parse(tmp_path / "a.txt").fields == {"project": "Orion"}
    (tmp_path / "b.txt").write_text("---\nA line between two rules\n---\nThe pump.\n", encoding="utf-8")
    assert parser.parse(tmp_path / "b.txt").fields == {}


@pytest.mark.parametrize("front", ["a: [1", "a: &x {b: *x}", f"a: {'[' * 5000}"])
def test_a_front_matter_that_is_no_yaml_leaves_the_note(parser: Parser, tmp_path: Path, front: str) -> None:
    (tmp_path / "note.md").write_text(f"---\n{front}\n---\nThe pump.\n", encoding="utf-8")
    note = parser.parse(tmp_path / "note.md")
    assert note.text.endswith("The pump.")
    assert note.fields == {}


def test_word_properties_are_metadata(parser: Parser, tmp_path: Path) -> None:
    import docx

    path = write_docx(tmp_path / "a.docx", ["The pump works."])
    document = docx.Document(str(path))
    document.core_properties.keywords, document.core_properties.category = "pump; water", "manual"
    document.save(str(path))
    with zipfile.ZipFile(path, "a") as package:
        package.writestr("docProps/custom.xml", CUSTOM)
    parsed = parser.parse(path)
    assert parsed.fields == {"project": "Orion", "copies": 3}
    assert (parsed.metadata["keywords"], parsed.metadata["category"]) == ("pump; water", "manual")


def test_opendocument_properties_are_metadata(parser: Parser, tmp_path: Path) -> None:
    path = write_open(tmp_path / "a.odt", "text", "<text:p>The pump works.</text:p>")
    with zipfile.ZipFile(path, "a") as package:
        package.writestr("meta.xml", META)
    parsed = parser.parse(path)
    assert (parsed.fields, parsed.metadata["keywords"]) == ({"project": "Orion"}, "pump, water")


def test_the_days_of_a_pdf_are_fields(parser: Parser, tmp_path: Path) -> None:
    parsed = parser.parse(write_pdf(tmp_path / "a.pdf", parts=["The pump works."]))
    assert set(parsed.fields) == {"created_at"}
    assert len(str(parsed.fields["created_at"])) == len("2024-01-31")


XMP = """<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
xmlns:pdfx="http://ns.adobe.com/pdfx/1.3/" pdfx:Status="final"><pdfx:Clientↂ0020Name>Acme</pdfx:Clientↂ0020Name>
<pdfx:Project>Orion of XMP</pdfx:Project></rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""
INFORMATION = "/Title (Manual) /Project (Orion) /Site#20Name (Graz (see /Fake)) /PTEX.Fullbanner (pdfTeX)"
OWN = {"project": "Orion", "site name": "Graz (see /Fake)"}


def pdf(*objects: bytes, trailer: bytes, catalog: bytes = b"") -> bytes:
    """Return a PDF with one page and these objects, numbered from 5. ``trailer`` adds entries to its trailer."""
    font = b"<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources%b>>" % font
    text = stream(b"", b"BT /F 12 Tf 20 100 Td (The pump works.) Tj ET")
    listed = (
        b"<</Type/Catalog/Pages 2 0 R%b>>" % catalog,
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        page,
        text,
        *objects,
    )
    body = b"%PDF-1.5\n" + b"".join(b"%d 0 obj\n%b\nendobj\n" % (at, each) for at, each in enumerate(listed, 1))
    starts = b"".join(b"%010d 00000 n \n" % body.index(b"%d 0 obj" % at) for at in range(1, len(listed) + 1))
    return body + b"xref\n0 %d\n%010d 65535 f \n%b%b\nstartxref\n%d\n%%%%EOF" % (
        len(listed) + 1, 0, starts, b"trailer\n<</Size %d/Root 1 0 R%b>>" % (len(listed) + 1, trailer), len(body),
    )  # fmt: skip


def stream(about: bytes, content: bytes) -> bytes:
    return b"<<%b/Length %d>>\nstream\n%b\nendstream" % (about, len(content), content)


def packed() -> bytes:
    """Return a PDF with its document information in an object stream, and a cross-reference stream."""
    start = pdf(trailer=b"").split(b"xref", 1)[0]
    inner = b"5 0 " + f"<<{INFORMATION}>>".encode()
    held = stream(b"/Type/ObjStm/N 1/First 4/Filter/FlateDecode", zlib.compress(inner))
    body = start + b"6 0 obj\n%b\nendobj\n" % held
    places = [(1, body.index(b"%d 0 obj" % at), 0) for at in (1, 2, 3, 4)]
    places += [(2, 6, 0), (1, body.index(b"6 0 obj"), 0)]
    rows = [(0, 0, 255), *places, (1, len(body), 0)]
    table = b"".join(kind.to_bytes(1) + at.to_bytes(4) + last.to_bytes(1) for kind, at, last in rows)
    about = b"/Type/XRef/Size 8/W[1 4 1]/Root 1 0 R/Info 5 0 R"
    return body + b"7 0 obj\n%b\nendobj\nstartxref\n%d\n%%%%EOF" % (stream(about, table), len(body))


@pytest.mark.parametrize(
    ("data", "fields"),
    [
        (pdf(f"<<{INFORMATION}>>".encode(), trailer=b"/Info 5 0 R"), OWN),
        (packed(), OWN),
        (pdf(stream(b"/Type/Metadata", XMP.encode()), trailer=b"", catalog=b"/Metadata 5 0 R"), {
            "project": "Orion of XMP", "client name": "Acme", "status": "final",
        }),
        (pdf(
            f"<<{INFORMATION}>>".encode(), stream(b"", XMP.encode()), trailer=b"/Info 5 0 R", catalog=b"/Metadata 6 0 R"
        ), OWN | {"client name": "Acme", "status": "final"}),
        (pdf(trailer=b"/Info 9 0 R"), {}),
    ],
    ids=["information", "stream of objects", "XMP", "both", "none"],
)  # fmt: skip
def test_custom_properties_of_a_pdf_are_metadata(
    parser: Parser, tmp_path: Path, data: bytes, fields: dict[str, str]
) -> None:
    (tmp_path / "a.pdf").write_bytes(data)
    assert parser.parse(tmp_path / "a.pdf").fields == fields


def test_custom_properties_that_cannot_be_read_are_named(
    parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: bytes) -> dict[str, str]:
        raise RecursionError("too deep")

    monkeypatch.setattr("ingest.readers.pdf.pdf.read_custom_properties", fail)
    parsed = parser.parse(write_pdf(tmp_path / "a.pdf", parts=["The pump works."]))
    assert "The pump works." in parsed.text
    assert "Its custom properties were not read (RecursionError: too deep)." in parsed.warnings


@pytest.mark.parametrize(
    ("head", "date"),
    [
        ('<meta property="article:published_time" content="2024-12-06T08:00:00+01:00">', "2024-12-06"),
        ('<meta name="dcterms.date" content="2024-12-06">', "2024-12-06"),
        (
            '<script type="application/ld+json">{"@type": "Article", "datePublished": "2024-12-06"}</script>',
            "2024-12-06",
        ),
        ('<script>[{"datePublished": "2024-12-06"}, {"datePublished": "2024-12-07"}]</script>', ""),  # a list of pages
        ('<meta property="article:modified_time" content="2024-12-06">', ""),
        ('<meta name="date" content="today">', ""),
    ],
)
def test_a_web_page_has_the_date_on_which_it_says_it_was_published(
    parser: Parser, tmp_path: Path, head: str, date: str
) -> None:
    page = tmp_path / "a.html"
    page.write_text(
        f"<html><head><title>Races</title>{head}</head><body><p>The wind came from behind.</p></body></html>"
    )
    found = find_facts(parser.parse(page)).get(DATE)
    assert (found.value if found else "") == date
    assert not found or found.source is FactSource.PROPERTY
