"""A parsed document: its text and the blocks and pages that point into the text."""

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


class Block(FrozenModel):
    """Characters [start, end) of the parsed text. Blocks are in reading order and do not overlap."""

    kind: BlockKind
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    level: int = Field(default=0, ge=0, description="for a heading: 1 is the outermost; 0 for other kinds")
    header_end: int | None = Field(default=None, description="for a table: where its header rows end in the text")


class ParsedDocument(FrozenModel):
    """A document as text with its structure. ``text`` is the only copy; blocks and pages point into it."""

    text: str
    blocks: tuple[Block, ...]
    pages: tuple[PageSpan, ...] = Field(default=(), description="ascending; empty for formats without pages")
    title: str = ""
    metadata: dict[str, Scalar] = Field(default_factory=dict)
    mime_type: str = ""
    parser: str = Field(description="name and version of the code that parsed it, such as 'pdf/1'")
    warnings: tuple[str, ...] = ()
