"""The research panel's view of a collection, with passages from the store and documents from the ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ingest.document import CURRENCY, ISSUER, KIND, PERIOD
from ingest.ledger.ledger import Ledger
from multi_agent.errors import PictureUnavailable
from multi_agent.library import CatalogueEntry
from vectorstore.models import Chunk, ChunkFilter, Hit
from vectorstore.reranking import Reranker
from vectorstore.retrieval import Retriever
from vectorstore.store import EVERYTHING

_LISTED = (KIND, ISSUER, PERIOD, CURRENCY)  # shown without names, so a DATE could be mistaken for the period


def no_pictures(chunk: Chunk, page: int) -> bytes:
    """Raise PictureUnavailable. The default for a library without access to the files of its documents."""
    raise PictureUnavailable(f"Page {page} of {chunk.name!r} cannot be drawn: the library has no access to its files.")


@dataclass(frozen=True)
class CollectionLibrary:
    """Implements ``multi_agent.library.Library``."""

    collection: str
    catalogue: Callable[[], Sequence[CatalogueEntry]]
    retriever: Retriever
    draw: Callable[[Chunk, int], bytes] = no_pictures
    """Returns a page of the chunk's document as PNG."""
    find_ids: Callable[[Sequence[str]], Sequence[str]] | None = None
    """Returns the ids of the searchable documents with these names or ids. None looks through the catalogue."""
    reranker: Reranker | None = None

    def index(self) -> Mapping[str, str]:
        spec = self.retriever.spec
        reranker = {"reranker": self.reranker.name} if self.reranker else {}
        return {"embedding model": spec.embedding_model, "chunking": spec.chunking, **reranker}

    def search(self, queries: Sequence[str], limit: int, documents: Sequence[str] = ()) -> list[Hit]:
        if (where := self._filter(documents)) is None:
            return []
        return self.retriever.search(queries, limit, where, reranker=self.reranker)

    def around(self, chunks: Sequence[Chunk], reach: int) -> list[Chunk]:
        return self.retriever.around(chunks, reach)

    def scan(self, documents: Sequence[str] = ()) -> list[Chunk]:
        where = self._filter(documents)
        return [] if where is None else list(self.retriever.scan(where))

    def page_picture(self, chunk: Chunk, page: int) -> bytes:
        return self.draw(chunk, page)

    def _filter(self, documents: Sequence[str]) -> ChunkFilter | None:
        """Return the filter for these documents, or None if none exists, because an empty filter matches everything."""
        if not documents:
            return EVERYTHING
        ids = self._ids(documents)
        return ChunkFilter(documents=tuple(ids)) if ids else None

    def _ids(self, documents: Sequence[str]) -> Sequence[str]:
        if self.find_ids:
            return self.find_ids(documents)
        named = set(documents)
        return [entry.id for entry in self.catalogue() if entry.name in named or entry.id in named]


def list_catalogue(ledger: Ledger, collection: str) -> list[CatalogueEntry]:
    """Return the searchable documents of a collection. A failed new version does not hide the indexed one."""
    return [
        CatalogueEntry(
            name=document.name,
            id=document.id,
            title=document.title,
            chunks=document.chunks,
            pages=document.pages,
            facts=tuple(document.facts[name]["value"] for name in _LISTED if name in document.facts),
            language=document.language or "",
            path=document.path,
            type=document.type,
            dated=document.dated,
            tags=document.tags,
            version=document.version[:16],
            warnings=tuple(document.warnings),
        )
        for document in ledger.catalogue(collection)
    ]
