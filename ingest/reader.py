"""The contract of a format reader, and the registry that finds readers. Each module in ``readers/`` is one reader.

A reader turns the bytes of one file into blocks. A module in ``ingest/readers`` (or in a package there) that defines
``READER`` is a reader, so adding a format means adding a file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from importlib.metadata import version
from pathlib import Path, PurePath

from base.models import FrozenModel
from ingest import readers
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import Scalar


class OcrMode(StrEnum):
    """Pages that text recognition reads: those without text, all, or none."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class ParserOptions(FrozenModel):
    """Options that the user sets for every parser and reader."""

    ocr: OcrMode = OcrMode.AUTO
    ocr_languages: tuple[str, ...] = ()
    """Tesseract language codes. Empty means all installed languages."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One file to read. ``path`` is for error messages; the content is in ``data``."""

    data: bytes
    path: Path
    mime_type: str
    options: ParserOptions


@dataclass(frozen=True, slots=True)
class Reader:
    """A format reader.

    A reader gets the files that match one of ``mime_types`` and, if it declares any, one of ``suffixes``. If several
    readers match, one that declares suffixes wins, then the one with the longest MIME type pattern.

    Example: the whole of ``ingest/readers/notes.py``, a reader for files named ``*.note``:

        def read_notes(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
            title, _, body = request.data.decode().partition("\\n")
            into.heading(title, level=1)
            into.prose(body)
            return {"title": title}

        READER = Reader(name="notes", version=1, read=read_notes, suffixes=(".note",))
    """

    name: str
    version: int
    """Raise it when the reader writes different text than before: an ingest then reads its unchanged files again."""
    read: Callable[[ReadRequest, DocumentBuilder], dict[str, Scalar]]
    """Adds the file's blocks and pages to the builder. Returns metadata, with the document's title as ``title``.
    Raises ParseError."""
    mime_types: tuple[str, ...] = ("*",)
    """Patterns as in ``fnmatch``, such as ``image/*``."""
    suffixes: tuple[str, ...] = ()
    """Name suffixes in lower case, such as ``.adoc``. Empty means any."""
    library: str = ""
    """A distribution whose version also affects the text: after an upgrade, unchanged files are read again."""

    @property
    def fingerprint(self) -> str:
        """Name and version, as stored with every document: ``pdf/1``, ``epub/2 kreuzberg 4.10.4``."""
        library = f" {self.library} {_installed_version(self.library)}" if self.library else ""
        return f"{self.name}/{self.version}{library}"

    def match(self, mime_type: str, suffix: str) -> tuple[bool, int] | None:
        """Return how specifically this reader matches (more is greater), or None if it does not."""
        if self.suffixes and suffix not in self.suffixes:
            return None
        lengths = [len(pattern) for pattern in self.mime_types if fnmatchcase(mime_type, pattern)]
        return (bool(self.suffixes), max(lengths)) if lengths else None


class ReaderRegistry:
    """Finds the reader of a file among all readers in ``ingest/readers``."""

    def __init__(self) -> None:
        self.readers = _load_readers()
        self._found: dict[tuple[str, str], Reader] = {}

    def find(self, mime_type: str, path: PurePath) -> Reader:
        """Return the reader for files of this MIME type and name."""
        key = mime_type, path.suffix.lower()
        if key not in self._found:
            matches = [(match, reader) for reader in self.readers if (match := reader.match(*key))]
            self._found[key] = max(matches, key=lambda found: found[0])[1]
        return self._found[key]


_installed_version = cache(version)


def _load_readers() -> tuple[Reader, ...]:
    names = (module.name for module in pkgutil.walk_packages(readers.__path__, f"{readers.__name__}."))
    modules = [importlib.import_module(name) for name in names]
    return tuple(module.READER for module in modules if hasattr(module, "READER"))
