"""Messages between an ingest and its worker processes.

A worker answers each request with one result or FileError. Before that, it may report progress (``STILL_WORKING``) and
ask for the number of tokens of texts (``CountTokens``), because only the ingest has the embedding model.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ingest.chunking.chunker import Source
from ingest.containers.unpack import ContainerLimits
from ingest.document import ParsedDocument

READY, STILL_WORKING = "ready", "still working"


@dataclass(frozen=True, slots=True)
class ParseRequest:
    """Parse a file. The answer is a ParsedDocument of at most ``max_text_mb``."""

    work: ClassVar[str] = "parsed"
    path: str
    max_text_mb: int


@dataclass(frozen=True, slots=True)
class ChunkRequest:
    """Cut a document into chunks. The answer is a list of at most ``max_passages`` chunks."""

    work: ClassVar[str] = "cut into passages"
    path: str
    parsed: ParsedDocument
    source: Source
    budget: int
    overlap: int
    max_passages: int


@dataclass(frozen=True, slots=True)
class UnpackRequest:
    """Unpack the first file in a container, or the next one. The answer is a Member, or None after the last."""

    work: ClassVar[str] = "unpacked"
    path: str
    limits: ContainerLimits
    folder: Path
    first: bool


@dataclass(frozen=True, slots=True)
class CallRequest:
    """Call a function ("package.module:function") about what ``path`` names. The answer is its result."""

    work: ClassVar[str] = "read"
    path: str
    function: str
    arguments: tuple[Any, ...]


Request = ParseRequest | ChunkRequest | UnpackRequest | CallRequest


@dataclass(frozen=True, slots=True)
class CountTokens:
    """The answer is a list with the number of tokens of each text."""

    texts: list[str]
