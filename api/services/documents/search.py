"""Searches a collection for passages without a language model."""

import time
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from pydantic import Field

from api.errors import UsageError
from api.services.documents.collection_pool import CollectionPool
from api.services.documents.collections import Collections
from api.services.documents.documents import Documents
from api.services.research.library import Catalogue, CollectionLibrary
from base.models import FrozenModel
from ingest.ledger.records import DocumentRecord
from multi_agent.values.request import DocumentFilter
from multi_agent.values.versions import left_out
from vectorstore.mentions import WantedWords
from vectorstore.models import ChunkFilter, Hit, SearchMode, names_in
from vectorstore.qdrant_schema import chunk_language
from vectorstore.reranking import Reranker, rerank
from vectorstore.restrictions import normal, parse
from vectorstore.retrieval import Retriever

_MOST_COUNTED = 100  # phrases: each takes a search, and a pass over the text of each document


class Found(NamedTuple):
    """The result of a search."""

    hits: list[Hit]
    note: str = ""
    """What the person should know: another language than the documents', or a search by words alone."""
    seconds: Mapping[str, float] = MappingProxyType({})
    """The duration of each stage."""


def search(
    pool: CollectionPool,
    selection: str,
    query: str,
    limit: int,
    wanted: DocumentFilter | None = None,
    mode: SearchMode = SearchMode.HYBRID,
    reranker: Reranker | None = None,
) -> Found:
    """Search collections of the pool. Hits are best first.

    Raises StoreError, NoDocumentMatches, ServiceEnding.
    """
    clock = _Clock()
    library = pool.library(selection)
    chunks, older = _chunk_filter(library.catalogue, selection, wanted, library.retriever)
    hits, unread = _find(library.retriever, query, limit, chunks, mode, reranker, clock)
    notes = unread, pool.words_alone(selection), library.retriever.language_note(query, hits), left_out(older)
    return Found(hits, " ".join(filter(None, notes)), clock.laps)


class DocumentCount(FrozenModel):
    """How often words stand in the text of a document."""

    document_id: str
    document: str
    counts: dict[str, int]


class WordCounts(FrozenModel):
    """How often words stand in the documents of a selection. Documents that have none of them are left out."""

    words: tuple[str, ...]
    total: int
    searched: int = Field(description="Number of documents searched.")
    unread: int = Field(description="Number of files that could not be read, so they were not searched.")
    documents: tuple[DocumentCount, ...] = Field(description="Most mentions first.")
    older: dict[str, str] = Field(
        default_factory=dict, description="Names of older versions left out, each with the name of its newest version."
    )


def count_words(library: CollectionLibrary, texts: Documents, query: str, wanted: DocumentFilter | None) -> WordCounts:
    """Count a word with its inflections, or exact phrases, in the full text of each document. Uses no model.

    The words are the phrases in quotes, or else the query as one phrase. Raises UsageError, NoDocumentMatches,
    StoreError, IngestError.
    """
    asked = parse(query)
    words = asked.phrases or (normal(query),)
    if asked.excluded or (asked.phrases and normal(asked.text) != " ".join(words)):
        raise UsageError(f"{query!r} mixes phrases and other words. To count several, put each of them in quotes.")
    if len(words) > _MOST_COUNTED:
        raise UsageError(f"The query has {len(words):,} phrases. Count at most {_MOST_COUNTED} at once.")
    if not all(any(map(str.isalnum, word)) for word in words):
        raise UsageError(f"{query!r} has no word to count.")
    selection, unread = library.collection, library.unread()
    chosen, older = _chunk_filter(library.catalogue, selection, wanted, library.retriever)
    found = {(chunk.name, chunk.document_id): chunk for chunk in library.retriever.mentions(words, chosen)}
    rows = []
    for (name, document), chunk in found.items():
        within = f"{name.partition('/')[0]}/{document}" if len(names_in(selection)) > 1 else document
        text = texts.text(texts.find(within, selection)).text
        counts = {word: len(WantedWords([word]).forms_in(text, chunk_language(chunk))) for word in words}
        rows.append(DocumentCount(document_id=document, document=name, counts=counts))
    rows.sort(key=lambda row: (-sum(row.counts.values()), row.document))
    return WordCounts(
        words=words,
        total=sum(sum(row.counts.values()) for row in rows),
        searched=len(chosen.documents or library.catalogue()),
        unread=len(wanted.matching(unread) if wanted else unread),
        documents=tuple(rows),
        older=older,
    )


