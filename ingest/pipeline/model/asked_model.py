"""Base of the parsers that ask a model: those of ``figures.py`` and ``model_facts.py``."""

from abc import ABC, abstractmethod
from pathlib import Path, PurePath

from ingest.document import ParsedDocument
from ingest.parser import Parser


class ModelParser(ABC):
    """A parser that adds a model's answers to the document. Its version ends with the task and the model.

    Several threads may parse at the same time, so several ask the model.
    """

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
