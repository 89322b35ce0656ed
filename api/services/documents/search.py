"""Searches a collection for passages without a language model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from api.errors import UsageError
from api.services.documents.collection_pool import CollectionPool
from api.services.documents.collections import Collections
from ingest.ledger.records import DocumentRecord
from multi_agent.document_filter import DocumentFilter
from multi_agent.library import CatalogueEntry
from vectorstore.models import ChunkFilter, Hit, Scalar, SearchMode
from vectorstore.text.languages import language_note

if TYPE_CHECKING:
    from vectorstore.retrieval import Retriever

_ANY: Mapping[str, Scalar] = {}


def search(
    pool: CollectionPool,
    collection: str,
    query: str,
    limit: int,
    where: Mapping[str, Scalar] = _ANY,
    wanted: DocumentFilter | None = None,
    mode: SearchMode = SearchMode.HYBRID,
) -> list[Hit]:
    """Return the hits in a collection of the pool, best first. ``where`` filters by metadata and facts.

    Raises StoreError, NoDocumentMatches, ServiceEnding.
    """
    library = pool.get(collection).library
    chunks = _chunk_filter(library.catalogue() if wanted else (), collection, where, wanted)
    return _find(library.retriever, query, limit, chunks, mode)


def search_document(
    pool: CollectionPool, document: DocumentRecord, query: str, limit: int, mode: SearchMode = SearchMode.HYBRID
) -> list[Hit]:
    """Return the hits in one document, best first. Raises StoreError, ServiceEnding."""
    if not document.chunks:
        return []
    retriever = pool.get(document.collection).library.retriever
    return _find(retriever, query, limit, ChunkFilter(documents=(document.id,)), mode)


class Found(NamedTuple):
    """The result of a search on the command line."""

    hits: list[Hit]
    note: str
    """What to do if the query is in another language than the documents."""
    seconds: dict[str, float]
    """The duration of each stage."""


def timed_search(
    collections: Collections,
    collection: str | None,
    query: str,
    limit: int,
    where: Mapping[str, Scalar] = _ANY,
    wanted: DocumentFilter | None = None,
    mode: SearchMode = SearchMode.HYBRID,
) -> Found:
    """Open a collection, search it and close it. Return the hits, best first, and what the user should know.

    ``where`` filters by metadata and facts. Raises UsageError, NoDocumentMatches, StoreError.
    """
    clock = _Clock()
    name = collections.resolve(collection)
    with collections.open(name) as opened:
        from vectorstore.retrieval import Retriever

        clock.lap("open collection")
        chunks = _chunk_filter(collections.catalogue(name) if wanted else (), name, where, wanted)
        embedder = None if mode is SearchMode.WORDS else collections.load_embedder()
        clock.lap("load embedding model")
        hits = _find(Retriever(opened, embedder), query, limit, chunks, mode)
        clock.lap("embed query and search")
        note = language_note(query, opened.languages(), embedder.languages if embedder else None)
    return Found(hits, note, clock.laps)


def _find(retriever: Retriever, query: str, limit: int, where: ChunkFilter, mode: SearchMode) -> list[Hit]:
    try:
        return retriever.find(query, limit, where, mode)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _chunk_filter(
    catalogue: Sequence[CatalogueEntry], collection: str, where: Mapping[str, Scalar], wanted: DocumentFilter | None
) -> ChunkFilter:
    chosen = wanted.choose(catalogue, collection) if wanted else ()
    return ChunkFilter(metadata=dict(where), documents=tuple(entry.id for entry in chosen))


class _Clock:
    """Measures the seconds between laps."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now
