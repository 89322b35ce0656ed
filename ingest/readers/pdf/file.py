"""Opens PDF files and reads their properties and bookmarks: the outline that a viewer shows beside the pages."""

from __future__ import annotations

import logging
import re
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pypdfium2.raw as pdfium
from pypdfium2 import PdfDocument, PdfiumError, PdfPage

from ingest.errors import CorruptDocument, EncryptedDocument, ParseError
from vectorstore.models import Scalar

_METADATA = {"Title": "title", "Author": "authors", "Subject": "subject", "Keywords": "keywords"}
_DATES = {"CreationDate": "created_at", "ModDate": "modified_at"}
_DAY = re.compile(r"(?:D:)?(\d{4})(\d\d)(\d\d)")
# ISO 32000-2, table 349, and annex E: names that begin like those of programs, such as GTS_ and PTEX.
_STANDARD = re.compile(
    r"(Title|Author|Subject|Keywords|Creator|Producer|CreationDate|ModDate|Trapped)$|[A-Z]{3,4}[._:]"
)
_PLACEHOLDERS = {"untitled", "anonymous", "unspecified", "unknown"}


class Bookmark(NamedTuple):
    title: str
    level: int
    """1 is the outermost."""
    page: int


def open_pdf(data: bytes, path: Path) -> PdfDocument:
    """Open a document with its form. Raises EncryptedDocument, CorruptDocument."""
    logging.getLogger("pypdfium2").setLevel(logging.ERROR)  # it warns about XFA; the reader has a warning of its own
    try:
        document = PdfDocument(data)
        document.init_forms()
        return document
    except PdfiumError as error:
        raise _open_error(path, str(error)) from error


def is_xfa(document: PdfDocument) -> bool:
    """Return whether a form in XFA replaces the pages. PDFium does not read such forms."""
    return bool(document.get_formtype() == pdfium.FORMTYPE_XFA_FULL)


def open_page(document: PdfDocument, number: int, path: Path) -> PdfPage:
    """Open a page by its number, from 1. Raises CorruptDocument."""
    try:
        return document[number - 1]
    except PdfiumError as error:
        raise CorruptDocument(f"Cannot read page {number} of {path}: the file is damaged. Export it again.") from error


def _open_error(path: Path, reason: str) -> ParseError:
    if "password" in reason.lower() or "security" in reason.lower():
        return EncryptedDocument(f"{path} is encrypted. Save a copy without its password and ingest that.")
    return CorruptDocument(f"{path} is damaged (PDFium: {reason!r}). Export or download it again.")


def read_metadata(document: PdfDocument) -> dict[str, Scalar]:
    """Return the document properties under the names common to all readers."""
    found = document.get_metadata_dict()
    return {
        name: found[key]
        for key, name in _METADATA.items()
        if found.get(key) and found[key].strip("()").lower() not in _PLACEHOLDERS
    }


def read_dates(document: PdfDocument) -> dict[str, str]:
    """Return the days on which the file was created and changed."""
    found = {name: _DAY.match(document.get_metadata_value(key)) for key, name in _DATES.items()}
    return {name: "-".join(day.groups()) for name, day in found.items() if day}


def read_custom_properties(data: bytes) -> dict[str, str]:
    """Return the custom properties of the document information and of XMP.

    Uses pypdf, because PDFium does not list property names. Damaged files raise errors of many types.
    """
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns about damage that does not affect properties
    reader = PdfReader(BytesIO(data))
    packet = reader.xmp_metadata
    found = dict(packet.custom_properties) if packet else {}
    found |= {name.removeprefix("/"): value for name, value in (reader.metadata or {}).items()}
    return {name: str(value).strip() for name, value in found.items() if not _STANDARD.match(name) and value}


def read_bookmarks(document: PdfDocument) -> list[Bookmark]:
    """Return the bookmarks that point to a page, in order."""
    found: list[Bookmark] = []
    for bookmark in document.get_toc():
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        if page is not None and (title := bookmark.get_title().strip()):
            found.append(Bookmark(title, bookmark.level + 1, page + 1))
    return found