def search_document(
    pool: CollectionPool, document: DocumentRecord, query: str, limit: int, mode: SearchMode = SearchMode.HYBRID
) -> list[Hit]:
    """Return the hits in one document, best first. Raises StoreError, ServiceEnding."""
    if not document.chunks:
        return []
    retriever = pool.get(document.collection).library.retriever
    return _find(retriever, query, limit, ChunkFilter(documents=(document.id,)), mode, None, _Clock())[0]


def timed_search(
    collections: Collections,
    collection: str | None,
    query: str,
    limit: int,
    wanted: DocumentFilter | None = None,
    mode: SearchMode = SearchMode.HYBRID,
    reranker: Reranker | None = None,
) -> Found:
    """Open collections, search them and close them. Hits are best first.

    Raises UsageError, NoDocumentMatches, StoreError.
    """
    clock = _Clock()
    name = collections.resolve(collection)
    with collections.open(name) as opened:
        clock.lap("open collections")
        embedder = None if mode is SearchMode.WORDS else collections.load_embedder()
        clock.lap("load embedding model")
        retriever = Retriever(opened, embedder)
        chunks, older = _chunk_filter(partial(collections.catalogue, name), name, wanted, retriever)
        hits, unread = _find(retriever, query, limit, chunks, mode, reranker, clock)
        notes = unread, collections.words_alone(name), retriever.language_note(query, hits), left_out(older)
    return Found(hits, " ".join(filter(None, notes)), clock.laps)


def _find(
    retriever: Retriever,
    query: str,
    limit: int,
    where: ChunkFilter,
    mode: SearchMode,
    reranker: Reranker | None,
    clock: "_Clock",
) -> tuple[list[Hit], str]:
    """Return the best hits, and a note if the reranker did not read all candidates."""
    try:
        hits = retriever.find(query, max(limit, reranker.candidates) if reranker else limit, where, mode)
    except ValueError as error:
        raise UsageError(str(error)) from error
    clock.lap("embed query and search")
    if not reranker:
        return hits, ""
    ranked, unread = rerank(reranker, query, hits)
    clock.lap("rerank")
    note = f"The model read the first {len(hits) - unread} of {len(hits)} passages; the others follow in their order."
    return ranked[:limit], note * bool(unread)


def require_reranker(reranker: Reranker | None) -> Reranker:
    """Return the reranker. Raises UsageError if the settings name none."""
    if reranker is None:
        raise UsageError(
            "No reranker is configured. Set `provider` and `model` in `[research.rerank]`, or search without one."
        )
    return reranker


def _chunk_filter(
    catalogue: Catalogue, collection: str, wanted: DocumentFilter | None, retriever: Retriever
) -> tuple[ChunkFilter, Mapping[str, str]]:
    """Return the filter for the chosen documents, and the older versions that it leaves out."""
    if not wanted:
        return ChunkFilter(), {}
    entries = catalogue(within=wanted.within)
    if wanted.folder and not wanted.matching(entries):
        entries = catalogue()  # the error names the folders that there are
    chosen, older = wanted.select(entries, collection, lambda ids: retriever.scan(ChunkFilter(documents=tuple(ids))))
    return ChunkFilter(documents=tuple(entry.id for entry in chosen)), older


class _Clock:
    """Measures the seconds between laps."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now
