"""A parsed document: its text, the blocks and pages that point into the text, and facts about the whole."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from vectorstore.models import FrozenModel, PageSpan, Scalar


class BlockKind(StrEnum):
    """Kind of a block of parsed text."""

    HEADING = "heading"
    PROSE = "prose"
    TABLE = "table"
    LIST = "list"
    CODE = "code"
    CONTENTS = "contents"
    """A table of contents. It is not indexed: it names every subject of the document and tells nothing about it."""


class Block(FrozenModel):
    """Characters [start, end) of the parsed text. Blocks are in reading order and do not overlap."""

    kind: BlockKind
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    level: int = Field(default=0, ge=0, description="for a heading: 1 is the outermost; 0 for other kinds")
    header_end: int | None = Field(default=None, description="for a table: where its header rows end in the text")


TITLE, KIND, ISSUER, PERIOD, CURRENCY, DATE = "title", "kind", "issuer", "period", "currency", "date"
"""Names of facts. Only a model finds kind and date."""
FACTS = (TITLE, KIND, ISSUER, PERIOD, CURRENCY, DATE)
"""All of them, in the order in which they are shown."""


class FactSource(StrEnum):
    """Where a fact comes from."""

    PROPERTY = "property"
    RULE = "rule"
    MODEL = "model"


class Fact(FrozenModel):
    """One fact about a document as a whole, with the words that show it."""

    value: str = Field(min_length=1, description="for filters; a date in ISO form, a currency as its ISO code")
    printed: str = Field(min_length=1, description="the value as the document writes it")
    quote: str = Field(description="the line of the document, or the property of the file, that has it")
    page: int | None = Field(default=None, description="page of the quote; None for a property or without pages")
    source: FactSource


class ParsedDocument(FrozenModel):
    """A document as text with its structure. ``text`` is the only copy; blocks and pages point into it."""

    text: str
    blocks: tuple[Block, ...]
    pages: tuple[PageSpan, ...] = Field(default=(), description="ascending; empty for formats without pages")
    title: str = ""
    metadata: dict[str, Scalar] = Field(default_factory=dict)
    facts: dict[str, Fact] = Field(default_factory=dict, description="by name, such as 'issuer'")
    mime_type: str = ""
    parser: str = Field(description="name and version of the code that parsed it, such as 'pdf/1'")
    warnings: tuple[str, ...] = ()
