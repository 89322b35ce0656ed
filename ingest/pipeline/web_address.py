"""Adds the URL of a downloaded file to the metadata of its document."""

from collections.abc import Callable
from pathlib import Path, PurePath

from ingest.document import ParsedDocument
from ingest.parser import Parser

URL = "url"
"""Metadata key of the URL from which the file was downloaded."""


class AddressedParser:
    """A parser that adds the URL of downloaded files. ``url_of`` returns the URL for a path, or an empty string."""

    def __init__(self, parser: Parser, url_of: Callable[[Path], str]) -> None:
        self.name = parser.name
        self._parser, self._url_of = parser, url_of

    def parse(self, path: Path) -> ParsedDocument:
        parsed, url = self._parser.parse(path), self._url_of(path)
        return parsed.model_copy(update={"metadata": parsed.metadata | {URL: url}}) if url else parsed

    def version_of(self, path: PurePath, mime_type: str = "") -> str:
        return self._parser.version_of(path, mime_type)
