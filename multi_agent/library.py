"""The library protocol, with which agents search and read a collection of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Protocol

from pydantic import Field, SkipValidation

from base.models import FrozenModel
from vectorstore.models import Chunk, FieldValue, Hit


class CatalogueEntry(FrozenModel):
    """A document in the planner's list."""

    name: str
    id: str
    title: str = ""
    chunks: int = Field(ge=0)
    pages: int = Field(default=0, ge=0, description="0 for formats without pages")
    given: bool = Field(default=False, description="whether the caller gave its passages")
    facts: tuple[str, ...] = Field(default=(), description="kind, issuer, period and currency, as far as known")
    language: str = Field(default="", description="ISO 639-1 code; empty if unknown")
    path: str = Field(default="", description="path of the document as ingested")
    type: str = Field(default="", description="type of its file, such as pdf")
    dated: date | None = Field(default=None, description="stated date or period, otherwise date of last file change")
    stated: date | None = Field(default=None, description="the date or period that it states")
    changed: date | None = Field(default=None, description="date in its properties, otherwise of last file change")
    state: str = Field(default="indexed", description="as in the list of documents, such as indexed or failed")
    reason: str = Field(default="", description="why it could not be read")
    tags: tuple[str, ...] = ()
    metadata: SkipValidation[dict[str, FieldValue]] = Field(
        default_factory=dict, description="its own fields, its facts and the properties of its file, by name"
    )
    own: tuple[str, ...] = Field(default=(), description="names of the fields that people gave it")
    version: str = Field(default="", description="hash of the content; empty for passages that the caller gave")
    warnings: tuple[str, ...] = Field(default=(), description="what of it was not read, or read by a guess")


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
