"""The contract of a source: a place outside of this machine's folders that has documents.

class Shelf:
    def items(self, known):
        yield Item("a.md", "https://shelf.example/a", content=b"# A")

Candor stores what a source gives as files, and the ingest of a folder reads them. A source therefore knows nothing of
collections. ``ingest/sources/`` has the implementations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]+')
_LONGEST = 120  # characters of a part of a name


class Known(NamedTuple):
    """A document that an earlier sync stored."""

    path: Path
    version: str
    """What the source gave to notice changes, or an empty string."""


class Item(NamedTuple):
    """A document of a source. Exactly one of ``content``, ``is_unchanged``, ``error`` and ``skipped`` is set."""

    name: str
    """The relative path of its file. Not needed if it is unchanged."""
    address: str
    """The address that opens the document. Identifies it within the source."""
    version: str = ""
    content: bytes = b""
    is_unchanged: bool = False
    error: str = ""
    """Why the document cannot be read now. The stored version is kept."""
    skipped: str = ""
    """Why the document is left out. The stored version is removed."""


class Source(Protocol):
    """A source of documents."""

    def items(self, known: Mapping[str, Known]) -> Iterator[Item]:
        """Yield every document of the source. ``known`` has the stored ones by address.

        Stored documents that are not yielded are removed. Raises SourceFailed.
        """
        ...


def too_large(address: str, max_bytes: int) -> Item:
    """Return the item of a document above the size limit."""
    return Item("", address, error=f"{address} has more than {max_bytes:,} bytes (ingest.max_file_mb)")


def file_name(text: str, suffix: str = "") -> str:
    """Return a name for a file made from a text. Ends with ``suffix`` if the text does not."""
    name = _UNSAFE.sub("_", text).strip(" .")[:_LONGEST] or "_"
    return name if name.lower().endswith(suffix) else name + suffix
