"""Reads what is embedded in files: objects of Office files, and notes of Evernote."""

from __future__ import annotations

import base64
import io
import mimetypes
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import olefile

if TYPE_CHECKING:
    from pypdfium2 import PdfAttachment, PdfDocument

NOTES_MARK = b"<en-export"
"""The root element of exported notes, within the first bytes of a file."""
_NO_FILE_NAME = re.compile(r"[/\\]|^\.+")


def note_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file attached to notes, in a folder per note.

    Raises ValueError for damaged files.
    """
    try:
        for _, element in ElementTree.iterparse(path):
            if element.tag != "note":
                continue
            for resource in element.iterfind("resource"):
                name = f"{_part(element.findtext('title', ''))}/{_name(resource)}"
                yield name, base64.b64decode(resource.findtext("data", "") + "==")
            element.clear()
    except ElementTree.ParseError as error:
        raise ValueError(f"it is not well-formed XML ({error})") from error


def _name(resource: Element) -> str:
    suffix = mimetypes.guess_extension(resource.findtext("mime", "")) or ""
    return _part(resource.findtext("resource-attributes/file-name", "")) or f"attachment{suffix}"


def _part(name: str) -> str:
    """Return a name without separators of paths and leading dots."""
    return _NO_FILE_NAME.sub("_", name.strip())[:100]


_ATTACHED = b"/EmbeddedFile"
_STREAM = re.compile(_ATTACHED + rb"\b")
_EMBEDDED = re.compile(r".+/embeddings/[^/]+\.\w+")
_TARGET = re.compile(rb'Target="([^"]+)"')
_STEP = 1 << 24
_MAX_FILES = 10_000
_LARGEST_RELATIONS = 1 << 20  # bytes of the list of what a chart refers to
_OLD_FILES = {"WordDocument": ".doc", "Workbook": ".xls", "Book": ".xls", "PowerPoint Document": ".ppt"}
"""The stream that tells the kind of an embedded file of old Office, and the suffix of its name."""


def pdf_has_files(path: Path) -> bool:
    """Return whether a PDF may have attached files. The dictionary of an attached file is never compressed."""
    with path.open("rb") as file:
        before = b""
        while data := file.read(_STEP):
            if _ATTACHED in before + data:
                return True
            before = data[-len(_ATTACHED) :]
    return False


def pdf_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file attached to a PDF. Raises ValueError for damaged files."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise ValueError(f"its attached files cannot be read ({error})") from error
    found: set[bytes] = set()
    pairs: set[tuple[str, bytes]] = set()
    try:
        listed = map(document.get_attachment, range(min(document.count_attachments(), _MAX_FILES)))
        for kind, attachments in (("attachment", listed), ("pinned file", islice(_pinned_files(document), _MAX_FILES))):
            for number, attachment in enumerate(attachments, start=1):
                content = bytes(attachment.get_data())
                name = _in_utf_16(attachment.get_name()) or f"{kind} {number}"
                if kind == "attachment" or (name, content) not in pairs:  # else listed and pinned
                    found.add(content)
                    pairs.add((name, content))
                    yield name, content
        if len(_STREAM.findall(path.read_bytes())) > len(found):  # PDFium lists no file that only /AF names
            for name, content in _unlisted_files(path):
                if content not in found:
                    found.add(content)
                    yield name, content
    except Exception as error:  # pypdf raises errors of many kinds for damaged files
        raise ValueError(f"an attached file cannot be read ({error})") from error
    finally:
        document.close()


def _in_utf_16(name: str) -> str:
    """Return a name whose bytes are UTF-16, which PDFium reads as single bytes if only ``/F`` has it."""
    is_wide = name.startswith("þÿ") and max(name) <= "ÿ"
    return name.encode("latin-1").decode("utf-16", errors="replace") if is_wide else name


def _unlisted_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of all files that a PDF refers to, including associated files (``/AF``)."""
    from pypdf import PdfReader

    reader = PdfReader(path)
    numbers = {number for table in reader.xref.values() for number in table} | set(reader.xref_objStm)
    for number in sorted(numbers):
        found = reader.get_object(number)
        associated: Iterable[Any] = found["/AF"] if isinstance(found, dict) and "/AF" in found else ()
        for each in (found, *(item.get_object() for item in associated)):
            if isinstance(each, dict) and "/EF" in each:
                name = str(each.get("/UF") or each.get("/F") or f"associated file {number}")
                content = next(iter(each["/EF"].values())).get_object().get_data()
                if not content:
                    raise ValueError(f"{name} is empty or damaged")
                yield name, content


