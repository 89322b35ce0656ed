"""Defines the parsed document: its text, the blocks and pages that point into the text, and its facts."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field, field_validator

from base.models import FrozenModel
from base.text import without_surrogates
from vectorstore.models import FieldValue, PageSpan, Scalar


class BlockKind(StrEnum):
    """Kind of a block of parsed text."""

    HEADING = "heading"
    PROSE = "prose"
    TABLE = "table"
    LIST = "list"
    CODE = "code"
    CONTENTS = "contents"
    """A table of contents. It is not indexed: it would match many queries, but answer none."""


CAPTION = 99
"""The level of a heading that is the caption of a table: it applies to the next table only."""


class Block(FrozenModel):
    """Characters [start, end) of the parsed text. Blocks are in reading order and do not overlap."""

    kind: BlockKind
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    level: int = Field(default=0, ge=0, description="for a heading: 1 is the outermost; 0 for other kinds")
    header_end: int | None = Field(default=None, description="for a table: where its header rows end in the text")


TITLE, KIND, ISSUER, PERIOD, CURRENCY, DATE = "title", "kind", "issuer", "period", "currency", "date"
"""Names of the facts. Only the model finds the kind."""
FACTS = (TITLE, KIND, ISSUER, PERIOD, CURRENCY, DATE)
"""All facts in display order."""


class FactSource(StrEnum):
    """Source of a fact: a property of the file, a rule, or the model."""

    PROPERTY = "property"
    RULE = "rule"
    MODEL = "model"


class Fact(FrozenModel):
    """A fact about a whole document, with the line that states it."""

    value: str = Field(min_length=1, description="for filters; a date in ISO form, a currency as its ISO code")
    printed: str = Field(min_length=1, description="the value as the document writes it")
    quote: str = Field(description="the line of the document, or the property of the file, that has it")
    page: int | None = Field(default=None, description="page of the quote; None for a property or without pages")
    source: FactSource


class ParsedDocument(FrozenModel):
    """A document as text with its structure. Only ``text`` holds content; blocks and pages are offsets into it."""

    text: str
    blocks: tuple[Block, ...]
    pages: tuple[PageSpan, ...] = Field(default=(), description="ascending; empty for formats without pages")
    title: str = ""
    metadata: dict[str, Scalar] = Field(default_factory=dict)
    fields: dict[str, FieldValue] = Field(
        default_factory=dict, description="what its front matter or its own properties say; with its tags"
    )
    facts: dict[str, Fact] = Field(default_factory=dict, description="by name, such as 'issuer'")
    mime_type: str = ""
    parser: str = Field(description="name and version of the code that parsed it, such as 'pdf/1'")
    warnings: tuple[str, ...] = ()

    @field_validator("title", "metadata", "fields", "warnings", mode="before")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        """Replace the halves of characters that forged properties of files have: no store takes them."""
        if isinstance(value, str):
            return without_surrogates(value)
        if isinstance(value, Mapping):
            return {cls._storable(name): cls._storable(each) for name, each in value.items()}
        return type(value)(map(cls._storable, value)) if isinstance(value, list | tuple) else value
