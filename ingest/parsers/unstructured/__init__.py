"""A parser that uses the library ``unstructured``. Requires the extra ``unstructured``.

Owns all use of the library. The library downloads spaCy's English model when it first classifies a text, unless the
model is installed. ``spacy_stub.py`` provides a substitute, so nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path, PurePath
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from base.installation import extra_command
from ingest.document import ParsedDocument
from ingest.errors import CorruptDocument, EmptyDocument, UnknownParser, UnsupportedFormat
from ingest.parsers.unstructured import spacy_stub
from ingest.reader import ParserOptions
from ingest.readers.markup.element_writer import words
from ingest.readers.markup.tree import html_tree
from ingest.readers.shared import unstructured_library  # noqa: F401
from ingest.readers.shared.document_builder import DocumentBuilder

if TYPE_CHECKING:
    from unstructured.documents.elements import Element

_VERSION = 2
"""Raise it when this module writes different text than before: an ingest then reads unchanged files again."""

_FORMAT_ERRORS = (ValueError, LookupError, RuntimeError, OSError, AttributeError, TypeError, SyntaxError, BadZipFile)
"""Errors of its dependencies on damaged files. lxml's errors are SyntaxErrors."""
_NOT_READ = {"Header", "Footer", "PageBreak", "PageNumber"}


class DocumentParser:
    """Reads the formats that ``unstructured`` and its installed extras read."""

    name = "unstructured"

    def __init__(self, _: ParserOptions) -> None:
        if find_spec("unstructured") is None:
            raise UnknownParser(
                f"The parser 'unstructured' is not installed. Run `{extra_command('unstructured')}`, or use 'default'."
            )
        self._version = f"unstructured {version('unstructured')}/{_VERSION}"

    def parse(self, path: Path) -> ParsedDocument:
        """Parse the file. Element types become block kinds. Raises ParseError."""
        spacy_stub.provide()
        elements = _partition(path)
        builder = DocumentBuilder()
        _write(elements, builder)
        mime_type = elements[0].metadata.filetype if elements else None
        document = builder.build(parser=self._version, mime_type=mime_type or "")
        if not document.text:
            raise EmptyDocument(
                f"{path} contains no text. If its program shows text, export it as PDF and ingest that."
            )
        return document

    def version_of(self, path: PurePath, mime_type: str = "") -> str:
        """Return the version of the library and of this module, the same for all files."""
        return self._version


def _partition(path: Path) -> Sequence[Element]:
    from unstructured.errors import UnprocessableEntityError
    from unstructured.partition.auto import partition
    from unstructured.partition.common import UnsupportedFileFormatError

    try:
        return partition(filename=str(path), languages=[""])
    except FileNotFoundError as error:  # a program for old formats is not installed
        raise UnsupportedFormat(f"Cannot read {path}: {error} Or use the parser 'default'.") from error
    except ImportError as error:  # an extra for this format is not installed
        raise UnsupportedFormat(f"Cannot read {path}: {error}. Or use the parser 'default'.") from error
    except UnsupportedFileFormatError as error:
        raise UnsupportedFormat(f"unstructured does not read the format of {path}: {error}") from error
    except UnprocessableEntityError as error:
        raise CorruptDocument(f"Cannot read {path}: {error}. Export or download it again.") from error
    except _FORMAT_ERRORS as error:
        raise CorruptDocument(f"Cannot read {path}: {type(error).__name__}: {error}. Export it again.") from error


def _write(elements: Sequence[Element], into: DocumentBuilder) -> None:
    page = 0
    body = (element for element in elements if element.category not in _NOT_READ)
    for category, group in groupby(body, key=lambda element: element.category):
        members = list(group)
        number = members[0].metadata.page_number
        if number is not None and number > page:
            into.page(number)
            page = number
        if category == "ListItem":
            into.list_items([f"- {item.text}" for item in members])
            continue
        for element in members:
            _write_one(element, into)


def _write_one(element: Element, into: DocumentBuilder) -> None:
    match element.category:
        case "Title":
            into.heading(element.text, (element.metadata.category_depth or 0) + 1)
        case "Table" if element.metadata.text_as_html:
            rows = html_tree(element.metadata.text_as_html).iter("tr")
            into.table([[words(cell) for cell in row if cell.tag in ("td", "th")] for row in rows])
        case "CodeSnippet":
            into.code(element.text)
        case _:
            into.prose(element.text)
