"""Base of the ingest steps that ask a model: the protocol of the model, and a parser that adds the answers.

``figures.py`` and ``model_facts.py`` implement both.
"""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path, PurePath
from typing import Protocol

from ingest.document import ParsedDocument
from ingest.parser import Parser


class IngestModel(Protocol):
    """A model that the ingest asks. Calls block. Several threads may call it at the same time."""

    @property
    def name(self) -> str:
        """Name of the model. If it changes, the ingest reads the documents again."""
        ...

    def check(self) -> None:
        """Raise ModelUnavailable if the model cannot be used."""
        ...

    def kept(self) -> AbstractContextManager[None]:
        """Return a context manager that keeps the model loaded between calls. It may be entered several times."""
        ...


class ModelParser(ABC):
    """A parser that adds a model's answers to the document. Its version ends with the task and the model."""

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

    @abstractmethod
    def _asks_about(self, path: PurePath, mime_type: str) -> bool:
        """Return whether to send this file to the model."""

    @abstractmethod
    def _extended(self, parsed: ParsedDocument, path: Path) -> ParsedDocument:
        """Return the document with the model's answers. Raises ModelFailed."""
