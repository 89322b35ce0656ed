"""Reads books (EPUB) in the order of their spine. A chapter that is listed but missing is named in a warning.

kreuzberg leaves out chapters with blanks or umlauts in their names, in UTF-16 or Latin-1, without a word.
"""

from __future__ import annotations

import html
import posixpath
import re
import unicodedata
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from ingest.errors import CorruptDocument, EncryptedDocument
from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.element_writer import ElementWriter
from ingest.readers.markup.html import write_page
from ingest.readers.markup.tree import decode_markup, xml_tree
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.ooxml import PROPERTIES, Package
from vectorstore.models import Scalar

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGE = re.compile(r"\.x?html?$|\.xml$", re.IGNORECASE)
_SHEET = re.compile(r"<link\b[^>]*?\bhref\s*=\s*[\"']([^\"'>]+\.css)[\"']", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z]+\b[^<>]*>", re.IGNORECASE)
_READABLE = ("", "application/xhtml+xml", "text/html", "application/xml", "text/xml", "application/x-dtbook+xml")


def read_epub(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the chapters' blocks to the builder; return the title, authors, language and date."""
    package = Package(request.data, request.path)
    root_file = package.xml(_CONTAINER).find(".//{*}rootfile")
    if root_file is None:
        raise CorruptDocument(f"{request.path} names no table of its chapters. Export or download it again.")
    main = root_file.get("full-path", "")
    book = package.xml(main)
    properties = _properties(book)
    _write_front(book, properties, into)
    _Book(request, package, posixpath.dirname(main), into).write(book)
    return properties


def _write_front(book: Element, properties: dict[str, Scalar], into: DocumentBuilder) -> None:
    """Add the title, authors and description of a book, which its chapters rarely state."""
    description = (book.findtext("{*}metadata/{*}description") or "").strip()
    if description or "authors" in properties:
        into.prose("\n".join(f"{key.title()}: {properties[key]}" for key in ("title", "authors") if key in properties))
    if _TAG.search(description):
        write_page(description, into)
    else:
        into.prose(description)


class _Book:
    """Writes the chapters of a book in the order of its spine."""

    def __init__(self, request: ReadRequest, package: Package, folder: str, into: DocumentBuilder) -> None:
        self._request, self._package, self._folder, self._into = request, package, folder, into
        self._names = {_folded(name): name for name in package.names()}
        self._encrypted = _encrypted(package)

    def write(self, book: Element) -> None:
        listed = {item.get("id", ""): item for item in book.iterfind("{*}manifest/{*}item")}
        spine = [reference.get("idref", "") for reference in book.iterfind("{*}spine/{*}itemref")]
        pages = (item for item in listed.values() if item.get("media-type") == "application/xhtml+xml")
        guide = book.iterfind("{*}guide/{*}reference[@type='toc']")  # the table of contents of EPUB 2
        contents = [reference.get("href", "").partition("#")[0] for reference in guide]
        others = (page for page in pages if page.get("href", "") not in contents)
        unlisted = (page.get("id", "") for page in others if "nav" not in page.get("properties", ""))
        for identity in dict.fromkeys([*spine, *unlisted]):
            item = listed.get(identity)
            address = identity if item is None else item.get("href", "")
            if item is None or item.get("media-type", "") in _READABLE or _PAGE.search(address):
                self._write_chapter(address, is_listed=identity in spine)
            elif item.get("media-type") == "image/svg+xml" and (name := self._find(address)) is not None:
                drawing = xml_tree(self._package.read(name), self._request.path, self._into.warn)
                ElementWriter(self._into).write(drawing, depth=0)
            elif not item.get("media-type", "").startswith("image/"):
                self._into.warn(f"The chapter {unquote(address)} is no page and was not read.")

    def _write_chapter(self, address: str, *, is_listed: bool) -> None:
        name = self._find(address)
        if name is None:
            self._into.warn(f"The chapter {unquote(address)} is missing in the file and was not read.")
        elif name in self._encrypted and not is_listed:
            self._into.warn(f"The page {unquote(address)} is encrypted and was not read. The order does not list it.")
        elif name in self._encrypted:
            raise EncryptedDocument(f"{self._request.path} is encrypted. Ingest a copy without copy protection.")
        else:
            page = self._decoded(name)
            if not page.strip():
                self._into.warn(f"The chapter {unquote(address)} is an empty file.")
            sheets = "".join(
                self._decoded(sheet)
                for link in map(html.unescape, _SHEET.findall(page))
                if (sheet := self._find(link, posixpath.dirname(name))) and sheet not in self._encrypted
            )
            write_page(page.replace("</head>", f"<style>{sheets}</style></head>", 1) if sheets else page, self._into)

    def _find(self, address: str, folder: str | None = None) -> str | None:
        """Return the part that an address names, as it stands, without percent encoding, or in another spelling."""
        path = address.partition("#")[0]
        for each in (path, unquote(path), unquote(path, "latin-1")):
            name = posixpath.normpath(posixpath.join(self._folder if folder is None else folder, each)).lstrip("/")
            if name in self._package:
                return name
            if (other := self._names.get(_folded(name))) is not None:
                if unicodedata.normalize("NFC", other.replace("\\", "/")) != unicodedata.normalize("NFC", name):
                    self._into.warn(f"The book lists the chapter {name}, but its file is called {other}.")
                return other
        return None

    def _decoded(self, part: str) -> str:
        return decode_markup(self._package.read(part), self._request.path, self._into.warn)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.replace("\\", "/")).casefold()


def _encrypted(package: Package) -> set[str]:
    """Return the names of the encrypted parts. Books without copy protection encrypt fonts at most."""
    if _ENCRYPTION not in package:
        return set()
    references = package.xml(_ENCRYPTION).iterfind(".//{*}CipherReference")
    return {unquote(reference.get("URI", "")) for reference in references}


def _properties(book: Element) -> dict[str, Scalar]:
    found: dict[str, list[str]] = {}
    for element in book.iterfind("{*}metadata/*"):
        key = PROPERTIES["epub"].get(element.tag.rpartition("}")[2])
        text = " ".join((element.text or "").split())
        if key and text:
            found.setdefault(key, []).append(text)
    return {key: ", ".join(values) if key == "authors" else values[0] for key, values in found.items()}


READER = Reader(name="epub", version=11, read=read_epub, mime_types=("application/epub+zip",))
