"""The library protocol, with which agents search and read a collection of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import NamedTuple, Protocol

from vectorstore.models import Chunk, FieldValue, Hit


class CatalogueEntry(NamedTuple):
    """A document in the planner's list. No model, because a run makes one of each document of its collection."""

    name: str
    id: str
    chunks: int
    title: str = ""
    pages: int = 0
    """0 for formats without pages."""
    given: bool = False
    """Whether the caller gave its passages."""
    facts: tuple[str, ...] = ()
    """Kind, issuer, period and currency, as far as known."""
    language: str = ""
    """ISO 639-1 code; empty if unknown."""
    path: str = ""
    """Path of the document as ingested."""
    type: str = ""
    """Type of its file, such as pdf."""
    dated: date | None = None
    """Stated date or period, otherwise date of last file change."""
    stated: date | None = None
    """The date or period that it states."""
    changed: date | None = None
    """Date in its properties, otherwise of last file change."""
    state: str = "indexed"
    """As in the list of documents, such as indexed or failed."""
    reason: str = ""
    """Why it could not be read."""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, FieldValue] = MappingProxyType({})
    """Its own fields, its facts and the properties of its file, by name."""
    own: tuple[str, ...] = ()
    """Names of the fields that people gave it."""
    version: str = ""
    """Hash of the content; empty for passages that the caller gave."""
    warnings: tuple[str, ...] = ()
    """What of it was not read, or read by a guess."""


class Library(Protocol):
    """Searches and reads one collection. Calls may block, so agents run them in a thread."""

    @property
    def collection(self) -> str:
        """Name of the collection."""
        ...

    def index(self) -> Mapping[str, str]:
        """Return the settings that all passages of the collection share, such as its embedding model, by name."""
        ...

    def catalogue(self) -> Sequence[CatalogueEntry]:
        """Return every document, sorted by name."""
        ...

    def unread(self) -> Sequence[CatalogueEntry]:
        """Return every file that searches cannot find, because it could not be read, sorted by name."""
        ...

    def search(self, queries: Sequence[str], limit: int, documents: Sequence[str] = ()) -> list[Hit]:
        """Return the best ``limit`` chunks over all queries, best first.

        With ``documents``, search only these documents, given by name or id.
        """
        ...

    def around(self, chunks: Sequence[Chunk], reach: int) -> list[Chunk]:
        """Return the chunks within ``reach`` positions of the given ones, in reading order, without duplicates."""
        ...

    def scan(self, documents: Sequence[str] = ()) -> list[Chunk]:
        """Return every chunk in reading order, optionally of these documents only, by name or id."""
        ...

    def mentions(self, words: Sequence[str], documents: Sequence[str] = ()) -> list[Chunk]:
        """Return every chunk that has one of the words or phrases, in reading order."""
        ...

    def page_picture(self, chunk: Chunk, page: int) -> bytes:
        """Return the picture of a page of the chunk's document, as PNG. Raises PictureUnavailable."""
        ...


def within(query: str, documents: Sequence[str]) -> str:
    """Return the query with the documents to which the search was limited."""
    return f"{query} (in {', '.join(documents)})" if documents else query
