"""Searches with several queries for one question: each query is embedded and searched, and the rankings are fused.

Fusion is reciprocal rank fusion with k = 60: 1 / (k + rank), summed over the rankings that contain a chunk. Source:
Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods", SIGIR
2009.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from vectorstore.embedding.embedder import QueryEmbedder
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Counts, Hit, SearchMode
from vectorstore.store import EVERYTHING, Collection
from vectorstore.text.languages import detect_query

RRF_K = 60


class Retriever:
    """Searches one collection with one embedder. Threads may share it.

    Without an embedder, the search process that has the collection open embeds each query (``remote/``).
    """

    def __init__(self, collection: Collection, embedder: QueryEmbedder | None) -> None:
        self._collection = collection
        self._embedder = embedder

    @property
    def spec(self) -> CollectionSpec:
        """The specification of the collection."""
        return self._collection.spec

    def search(
        self,
        queries: Sequence[str],
        limit: int,
        where: ChunkFilter = EVERYTHING,
        mode: SearchMode = SearchMode.HYBRID,
    ) -> list[Hit]:
        """Return the best ``limit`` chunks over all queries, best first.

        Equal scores are ordered by document name and position. Scores of several queries are fused scores.
        """
        return self._collection.consistent_read(lambda view: self._search_all(view, queries, limit, where, mode))

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        """Yield every selected chunk, in order of document name and position."""
        return self._collection.scan(where)

    def around(self, chunks: Sequence[Chunk], reach: int) -> list[Chunk]:
        """Return the chunks within ``reach`` positions of the given ones, in order, each once; all of one moment."""
        positions: defaultdict[str, set[int]] = defaultdict(set)
        for chunk in chunks:
            positions[chunk.document_id].update(range(max(chunk.index - reach, 0), chunk.index + reach + 1))
        windows = [
            ChunkFilter(documents=(document,), positions=window)
            for document, wanted in positions.items()
            for window in _windows(sorted(wanted))
        ]
        read = self._collection.consistent_read
        found = read(lambda view: [chunk for where in windows for chunk in view.scan(where)])
        return sorted(found, key=lambda chunk: (chunk.name, chunk.document_id, chunk.index))

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        """Count the selected documents and chunks."""
        return self._collection.count(where)

    def _search_all(
        self, view: Collection, queries: Sequence[str], limit: int, where: ChunkFilter, mode: SearchMode
    ) -> list[Hit]:
        if len(queries) == 1:
            return self._search(view, queries[0], limit, where, mode)
        # Each ranking is read only to the limit. Deeper reading favours chunks that are slightly related to every
        # query over the best chunks of one query. For four unrelated SciFact questions as queries, the first 10 hold
        # 0.72 of their passages; reading each ranking to 100 leaves 0.38.
        return fuse([self._search(view, query, limit, where, mode) for query in dict.fromkeys(queries)], limit)

    def _search(self, view: Collection, query: str, limit: int, where: ChunkFilter, mode: SearchMode) -> list[Hit]:
        embedder = self._embedder
        if embedder and mode is SearchMode.HYBRID and not _supports_language(embedder, view, query):
            return self._search_keywords_first(view, query, limit, where)
        return self._rank(view, query, limit, where, mode)

    def _search_keywords_first(self, view: Collection, query: str, limit: int, where: ChunkFilter) -> list[Hit]:
        """Return the BM25 hits, filled up with dense hits below them.

        A model that does not support the language ranks little better than chance. Equal weights would push down the
        BM25 hits; without dense hits, a query without a common word would find nothing.
        """
        sparse = self._rank(view, query, limit, where, SearchMode.SPARSE)
        found = {hit.chunk.id for hit in sparse}
        dense = self._rank(view, query, limit, where, SearchMode.DENSE) if len(found) < limit else []
        return fuse([[*sparse, *(hit for hit in dense if hit.chunk.id not in found)]], limit)

    def _rank(self, view: Collection, query: str, limit: int, where: ChunkFilter, mode: SearchMode) -> list[Hit]:
        embedder = self._embedder if mode is not SearchMode.SPARSE else None
        vector = embedder.embed_query(query) if embedder else None
        hits = view.search(mode, text=query, vector=vector, limit=limit, where=where)
        return sorted(hits, key=_sort_key)


def _supports_language(embedder: QueryEmbedder, view: Collection, query: str) -> bool:
    """Return whether the embedding model supports the query's language."""
    return embedder.languages is None or detect_query(query, view.languages(exact=False)) in embedder.languages


def _windows(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of consecutive positions."""
    first = last = positions[0]
    for position in positions[1:]:
        if position > last + 1:
            yield first, last
            first = position
        last = position
    yield first, last


def fuse(rankings: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """Return one ranking by reciprocal rank fusion."""
    scores: defaultdict[str, float] = defaultdict(float)
    chunks: dict[str, Chunk] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            scores[hit.chunk.id] += 1 / (RRF_K + rank)
            chunks[hit.chunk.id] = hit.chunk
    hits = [Hit(chunk=chunks[chunk_id], score=score) for chunk_id, score in scores.items()]
    return sorted(hits, key=_sort_key)[:limit]


def _sort_key(hit: Hit) -> tuple[float, str, int, str]:
    """Sort by score, then name and position, which unlike ids do not depend on the documents' folder."""
    return (-hit.score, hit.chunk.name, hit.chunk.index, hit.chunk.id)
