"""What all models have in common that an ingest asks about the documents: a contract, and a parser that adds what they
say. ``figures.py`` and ``model_facts.py`` have one each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path, PurePath
from typing import Protocol

from ingest.document import ParsedDocument
from ingest.parser import Parser


class IngestModel(Protocol):
    """A model that an ingest asks. Calls block and may come from several threads."""

    @property
    def name(self) -> str:
        """Name of the model. Documents that another model was asked about are read again."""
        ...

    def check(self) -> None:
        """Raise ModelUnavailable if it cannot answer for any document."""
        ...

    def kept(self) -> AbstractContextManager[None]:
        """Return a context that keeps the model loaded between calls. It may be entered several times."""
        ...


class ModelParser(ABC):
    """A parser that adds to a document what a model says about it. Its version ends with the task and the model."""

    def __init__(self, parser: Parser, suffix: str) -> None:
        self.name = parser.name
        self._parser, self._suffix = parser, suffix

    def parse(self, path: Path) -> ParsedDocument:
        """Parse the file and ask the model. Raises ParseError, and what ``_extended`` raises."""
        parsed = self._parser.parse(path)
        if not self._asks_about(path, parsed.mime_type):
            return parsed
        return self._extended(parsed, path).model_copy(update={"parser": parsed.parser + self._suffix})

    def version_of(self, path: PurePath, mime_type: str = "") -> str:
        version = self._parser.version_of(path, mime_type)
        return version + self._suffix if self._asks_about(path, mime_type) else version

    def is_current(self, stored: str, path: PurePath, mime_type: str = "") -> bool:
        if not self._asks_about(path, mime_type):
            return self._parser.is_current(stored, path, mime_type)
        own = stored.removesuffix(self._suffix)
        return own != stored and self._parser.is_current(own, path, mime_type)

    @abstractmethod
    def _asks_about(self, path: PurePath, mime_type: str) -> bool:
        """Return whether the model is asked about such a file."""

    @abstractmethod
    def _extended(self, parsed: ParsedDocument, path: Path) -> ParsedDocument:
        """Return the document with what the model says about it. Raises ModelFailed."""
