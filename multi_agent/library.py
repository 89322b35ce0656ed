"""The contract of the library that is researched: what the agents may ask of a collection of documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pydantic import Field

from vectorstore.models import Chunk, FrozenModel


class CatalogueEntry(FrozenModel):
    """A document as the planner sees it."""

    name: str
    id: str
    title: str = ""
    chunks: int = Field(ge=0)


class Library(Protocol):
    """Searches and reads one collection. Calls may block; agents make them in a thread."""

    @property
    def collection(self) -> str:
        """Name of the collection."""
        ...

    def catalogue(self) -> Sequence[CatalogueEntry]:
        """Every document, by name."""
        ...

    def search(self, queries: Sequence[str], limit: int, documents: Sequence[str] = ()) -> list[Chunk]:
        """The best ``limit`` chunks over all queries, best first; of the documents of these names, if any is named."""
        ...

    def scan(self, documents: Sequence[str] = ()) -> list[Chunk]:
        """Every chunk of the documents of these names, or of all if none is named, in reading order."""
        ...


def within(query: str, documents: Sequence[str]) -> str:
    """How a query is noted that was searched for in these documents alone: others may hold more of it."""
    return f"{query} (in {', '.join(documents)})" if documents else query