def _pinned_files(document: PdfDocument) -> Iterator[PdfAttachment]:
    """Yield the files attached to comments on the pages."""
    import pypdfium2.raw as pdfium
    from pypdfium2 import PdfAttachment

    for page in document:
        for index in range(pdfium.FPDFPage_GetAnnotCount(page.raw)):
            comment = pdfium.FPDFPage_GetAnnot(page.raw, index)
            if found := pdfium.FPDFAnnot_GetFileAttachment(comment):
                yield PdfAttachment(found, document)
            pdfium.FPDFPage_CloseAnnot(comment)
        page.close()


def office_has_files(names: list[str]) -> bool:
    """Return whether a package with these members may have embedded files."""
    return any(_EMBEDDED.fullmatch(name) for name in names)


def office_members(archive: zipfile.ZipFile) -> Iterator[zipfile.ZipInfo]:
    """Yield the members of a package that are embedded files or objects with a file in them."""
    of_charts = set(_data_of_charts(archive))
    for info in archive.infolist():
        if _EMBEDDED.fullmatch(info.filename) and info.filename not in of_charts:
            yield info


def _data_of_charts(archive: zipfile.ZipFile) -> Iterator[str]:
    for info in archive.infolist():
        if "/charts/_rels/" in info.filename and info.file_size <= _LARGEST_RELATIONS:
            folder = posixpath.dirname(posixpath.dirname(info.filename))
            for target in _TARGET.findall(archive.read(info)):
                yield posixpath.normpath(posixpath.join(folder, target.decode("utf-8", "replace")))


def object_files(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the file in an embedded object. Objects of other programs, such as formulas, have none.

    Raises ValueError for damaged objects.
    """
    if not olefile.isOleFile(io.BytesIO(content)):
        return
    try:
        with olefile.OleFileIO(io.BytesIO(content)) as compound:
            yield from _file_in(compound, name, content)
    except (IndexError, KeyError, AttributeError, TypeError, OSError) as error:  # raised for forged tables
        raise ValueError(f"the embedded object {name} is damaged ({error})") from error


def _file_in(compound: olefile.OleFileIO, name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    stem = name.rpartition(".")[0]
    if compound.exists("\x01Ole10Native"):
        label, data = _native(compound.openstream("\x01Ole10Native").read())
        yield label or stem, data
    elif compound.exists("Package"):
        yield f"{stem}.zip", compound.openstream("Package").read()
    elif compound.exists("CONTENTS"):
        yield f"{stem}.pdf", compound.openstream("CONTENTS").read()
    else:
        yield from ((stem + suffix, content) for stream, suffix in _OLD_FILES.items() if compound.exists(stream))


def _native(stream: bytes) -> tuple[str, bytes]:
    """Return the label and content of a packaged file: sizes and names before it (MS-OLEDS, 2.3.6, and Packager)."""
    reader = io.BytesIO(stream[6:])
    label, _path = _zero_ended(reader), _zero_ended(reader)
    reader.read(4)
    reader.read(int.from_bytes(reader.read(4), "little"))  # the path of a temporary copy
    size = int.from_bytes(reader.read(4), "little")
    return label.decode("cp1252", "replace"), reader.read(size)


def _zero_ended(reader: io.BytesIO) -> bytes:
    start = reader.tell()
    end = reader.getvalue().find(b"\0", start)
    text = reader.read(max(end, start) - start)
    reader.read(1)
    return text
