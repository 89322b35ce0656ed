"""Rejects formats that Candor cannot read, with the name of a program that converts them."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple, NoReturn

from ingest.errors import UnsupportedFormat
from ingest.reader import Reader, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder

_LIBREOFFICE = "Convert it with LibreOffice: soffice --headless --convert-to {} FILE"


class _Format(NamedTuple):
    name: str
    mime_types: tuple[str, ...]
    advice: str


FORMATS = (
    _Format("a WordPerfect file", ("application/vnd.wordperfect*",), _LIBREOFFICE.format("docx")),
    _Format(
        "a Microsoft Works file",
        ("application/vnd.ms-works",),
        f"{_LIBREOFFICE.format('docx')} (for a spreadsheet or database: --convert-to xlsx)",
    ),
    _Format(
        "a OneNote file",
        ("application/onenote", "application/msonenote"),
        "Open it in OneNote and export it as PDF or Word (File, Export).",
    ),
    _Format(
        "a compiled HTML help file (CHM)",
        ("application/vnd.ms-htmlhelp",),
        "Unpack it with 7-Zip and ingest the folder: 7z x FILE -oFOLDER",
    ),
    _Format("a Publisher file", ("application/x-mspublisher",), _LIBREOFFICE.format("pdf")),
    _Format("a Visio file", ("application/vnd.visio*", "application/vnd.ms-visio*"), _LIBREOFFICE.format("pdf")),
    _Format("a Windows Write file", ("application/x-mswrite",), _LIBREOFFICE.format("docx")),
    _Format("a Lotus Word Pro file", ("application/vnd.lotus-wordpro",), _LIBREOFFICE.format("docx")),
    _Format("a Lotus 1-2-3 file", ("application/vnd.lotus-1-2-3",), _LIBREOFFICE.format("xlsx")),
    _Format(
        "a StarOffice or OpenOffice 1 file",
        ("application/vnd.stardivision.*", "application/vnd.sun.xml.*"),
        _LIBREOFFICE.format("pdf"),
    ),
    _Format(
        "an Access database",
        ("application/x-msaccess", "application/msaccess"),
        "Export its tables as CSV from Access, or with mdbtools: mdb-export FILE TABLE > TABLE.csv",
    ),
    _Format(
        "a Microsoft Project file", ("application/vnd.ms-project",), "Save it from Project as an Excel workbook or PDF."
    ),
    _Format(
        "an Outlook data file",
        ("application/vnd.ms-outlook-pst",),
        "Unpack it with readpst and ingest the folder: readpst -e -o FOLDER FILE",
    ),
    _Format(
        "a Kindle or Microsoft Reader book",
        ("application/x-mobipocket-ebook", "application/vnd.amazon.ebook", "application/x-ms-reader"),
        "Convert it with Calibre: ebook-convert FILE book.epub",
    ),
    _Format("a DjVu file", ("image/vnd.djvu*",), "Convert it with DjVuLibre: ddjvu -format=pdf FILE file.pdf"),
    _Format(
        "a RAR archive",
        ("application/x-rar-compressed", "application/vnd.rar"),
        "Unpack it and ingest the folder: unar -o FOLDER FILE",
    ),
    _Format(
        "a cabinet archive",
        ("application/vnd.ms-cab-compressed",),
        "Unpack it and ingest the folder: cabextract -d FOLDER FILE",
    ),
    _Format("a recording", ("audio/*", "video/*"), "Ingest a transcript of it as a text file."),
)


def reject(request: ReadRequest, _: DocumentBuilder) -> NoReturn:
    """Raise UnsupportedFormat with the program that converts the file."""
    found = next(one for one in FORMATS if any(fnmatchcase(request.mime_type, each) for each in one.mime_types))
    raise UnsupportedFormat(f"{request.path} is {found.name}, which Candor does not read. {found.advice}")


READER = Reader(
    name="convertible",
    version=1,
    read=reject,
    mime_types=tuple(mime_type for one in FORMATS for mime_type in one.mime_types),
)
