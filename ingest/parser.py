"""The contract of a parser, and how parsers are found. Implementations: one module or package each in ``parsers/``."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path, PurePath
from typing import Protocol

from ingest import parsers
from ingest.document import ParsedDocument
from ingest.errors import UnknownParser
from ingest.reader import ParserOptions


class Parser(Protocol):
    """Turns one file into text and structure.

    The ledger stores ``ParsedDocument.parser`` with every document. The next ingest reads an
    unchanged file again if ``version_of`` differs from it.
    """

    name: str

    def parse(self, path: Path) -> ParsedDocument:
        """Parse the file. Raises ParseError (what, which file, what to do); never returns an empty text."""
        ...

    def version_of(self, path: PurePath, mime_type: str = "") -> str:
        """Return the name and version of the code that parses such a file, as in ``ParsedDocument.parser``.

        Without a MIME type, the name decides. Does not open the file.
        """
        ...


def parser_names() -> list[str]:
    """Return the names of the modules in ``ingest/parsers``."""
    return sorted(module.name for module in pkgutil.iter_modules(parsers.__path__))


def load_parser(name: str, options: ParserOptions | None = None) -> Parser:
    """Create the parser with this name. Raises UnknownParser if there is none, or it is not installed."""
    if name not in parser_names():
        raise UnknownParser(f"Unknown parser {name!r}. Available: {', '.join(parser_names())}.")
    parser: Parser = importlib.import_module(f"{parsers.__name__}.{name}").DocumentParser(options or ParserOptions())
    return parser
