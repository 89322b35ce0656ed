"""The contract of a parser, what it returns, and how one is found. Implementations: one file each in ``parsers/``."""

from __future__ import annotations

import importlib
import pkgutil
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from pydantic import Field

from ingest import parsers
from ingest.errors import UnknownParser
from vectorstore.models import FrozenModel, PageSpan, Scalar


class BlockKind(StrEnum):
    """What a stretch of parsed text is."""

    HEADING = "heading"
    PROSE = "prose"
    TABLE = "table"
    LIST = "list"
    CODE = "code"


class Block(FrozenModel):
    """A stretch [start, end) of the parsed text. Blocks are in reading order and do not overlap."""

    kind: BlockKind
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    level: int = Field(default=0, ge=0, description="of a heading: 1 is the outermost; 0 for other kinds")
    header_end: int | None = Field(default=None, description="of a table: where its header rows end in the text")


class ParsedDocument(FrozenModel):
    """A document as text with its structure. ``text`` is the only copy; blocks and pages point into it."""

    text: str
    blocks: tuple[Block, ...]
    pages: tuple[PageSpan, ...] = Field(default=(), description="ascending; empty for formats without pages")
    title: str = ""
    metadata: dict[str, Scalar] = Field(default_factory=dict)
    mime_type: str = ""
    parser: str = Field(description="name and version of what parsed it, such as 'kreuzberg 4.10.4'")
    warnings: tuple[str, ...] = ()


class OcrMode(StrEnum):
    """When the text of page images is recognised: on pages without text, on all, on none."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class ParserOptions(FrozenModel):
    """What a person may choose about parsing, whichever the parser."""

    ocr: OcrMode = OcrMode.AUTO
    ocr_languages: tuple[str, ...] = Field(default=(), description="Tesseract's codes; empty: all that are installed")


class Parser(Protocol):
    """Turns one file into text and structure."""

    name: str
    version: str
    """Name and version of what parses, as in ``ParsedDocument.parser``: another one reads unchanged files again."""

    def parse(self, path: Path) -> ParsedDocument:
        """Parse the file. Raises ParseError (what, which file, what to do); never returns an empty text."""
        ...


def parser_names() -> list[str]:
    """The parsers there are: the modules of ``ingest/parsers``."""
    return sorted(module.name for module in pkgutil.iter_modules(parsers.__path__))


def load_parser(name: str, options: ParserOptions | None = None) -> Parser:
    """The parser of that name. Raises UnknownParser, naming those there are, or how to install what it needs."""
    if name not in parser_names():
        raise UnknownParser(f"There is no parser {name!r}. There are: {', '.join(parser_names())}.")
    parser: Parser = importlib.import_module(f"{parsers.__name__}.{name}").DocumentParser(options or ParserOptions())
    return parser
