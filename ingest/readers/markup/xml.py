"""Reads XML of any vocabulary, such as articles (JATS), patents, filings (XBRL), feeds, maps and drawings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from ingest.errors import CorruptDocument, EmptyImage
from ingest.reader import Reader, ReadRequest
from ingest.readers.calendar import iso_time
from ingest.readers.data.value_writer import ENCODED_WARNING, is_encoded, write_values
from ingest.readers.markup.attributes import FORMS, as_record, has_data, show_attributes, write_diagrams, write_outline
from ingest.readers.markup.element_writer import TITLES, ElementWriter, element_name, words
from ingest.readers.markup.html import write_page
from ingest.readers.markup.tree import xml_tree
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.sheets.xml_2003 import NAMESPACE, write_workbook
from ingest.readers.subtitles import write_timed_text
from vectorstore.models import Scalar

_VOCABULARY = re.compile(rb"<!DOCTYPE|\sxmlns(?!:xsi)[:=]")
"""Matches a document type or a namespace. Such a file follows a published format, whose attributes are no text."""
_BOX = re.compile(r"<en-todo\b(?P<attributes>[^>]*?)/?>(?:\s*</en-todo>)?")
_ENCRYPTED = re.compile(r"<en-crypt\b[^>]*>[^<]*(?:</en-crypt>)?")
_PROSE = ("application/docbook+xml", "application/x-fictionbook+xml", "application/x-jats+xml")
_CAPTIONED = {"table", "figure", "example"}
_FICTION_BOOK = {"v": "p", "text-author": "p", "subtitle": "h4", "book-title": "title", "binary": "graphic"}


def read_xml(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the document's blocks to the builder; return its title and authors, if it has elements for them."""
    root = xml_tree(request.data, request.path, into.warn)
    if root.tag == f"{{{NAMESPACE}}}Workbook":
        write_workbook(root, into)
        return {}
    try:
        _write(root, request, into)
    except ValueError as error:
        raise CorruptDocument(f"{request.path} cannot be read: {error}. Export or download it again.") from error
    if into.is_empty and request.mime_type.startswith("image/"):
        raise EmptyImage(f"{request.path} is a drawing that contains no text.")
    return dict(_properties(root))


def _write(root: Element, request: ReadRequest, into: DocumentBuilder) -> None:
    """Write a document of any vocabulary. Some keep their text in attributes. Those of published ones describe form."""
    name = element_name(root)
    for flag in (*root.iter("true"), *root.iter("false")):  # of property lists
        flag.text = flag.text or (None if len(flag) else flag.tag)
    if name not in ("en-export", "fictionbook", "mxfile") and (encoded := sum(map(_leave_out_encoded, root.iter()))):
        into.warn(ENCODED_WARNING.format(encoded))
    if name == "opml" or (name == "map" and root.find("node") is not None):
        write_outline(root, into)
    elif name in ("mxfile", "mxgraphmodel"):
        write_diagrams(root, into)
    elif name == "en-export":
        _write_notes(root, into)
    elif name == "tt":
        write_timed_text(root, into)
    elif request.mime_type not in _PROSE and has_data(root):
        write_values([as_record(root)], into)
    else:
        if name not in FORMS and not _VOCABULARY.search(request.data.replace(b"\0", b"")):
            show_attributes(root)
        _name_as_html(root)
        ElementWriter(into).write(root, depth=0)


def _write_notes(root: Element, into: DocumentBuilder) -> None:
    """Add the notes of an Evernote export, each with a heading, its fields and its text, without attached files."""
    for note in root.iterfind("note"):
        into.heading(note.findtext("title", ""), level=1)
        fields = [field for field in (*note, *note.iterfind("note-attributes/*")) if not len(field)]
        lines = [
            f"{field.tag}: {iso_time((field.text or '').strip())}" for field in fields if (field.text or "").strip()
        ]
        into.prose("\n".join(line for line in lines if not line.startswith(("title: ", "content: "))))
        for task in note.iterfind("task"):
            into.prose(f"{'[x]' if task.findtext('taskStatus') == 'completed' else '[ ]'} {task.findtext('title', '')}")
        page, count = _ENCRYPTED.subn("", note.findtext("content", ""))
        if count:
            into.warn(f"{count} encrypted passages of the note {note.findtext('title', '')!r} were not read.")
        write_page(_BOX.sub(lambda mark: "[x] " if "true" in mark["attributes"] else "[ ] ", page), into)


def _name_as_html(root: Element) -> None:
    """Give elements of books the names that they have in HTML, and titles of tables and figures those of captions."""
    for element in root.iter():
        name = element_name(element)
        if element_name(root) == "fictionbook":
            element.tag = _FICTION_BOOK.get(name, element.tag)
        if name in _CAPTIONED and (title := element.find("{*}title")) is not None:
            title.tag = "caption" if name == "table" else "p"


def _leave_out_encoded(element: Element) -> int:
    """Replace the text and the attributes that are base64 by ``[...]``. Return their number."""
    encoded = [key for key, value in element.items() if is_encoded(value)]
    element.attrib.update(dict.fromkeys(encoded, "[...]"))
    is_file = element.get("encoding") == "base64" or is_encoded(element.text or "")
    element.text = "[...]" if is_file else element.text
    return len(encoded) + is_file


def _properties(root: Element) -> Iterator[tuple[str, Scalar]]:
    """Yield the title and authors of articles, patents and feeds."""
    titles = (each for each in root.iter() if isinstance(each.tag, str) and element_name(each) in TITLES)
    title = next((each for each in titles if each.find("title") is None), None)  # a head has a title in it
    if title is not None:
        yield "title", words(title)
    people = root.findall(".//{*}article-meta//{*}contrib[@contrib-type='author']/{*}name")
    authors = [f"{name.findtext('{*}given-names', '')} {name.findtext('{*}surname', '')}".strip() for name in people]
    if authors:
        yield "authors", ", ".join(authors)


READER = Reader(
    name="xml",
    version=14,
    read=read_xml,
    mime_types=("application/xml", "application/xml+opml", "text/xml", "*+xml", "image/*+xml", "text/mathml"),
)
