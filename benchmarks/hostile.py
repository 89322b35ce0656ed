"""Ingest files that were made to take memory or time, and print the peak memory of all processes.

    python -m benchmarks.hostile [--documents ../shared/cases] [--each]

Archives and pictures unpack to much more than they have, tables claim cells, markup nests deeply, texts repeat. The
memory is the proportional set size (Linux only). ``--each`` ingests one file at a time and prints the peak of each.
``--documents`` adds the files of a folder.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.fuzz.formats import write_formats
from benchmarks.ingest import measure

MB = 1 << 20
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_X = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_P = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)
_COMMAND = (sys.executable, "-m", "api.cli", "ingest")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--documents", type=Path, help="a folder of files to add")
    options.add_argument("--each", action="store_true", help="one ingest for each file")
    options.add_argument("--keep", type=Path, help="write the files into this folder, and keep them")
    options.add_argument("--only", default="", help="only files with this in their names")
    chosen = options.parse_args()
    os.environ.setdefault("CANDOR_INGEST__PARSE_TIMEOUT_S", "60")
    with tempfile.TemporaryDirectory(prefix="candor-hostile-") as work:
        folder = chosen.keep or Path(work, "files")
        if not folder.exists():
            write_files(folder, Path(work), chosen.documents)
        files = [path for path in sorted(folder.iterdir()) if chosen.only in path.name]
        for number, paths in enumerate([[path] for path in files] if chosen.each else [files]):
            _ingest(paths, Path(work, f"home-{number}"))


def _ingest(paths: list[Path], home: Path) -> None:
    spent = measure([*_COMMAND, *paths, "-c", "hostile", "--home", home, "--json"])
    report = json.loads(spent.output)
    name = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
    counts = ", ".join(f"{key} {value}" for key, value in report.items() if isinstance(value, int) and value)
    print(f"{name}: {spent.peak_mb:,.0f} MB, {spent.seconds:.0f} s, {counts}", flush=True)
    shutil.rmtree(home, ignore_errors=True)


def write_files(folder: Path, work: Path, documents: Path | None = None) -> None:
    """Write the hostile files, one of each name, and copies of the documents."""
    folder.mkdir(parents=True)
    formats = work / "formats"
    formats.mkdir()
    valid = {path.name: path.read_bytes() for path in write_formats(formats)}
    for write in (_texts, _markup, _packages, _archives, _pictures, _pdfs, _mails):
        for name, content in write(valid):
            (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    for number, path in enumerate(sorted(documents.rglob("*.*")) if documents else ()):
        if path.is_file() and path.name != "case.md":
            shutil.copyfile(path, folder / f"{number:03d}_{path.name}")


Files = Iterator[tuple[str, str | bytes]]
Valid = Mapping[str, bytes]


def _texts(valid: Valid) -> Files:
    del valid
    for suffix in ("txt", "md", "rst", "adoc", "tex", "org", "csv", "tsv", "json", "yaml", "toml", "py", "html", "log"):
        yield f"spaces.{suffix}", " " * 30 * MB
        yield f"word.{suffix}", "a" * 30 * MB
    yield "joined.txt", "word\u200b" * 4 * MB
    yield "random.txt", bytes(range(256)) * (30 * MB // 256)
    yield "utf16.txt", "\ufeff" + "pump " * 3 * MB
    yield "large.txt", "The pump stands in the cellar. " * 6 * MB
    yield "brackets.json", "[" * 5 * MB + "]" * 5 * MB
    yield "objects.json", '{"a":' * MB + "1" + "}" * MB
    yield "numbers.json", f"[{','.join(map(str, range(4 * MB)))}]"
    yield "records.json", json.dumps([{f"k{k}": k for k in range(20)}] * 100_000)
    yield "lines.jsonl", '{"a": 1, "b": [1, 2, {"c": null}]}\n' * 800_000
    yield "aliases.yaml", "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1} ' if n else '1'] * 9)}]\n" for n in range(12))
    yield "nested.yaml", "".join(f"{' ' * n}a:\n" for n in range(4000))
    yield "nested.toml", f"a = {'[' * MB}{']' * MB}"
    yield "keys.toml", "".join(f"[a{n}.b{n}]\nc = {n}\n" for n in range(300_000))
    yield "wide.csv", ",".join(map(str, range(2 * MB))) + "\n" + ",".join(["1"] * 2 * MB)
    yield "rows.csv", "a,b,c,d\n" + "1,2,3,4\n" * 4 * MB
    yield "cell.csv", 'a,b\n"' + "x y " * 6 * MB + '",1\n'
    yield "quotes.csv", "a,b\n" + '"open,1\n' * 2 * MB
    yield "commas.csv", "," * 30 * MB
    yield "groups.rtf", "{\\rtf1 " + "{\\b " * 3 * MB + "}" * 3 * MB
    yield "binary.rtf", "{\\rtf1 \\bin2000000000 " + "x" * 1000 + "}"
    yield "table.rtf", "{\\rtf1 " + "\\trowd a\\cell b\\cell\\row " * MB + "}"
    yield "cues.srt", "".join(f"{n}\n00:00:01,000 --> 00:00:02,000\nPump {n}\n\n" for n in range(500_000))
    yield "events.ics", "BEGIN:VCALENDAR\n" + "BEGIN:VEVENT\nSUMMARY:A\nRRULE:FREQ=SECONDLY\nEND:VEVENT\n" * 400_000
    yield "entries.bib", "".join(f"@book{{b{n}, title={{Pump {n}}}}}\n" for n in range(500_000))
    yield "braces.bib", "@book{b, title=" + "{" * 5 * MB + "}" * 5 * MB + "}"
    yield "macros.tex", "\\def\\a{\\b\\b}\\def\\b{\\c\\c}\\def\\c{\\a\\a}\\begin{document}\\a\\end{document}" * 50_000
    yield "cells.ipynb", json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
        {"cell_type": "code", "metadata": {}, "source": "x", "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["y\n"] * 20}]}] * 60_000})  # fmt: skip


def _markup(valid: Valid) -> Files:
    del valid
    for mark in ("[", "*", "`", "> ", "- ", "<b>", "![", "_"):
        yield f"mark-{ord(mark[0])}-{len(mark)}.md", mark * (4 * MB // len(mark))
    yield "table.md", "|a" * 200_000 + "|\n" + "|-" * 200_000 + "|\n" + "|1" * 200_000 + "|\n"
    yield "divs.html", "<div>" * 3 * MB
    yield "spans.html", "<p>" + "<span a=b>x" * 2 * MB
    yield "cells.html", "<table>" + "<tr>" + "<td>1" * 4 * MB + "</table>"
    yield "spanned.html", "<table>" + "<tr><td colspan=4000 rowspan=60000>x" * 3000 + "</table>"
    yield "tables.html", "<table><tr><td>" * 300_000
    yield "attributes.html", "<p " + " ".join(f"a{n}=1" for n in range(2 * MB)) + ">x</p>"
    yield "entities.html", "<p>" + "&amp;" * 5 * MB
    yield "comment.html", "<!--" + "-" * 20 * MB + "--><p>x"
    laughs = '<!ENTITY l0 "lol">' + "".join(f'<!ENTITY l{n} "' + f"&l{n - 1};" * 10 + '">' for n in range(1, 10))
    yield "laughs.xml", f"<!DOCTYPE a [{laughs}]><a>&l9;</a>"
    yield "quadratic.xml", '<!DOCTYPE a [<!ENTITY e "' + "x" * 100_000 + '">]><a>' + "&e;" * 100_000 + "</a>"
    yield "deep.xml", "<a>" * 4 * MB + "</a>" * 4 * MB
    yield "flat.xml", "<a>" + "<b/>" * 8 * MB + "</a>"
    yield "values.xml", "<a>" + "<b c='1' d='2'>x</b>" * 2 * MB + "</a>"
    yield "items.rss", "<rss><channel>" + "<item><title>A</title></item>" * MB + "</channel></rss>"
    yield "shapes.svg", '<svg xmlns="http://www.w3.org/2000/svg">' + "<text>A</text>" * 2 * MB + "</svg>"
    yield "uses.svg", '<svg xmlns="http://www.w3.org/2000/svg" width="99999" height="99999"><text>A</text></svg>'
    yield "outlines.opml", "<opml><body>" + "<outline text='A'>" * 500_000 + "</outline>" * 500_000 + "</body></opml>"
    yield "sections.fb2", "<FictionBook><body>" + "<section><p>A</p></section>" * 500_000 + "</body></FictionBook>"


def _packages(valid: Valid) -> Files:
    """Office files, whose parts unpack to hundreds of megabytes."""

    def made(name: str, part: str, content: str) -> tuple[str, bytes]:
        return name, _replaced(valid[f"a.{name.rpartition('.')[2]}"], part, content)

    def word(name: str, body: str) -> tuple[str, bytes]:
        return made(name, "word/document.xml", f"<w:document {_W}><w:body>{body}</w:body></w:document>")

    def sheet(name: str, rows: str, after: str = "") -> tuple[str, bytes]:
        xml = f"<worksheet {_X}><sheetData>{rows}</sheetData>{after}</worksheet>"
        return made(name, "xl/worksheets/sheet1.xml", xml)

    def slide(name: str, shapes: str) -> tuple[str, bytes]:
        xml = f"<p:sld {_P}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        return made(name, "ppt/slides/slide1.xml", xml)

    def strings(name: str, items: str) -> tuple[str, bytes]:
        return made(name, "xl/sharedStrings.xml", f"<sst {_X}>{items}</sst>")

    paragraph, text = "<w:p><w:r><w:t>Pump</w:t></w:r></w:p>", "<a:p><a:r><a:t>Pump</a:t></a:r></a:p>"
    wide = f"<w:tr><w:tc><w:tcPr><w:gridSpan w:val='60000'/></w:tcPr>{paragraph}</w:tc></w:tr>"
    yield word("paragraphs.docx", paragraph * 3 * MB)
    yield word("runs.docx", f"<w:p>{'<w:r><w:t>x</w:t></w:r>' * 5 * MB}</w:p>")
    yield word("spaces.docx", " " * 190 * MB)
    yield word("text.docx", f"<w:p><w:r><w:t>{'a' * 190 * MB}</w:t></w:r></w:p>")
    yield word("cells.docx", f"<w:tbl><w:tr>{f'<w:tc>{paragraph}</w:tc>' * 2 * MB}</w:tr></w:tbl>")
    yield word("spans.docx", f"<w:tbl>{wide * 9000}</w:tbl>")
    yield word("nested.docx", "<w:tbl><w:tr><w:tc>" * 100_000 + "</w:tc></w:tr></w:tbl>" * 100_000)
    yield made("notes.docx", "word/footnotes.xml", f"<w:footnotes {_W}>{paragraph * 3 * MB}</w:footnotes>")
    related = "<Relationship Id='r' Type='t' Target='x'/>" * 3 * MB
    yield made("relations.docx", "word/_rels/document.xml.rels", f"<Relationships>{related}</Relationships>")
    cell = "<c r='{0}'><v>1</v></c>"
    yield sheet("rows.xlsx", "".join(f"<row r='{n}'>{cell.format(f'A{n}')}</row>" for n in range(1, MB)))
    yield sheet("columns.xlsx", f"<row r='1048576'>{cell.format('A1048576')}{cell.format('XFD1048576')}</row>")
    yield sheet("corners.xlsx", "".join(f"<row r='{n}'>{cell.format(f'XFD{n}')}</row>" for n in range(1, 100_000)))
    merged = "<mergeCell ref='A1:XFD1048576'/>" * 100_000
    yield sheet("merged.xlsx", f"<row r='1'>{cell.format('A1')}</row>", f"<mergeCells>{merged}</mergeCells>")
    yield strings("strings.xlsx", "<si><t>Pump</t></si>" * 5 * MB)
    yield strings("string.xlsx", f"<si><t>{'a' * 190 * MB}</t></si>")
    yield strings("shared.xlsx", f"<si><t>{'a b ' * 5 * MB}</t></si>")  # named by several cells
    yield slide("paragraphs.pptx", f"<p:sp><p:txBody>{text * 2 * MB}</p:txBody></p:sp>")
    yield slide("shapes.pptx", f"<p:sp><p:txBody>{text}</p:txBody></p:sp>" * MB)
    row = "<table:table-row table:number-rows-repeated='1000000'><table:table-cell "
    row += "table:number-columns-repeated='16000'><text:p>1</text:p></table:table-cell></table:table-row>"
    for suffix, kind in (("odt", "text"), ("ods", "spreadsheet"), ("odp", "presentation")):
        content = zipfile.ZipFile(io.BytesIO(valid[f"a.{suffix}"])).read("content.xml").decode()
        before, tag, after = content.partition(f"<office:{kind}>")
        for name, part in (
            ("repeated", f"<table:table>{row}</table:table>"),
            ("paragraphs", "<text:p>Pump</text:p>" * 5 * MB),
            ("spaces", "<text:p><text:s text:c='1000000000'/></text:p>" * 1000),
        ):
            yield made(f"{name}.{suffix}", "content.xml", before + tag + part + after)
    yield made("chapter.epub", "c.xhtml", f"<html><body>{'<p>Pump</p>' * 10 * MB}")
    items, spine = "<item id='c' href='c.xhtml'/>" * 3 * MB, "<itemref idref='c'/>" * 500_000
    manifest = f"<package><manifest>{items}</manifest><spine>{spine}</spine></package>"
    yield made("manifest.epub", "b.opf", manifest)


def _archives(valid: Valid) -> Files:
    bomb, large = b"\0" * 300 * MB, b"The pump stands in the cellar. " * 6 * MB
    yield "bomb.zip", _zip({"bomb.txt": bomb})
    yield "bomb.docx", _replaced(valid["a.docx"], "word/document.xml", bomb)
    yield "bombs.zip", _zip({f"{n}.txt": large for n in range(10)})
    yield (
        "nested.zip",
        _zip({f"{n}.zip": _zip({f"{m}.zip": _zip({"a.txt": large}) for m in range(3)}) for n in range(3)}),
    )
    yield "members.zip", _zip({f"{n}.txt": b"" for n in range(60_000)})
    yield "sheets.zip", _zip({f"{n}.csv": b"1,2\n" * 40 * MB for n in range(2)})
    for suffix, pack in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)):
        yield f"bomb.txt.{suffix}", pack(bomb)
        yield f"text.txt.{suffix}", pack(large)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = len(large)
        archive.addfile(member, io.BytesIO(large))
        for number in range(50_000):
            archive.addfile(tarfile.TarInfo(f"{'d/' * 40}{number}.txt"))
    yield "members.tar.gz", packed.getvalue()
    yield (
        "sizes.tar",
        tarfile.TarInfo("a.txt").tobuf()[:124] + b"77777777777\0" + tarfile.TarInfo("a.txt").tobuf()[136:],
    )


def _pictures(valid: Valid) -> Files:
    from PIL import Image

    del valid

    def picture(mode: str, size: int, kind: str, **more: object) -> bytes:
        out = io.BytesIO()
        Image.new(mode, (size, size), 1).save(out, kind, **more)
        return out.getvalue()

    yield "large.png", picture("1", 40_000, "PNG")
    yield "colours.png", picture("RGB", 9_000, "PNG")
    yield "wide.png", picture("L", 20_000, "PNG")
    yield "large.webp", picture("RGB", 16_000, "WEBP", lossless=True)
    yield "large.gif", picture("P", 16_000, "GIF")
    yield "large.jpg", picture("L", 20_000, "JPEG")
    yield "large.tiff", picture("1", 40_000, "TIFF", compression="group4")
    frames = [Image.new("1", (6_000, 6_000), 1) for _ in range(60)]
    for suffix, kind, more in (("tiff", "TIFF", {"compression": "group4"}), ("gif", "GIF", {})):
        out = io.BytesIO()
        frames[0].save(out, kind, save_all=True, append_images=frames[1:], **more)
        yield f"frames.{suffix}", out.getvalue()
    yield (
        "header.bmp",
        b"BM"
        + bytes(8)
        + b"\x36\0\0\0"
        + b"\x28\0\0\0"
        + (60_000).to_bytes(4, "little") * 2
        + b"\1\0\x18\0"
        + bytes(2000),
    )


def _pdfs(valid: Valid) -> Files:
    del valid
    yield "stream.pdf", _pdf(b" " * 500 * MB)
    yield "operators.pdf", _pdf(b"q Q " * 20 * MB)
    yield "letters.pdf", _pdf(b"BT /F 9 Tf 9 9 Td " + b"(a) Tj " * 3 * MB + b"ET")
    yield "lines.pdf", _pdf(b"0 0 m 9 9 l S\n" * 2 * MB)
    yield "boxes.pdf", _pdf(b"1 1 9 9 re S\n" * 2 * MB)
    yield "states.pdf", _pdf(b"q " * 5 * MB)
    yield "forms.pdf", _pdf(b"/X Do " * 10, extra={"XObject": b"<< /X 4 0 R >>"})
    yield "box.pdf", _pdf(b"BT /F 9 Tf (a) Tj ET", box=b"0 0 14400000 14400000")
    yield "empty.pdf", _pdf(b"1 0 0 rg 0 0 9 9 re f", box=b"0 0 14400 14400")
    yield "pages.pdf", _pdf(b"BT /F 9 Tf 9 9 Td (a) Tj ET", pages=50_000)
    yield "blank.pdf", _pdf(b"1 0 0 rg 0 0 9 9 re f", pages=3_000)
    pixels = b"<< /Type /XObject /Subtype /Image /Width 30000 /Height 30000 /ColorSpace /DeviceRGB /BitsPerComponent 8"
    yield "image.pdf", _pdf(b"600 0 0 800 0 0 cm /I Do", image=(pixels, b"\0" * 900 * MB))
    pixels = b"<< /Type /XObject /Subtype /Image /Width 60000 /Height 60000 /ColorSpace /DeviceGray /BitsPerComponent 1"
    yield "bits.pdf", _pdf(b"600 0 0 800 0 0 cm /I Do", image=(pixels, b"\0" * 430 * MB))


def _mails(valid: Valid) -> Files:
    del valid
    head = "From: a@b.example\nSubject: Pumps\nMIME-Version: 1.0\n"
    part = "--b\nContent-Type: text/plain; name={}.txt\n\nPump\n"
    yield (
        "parts.eml",
        f"{head}Content-Type: multipart/mixed; boundary=b\n\n{''.join(part.format(n) for n in range(100_000))}--b--\n",
    )
    yield "deep.eml", head + "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(50_000))
    yield (
        "base64.eml",
        f"{head}Content-Type: text/plain; name=a.txt\nContent-Transfer-Encoding: base64\n\n{'AAAA' * 30 * MB}\n",
    )
    yield "fields.eml", "X-A: b\n" * 4 * MB + "\nPump\n"
    yield "field.eml", f"Subject: {'=?utf-8?q?a?= ' * 2 * MB}\n\nPump\n"
    yield "mails.mbox", "From a@b.c Mon Jan  1 00:00:00 2024\nSubject: P\n\nPump\n\n" * 500_000
    yield "body.eml", f"{head}Content-Type: text/html\n\n{'<div>' * 4 * MB}"


def _zip(parts: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def _replaced(package: bytes, name: str, content: str | bytes) -> bytes:
    """Return the package with other content of a part."""
    whole = zipfile.ZipFile(io.BytesIO(package))
    parts = {each: whole.read(each) for each in whole.namelist()}
    return _zip(parts | {name: content.encode() if isinstance(content, str) else content})


def _pdf(
    content: bytes,
    *,
    pages: int = 1,
    box: bytes = b"0 0 612 792",
    extra: Mapping[str, bytes] | None = None,
    image: tuple[bytes, bytes] | None = None,
) -> bytes:
    """Return a PDF file whose pages share one stream. Object 4 is the content, 5 the font, 6 the image."""
    resources = {"Font": b"<< /F 5 0 R >>", **(extra or {}), **({"XObject": b"<< /I 6 0 R >>"} if image else {})}
    named = b" ".join(b"/%s %s" % (name.encode(), value) for name, value in resources.items())
    first = 7
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [%s] /Contents 4 0 R /Resources << %s >> >>" % (box, named)
    kids = b" ".join(b"%d 0 R" % (first + at) for at in range(pages))
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << %s >>" % named if extra else b""
    head, pixels = image or (b"<<", b"")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, pages), b"null",
        _stream(b"<< " + form, content), b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        _stream(head, pixels), *[page] * pages,
    ]  # fmt: skip
    out, places = io.BytesIO(b"%PDF-1.7\n"), []
    out.seek(0, io.SEEK_END)
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(places) + 1, start))
    return out.getvalue()


def _stream(head: bytes, content: bytes) -> bytes:
    packed = zlib.compress(content, 9)
    return b"%s /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (head, len(packed), packed)


if __name__ == "__main__":
    main()
