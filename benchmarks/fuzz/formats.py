"""Writes small valid files of many formats. ``files.py`` damages copies of them."""
# ruff: noqa: E501 - the contents of files

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sqlite3
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

_WORDS = "The Borea 12 works down to -25 °C. It was delivered 9,412 times in 2024."
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OPEN = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table", "draw")
)
_TEXTS = {
    "txt": _WORDS,
    "md": f"---\ntitle: Pumps\n---\n# Pumps\n\n{_WORDS}[^1]\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx = 1\n```\n\n[^1]: Note.\n",
    "rst": f"Pumps\n=====\n\n{_WORDS}\n\n.. note:: Mind it.\n\n====  ====\na     b\n====  ====\n1     2\n====  ====\n",
    "adoc": f"= Pumps\n\n{_WORDS}\n\n|===\n|a |b\n|1 |2\n|===\n",
    "org": f"* Pumps\n{_WORDS}\n| a | b |\n|---+---|\n| 1 | 2 |\n",
    "tex": f"\\documentclass{{article}}\\begin{{document}}\\section{{Pumps}}{_WORDS} $x^2$\\begin{{tabular}}{{ll}}a&b\\\\\\end{{tabular}}\\end{{document}}",
    "html": f"<html><head><title>Pumps</title></head><body><h1>Pumps</h1><p>{_WORDS}<table><tr><th>a<td rowspan=2>b<tr><td>1</table></body>",
    "xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>Pumps</h1><p>{_WORDS}</p></body></html>',
    "mhtml": f'MIME-Version: 1.0\nContent-Type: multipart/related; boundary="b"\n\n--b\nContent-Type: text/html\n\n<p>{_WORDS}</p>\n--b--\n',
    "xml": f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e "x">]><a><b c="1">{_WORDS} &e;</b></a>',
    "rss": f'<rss version="2.0"><channel><title>Pumps</title><item><title>New</title><description>{_WORDS}</description></item></channel></rss>',
    "kml": f'<kml xmlns="http://www.opengis.net/kml/2.2"><Placemark><name>Pumps</name><description>{_WORDS}</description></Placemark></kml>',
    "svg": f'<svg xmlns="http://www.w3.org/2000/svg"><text>{_WORDS}</text></svg>',
    "fb2": f'<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><body><section><title><p>Pumps</p></title><p>{_WORDS}</p></section></body></FictionBook>',
    "dbk": f'<article xmlns="http://docbook.org/ns/docbook"><title>Pumps</title><para>{_WORDS}</para></article>',
    "opml": f'<opml version="2.0"><body><outline text="Pumps"><outline text="{_WORDS}"/></outline></body></opml>',
    "json": json.dumps({"pumps": [{"name": "Borea 12", "text": _WORDS, "deep": [[[1.5, None, True]]]}] * 3}),
    "jsonl": f'{json.dumps({"text": _WORDS})}\n' * 3,
    "ipynb": json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Pumps\n", _WORDS]},
        {"cell_type": "code", "metadata": {}, "source": "print(1)", "execution_count": 1, "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}]},
    ]}),
    "geojson": json.dumps({"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"name": _WORDS}, "geometry": None}]}),
    "yaml": f"pumps:\n  - name: Borea 12\n    text: &t '{_WORDS}'\n  - *t\n",
    "toml": f'[pumps]\nname = "Borea 12"\ntext = """{_WORDS}"""\n',
    "ini": f"[pumps]\ntext = {_WORDS}\n",
    "csv": 'name,"sold, in 2024"\nBorea 12,"9,412"\n"Borea\n10",318\n' * 3,
    "tsv": "name\tsold\nBorea 12\t9412\n",
    "rtf": f"{{\\rtf1\\ansi{{\\fonttbl\\f0 Arial;}}\\f0 {_WORDS}\\par{{\\b Bold}}\\u8364?\\trowd a\\cell b\\cell\\row}}".replace("°", "\\'b0"),
    "eml": f'From: a@b.c\nTo: d@e.f\nSubject: =?utf-8?q?Pumps?=\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/plain\n\n{_WORDS}\n--b\nContent-Disposition: attachment; filename="a.csv"\nContent-Transfer-Encoding: base64\n\nYSxiCjEsMgo=\n--b--\n',
    "mbox": f"From a@b.c Mon Jan  1 00:00:00 2024\nFrom: a@b.c\nSubject: Pumps\n\n{_WORDS}\n\nFrom d@e.f Mon Jan  1 00:00:00 2024\nSubject: Two\n\n>From here.\n",
    "ics": f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:{_WORDS}\nDTSTART:20240101T100000Z\nEND:VEVENT\nEND:VCALENDAR\n",
    "vcf": f"BEGIN:VCARD\nVERSION:3.0\nFN:Ada\nNOTE:{_WORDS}\nEND:VCARD\n",
    "srt": f"1\n00:00:01,000 --> 00:00:02,000\n{_WORDS}\n",
    "vtt": f"WEBVTT\n\n00:01.000 --> 00:02.000\n{_WORDS}\n",
    "bib": f"@book{{b, title={{Pumps}}, note={{{_WORDS}}}}}\n",
    "ris": f"TY  - BOOK\nTI  - Pumps\nAB  - {_WORDS}\nER  - \n",
    "py": f'"""{_WORDS}"""\n\n\nclass Pump:\n    def run(self) -> int:\n        return 12\n',
    "c": f"/* {_WORDS} */\nint main(void) {{ return 0; }}\n",
    "js": f"// {_WORDS}\nexport const pump = () => ({{ a: [1, 2] }});\n",
    "sql": f"CREATE TABLE pumps (name TEXT);\nINSERT INTO pumps VALUES ('{_WORDS}');\n",
    "log": f"2024-01-01 10:00:00 INFO {_WORDS}\n" * 5,
}  # fmt: skip


def write_formats(folder: Path) -> list[Path]:
    """Write one file of each format. Return the paths."""
    contents = {f"a.{suffix}": text.encode() for suffix, text in _TEXTS.items()}
    contents |= {"utf16.txt": _WORDS.encode("utf-16"), "latin.txt": _WORDS.encode("latin-1")}
    contents |= {"a.docx": _word(), "a.xlsx": _sheet(), "a.pptx": _slide(), "a.epub": _book(), "a.pdf": _pdf()}
    contents |= {f"a.{suffix}": _open(kind, body) for suffix, (kind, body) in _OPEN_BODIES.items()}
    contents |= {f"a.{suffix}": _picture(name) for suffix, name in _PICTURES.items()}
    contents |= _archives({name: contents[name] for name in ("a.md", "a.docx", "a.eml", "a.png")})
    contents["a.sqlite"] = _database()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


def _zip(parts: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return out.getvalue()


def _office(main: str, kind: str, parts: Mapping[str, str], relations: Mapping[str, str]) -> bytes:
    """Return an Office package. ``relations`` maps targets of the main part to their kinds."""
    folder, _, base = main.rpartition("/")
    related = "".join(
        f'<Relationship Id="r{at}" Type="{_OFFICE}/{relation}" Target="{target}"/>'
        for at, (target, relation) in enumerate(relations.items(), start=1)
    )
    whole = f'<Relationships xmlns="{_PACKAGE}/relationships">{{}}</Relationships>'
    document = "application/vnd.openxmlformats-officedocument"
    return _zip({
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml" '
        f'ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package'
        f'.relationships+xml"/><Override PartName="/{main}" ContentType="{document}.{kind}.main+xml"/></Types>',
        "_rels/.rels": whole.format(f'<Relationship Id="r0" Type="{_OFFICE}/officeDocument" Target="{main}"/>'),
        f"{folder}/_rels/{base}.rels": whole.format(related),
        **parts,
    })  # fmt: skip


def _word() -> bytes:
    name = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    cell = "<w:tc><w:tcPr><w:gridSpan w:val='1'/></w:tcPr><w:p><w:r><w:t>812</w:t></w:r></w:p></w:tc>"
    body = (
        f"<w:p><w:pPr><w:pStyle w:val='Heading1'/></w:pPr><w:r><w:t>Pumps</w:t></w:r></w:p><w:p><w:r><w:t>{_WORDS}"
        f"</w:t></w:r></w:p><w:tbl><w:tr>{cell * 2}</w:tr></w:tbl>"
    )
    main = f"<w:document {name}><w:body>{body}</w:body></w:document>"
    notes = f"<w:footnotes {name}><w:footnote w:id='1'><w:p><w:r><w:t>Note</w:t></w:r></w:p></w:footnote></w:footnotes>"
    parts = {"word/document.xml": main, "word/footnotes.xml": notes}
    return _office("word/document.xml", "wordprocessingml.document", parts, {"footnotes.xml": "footnotes"})


def _sheet() -> bytes:
    name = f'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{_OFFICE}"'
    rows = "".join(
        f"<row r='{row}'><c r='A{row}' t='s'><v>0</v></c><c r='B{row}'><v>{row * 1.5}</v></c></row>"
        for row in (1, 2, 3)
    )
    parts = {
        "xl/workbook.xml": f"<workbook {name}><sheets><sheet name='Pumps' sheetId='1' r:id='r1'/></sheets></workbook>",
        "xl/worksheets/sheet1.xml": f"<worksheet {name}><sheetData>{rows}</sheetData></worksheet>",
        "xl/sharedStrings.xml": f"<sst {name}><si><t>{_WORDS}</t></si></sst>",
    }
    relations = {"worksheets/sheet1.xml": "worksheet", "sharedStrings.xml": "sharedStrings"}
    return _office("xl/workbook.xml", "spreadsheetml.sheet", parts, relations)


def _slide() -> bytes:
    name = (
        'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
        f'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="{_OFFICE}"'
    )
    text = f"<p:sp><p:txBody><a:p><a:r><a:t>{_WORDS}</a:t></a:r></a:p></p:txBody></p:sp>"
    parts = {
        "ppt/presentation.xml": f"<p:presentation {name}><p:sldIdLst><p:sldId id='256' r:id='r1'/></p:sldIdLst></p:presentation>",
        "ppt/slides/slide1.xml": f"<p:sld {name}><p:cSld><p:spTree>{text}</p:spTree></p:cSld></p:sld>",
    }  # fmt: skip
    return _office("ppt/presentation.xml", "presentationml.presentation", parts, {"slides/slide1.xml": "slide"})


_OPEN_BODIES = {
    "odt": ("text", f"<text:h text:outline-level='1'>Pumps</text:h><text:p>{_WORDS}</text:p>"),
    "ods": ("spreadsheet", "<table:table table:name='P'><table:table-row><table:table-cell "
            "table:number-columns-repeated='3'><text:p>812</text:p></table:table-cell></table:table-row></table:table>"),
    "odp": ("presentation", f"<draw:page><draw:frame><draw:text-box><text:p>{_WORDS}</text:p></draw:text-box></draw:frame></draw:page>"),
}  # fmt: skip


def _open(kind: str, body: str) -> bytes:
    content = f"<office:document-content {_OPEN}><office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    media, manifest = f"application/vnd.oasis.opendocument.{kind}", "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    entry = f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{media}"/>'
    listed = f'<manifest:manifest xmlns:manifest="{manifest}">{entry}</manifest:manifest>'
    return _zip({"mimetype": media, "content.xml": content, "META-INF/manifest.xml": listed})


def _book() -> bytes:
    container = "urn:oasis:names:tc:opendocument:xmlns:container"
    return _zip({
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": f'<container xmlns="{container}"><rootfiles><rootfile full-path="b.opf" '
        'media-type="application/oebps-package+xml"/></rootfiles></container>',
        "b.opf": '<package xmlns="http://www.idpf.org/2007/opf"><metadata/><manifest><item id="c" href="c.xhtml" '
        'media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/></spine></package>',
        "c.xhtml": _TEXTS["xhtml"],
    })  # fmt: skip


def _pdf() -> bytes:
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    pdf.multi_cell(0, 6, _WORDS)
    with pdf.table() as table:
        for cells in (("kW", "m"), ("5", "7")):
            table.row(cells)
    return bytes(pdf.output())


_PICTURES = {"png": "PNG", "jpg": "JPEG", "gif": "GIF", "bmp": "BMP", "tiff": "TIFF", "webp": "WEBP", "ppm": "PPM"}


def _picture(kind: str) -> bytes:
    from PIL import Image, ImageDraw

    picture, out = Image.new("RGB", (240, 40), "white"), io.BytesIO()
    ImageDraw.Draw(picture).text((10, 10), "Borea 12 pumps", fill="black")
    picture.save(out, kind)
    return out.getvalue()


def _archives(parts: Mapping[str, bytes]) -> dict[str, bytes]:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, part in parts.items():
            member = tarfile.TarInfo(f"inner/{name}")
            member.size = len(part)
            archive.addfile(member, io.BytesIO(part))
    tar = packed.getvalue()
    return {
        "a.zip": _zip({**parts, "inner.zip": _zip(parts)}),
        "a.tar": tar, "a.tar.gz": gzip.compress(tar), "a.tar.bz2": bz2.compress(tar), "a.tar.xz": lzma.compress(tar),
        "a.md.gz": gzip.compress(parts["a.md"]), "a.md.bz2": bz2.compress(parts["a.md"]), "a.md.xz": lzma.compress(parts["a.md"]),
    }  # fmt: skip


def _database() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE pumps AS SELECT ? AS name", (_WORDS,))
    connection.commit()
    return connection.serialize()
