"""Reads reStructuredText, Org, MediaWiki and Typst, which pandoc turns into HTML."""

from __future__ import annotations

import re

from ingest.decoding import decode
from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.html import write_page
from ingest.readers.markup.pandoc import LIBRARY, Refused, to_html
from ingest.readers.other_formats import read_other_format
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.text import write_text
from vectorstore.models import Scalar

_FORMATS = {".rst": "rst", ".org": "org", ".mediawiki": "mediawiki", ".typ": "typst"}
_NAMES = {"rst": "reStructuredText", "org": "Org", "mediawiki": "MediaWiki"}
_CSV_TABLE = r"\.\. csv-table::[^\n]*\n(?:[ \t]+:(?!file:)[\w-]+:[^\n]*\n){0,20}[ \t]+"
_OPTIONS = r"(?:[ \t]+:(?!header:)[\w-]+:[^\n]*\n){0,20}"
_OTHER_DELIMITER = re.compile(
    r"(\.\. csv-table::[^\n]*\n(?=(?:[ \t]+:[\w-]+:[^\n]*\n){0,20}[ \t]+:delim:[ \t]*(?:(\S)|tab)[ \t]*\n)"
    rf"{_OPTIONS})([ \t]+):header:[ \t]*([^\n]*(?(2)\2|\t)[^\n]*)\n({_OPTIONS})\n"
)
"""A table whose head has its delimiter; pandoc would divide it at commas. The head becomes its first row."""
_CHANGES: dict[str, tuple[tuple[re.Pattern[str], str], ...]] = {
    "rst": (
        (re.compile(r"^([ \t]*\.\. [\w-]+):([\w-]+)(?::([\w-]+))?::", re.MULTILINE), r"\1-\2\3::"),
        (re.compile(r"^([ \t]*\.\. )toctree::", re.MULTILINE), r"\1code::"),
        (re.compile(r"^([ \t]*)(\.\. \|[^|\n]+\| date::.*)$", re.MULTILINE), r"\1.. (\2)"),
        (re.compile(rf"^([ \t]*{_CSV_TABLE}):file:", re.MULTILINE), r"\1:from-file:"),
        (_OTHER_DELIMITER, r"\1\3:header-rows: 1\n\5\n\3\4\n"),
    ),
    "org": (
        (re.compile(r"\A"), "#+OPTIONS: p:t arch:t\n"),
        (re.compile(r"^(\*+ )COMMENT ", re.MULTILINE), r"\1COMMENT: "),
        (re.compile(r":noexport:"), ":not_exported:"),
    ),
    "typst": ((re.compile(r"^#include[ \t].*$", re.MULTILINE), ""),),
}
"""Changes to what pandoc drops or refuses: domains of Sphinx, dates, other files, parts of an outline."""
_NOTES = {
    "rst": (re.compile(r"^([ \t]*)\.\. \[([^\]\s]{1,80})\](?=\s)", re.MULTILINE), re.compile(r"\[([^\]\s]{1,80})\]_")),
    "org": (
        re.compile(r"^()\[fn:([\w-]{1,80})\](?=\s)", re.MULTILINE),
        re.compile(r"(?<!^)\[fn:([\w-]{1,80})\]", re.MULTILINE),
    ),
}
"""Notes, and the marks that lead to them. pandoc drops notes without a mark."""
_FILES = re.compile(
    rf"^[ \t]*(?:\.\. literalinclude::|{_CSV_TABLE}:file:)[ \t]*(\S+)|^#include[ \t]+\"([^\"\n]+)\"", re.MULTILINE
)


def read_converted(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's blocks to the builder; return its title, authors and date."""
    markup = _FORMATS[request.path.suffix.lower()]
    source = decode(request.data, request.path, into.warn).replace("\r\n", "\n")
    changed = source
    for pattern, replacement in _CHANGES.get(markup, ()):
        changed = pattern.sub(replacement, changed)
    changed = _with_all_notes(changed, markup)
    try:
        page = to_html(changed, markup)
    except Refused as error:
        into.warn(f"The file could not be read as {_NAMES.get(markup, markup.title())} whole: {error}.")
        return _read_simply(request, source, into)
    into.warn_of_other_files([*page.other_files, *(name for names in _FILES.findall(source) for name in names if name)])
    return write_page(page.html, into)


def _with_all_notes(source: str, markup: str) -> str:
    """Turn the notes without a mark into paragraphs."""
    if markup not in _NOTES:
        return source
    note, mark = _NOTES[markup]
    marked = set(mark.findall(source))
    return note.sub(lambda found: found[0] if found[2] in marked else f"\n{found[1]}[{found[2]}]", source)


def _read_simply(request: ReadRequest, source: str, into: DocumentBuilder) -> dict[str, Scalar]:
    """Read the file with a reader that knows less of its format, or as text."""
    if request.mime_type != "text/plain":
        return read_other_format(request, into)
    write_text(source, into)
    return {}


READER = Reader(
    name="converted",
    version=4,
    read=read_converted,
    mime_types=("text/*", "application/x-typst"),
    suffixes=tuple(_FORMATS),
    library=LIBRARY,
)
