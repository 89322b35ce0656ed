"""Finding chunks for several wordings of one question: every query is embedded and searched, the rankings are fused.

Fusion is by reciprocal rank, 1 / (k + rank) summed over the rankings that hold a chunk, with k = 60 as in Cormack,
Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods", SIGIR 2009.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk, ChunkFilter, Counts, Hit, SearchMode
from vectorstore.store import EVERYTHING, Collection
from vectorstore.text.languages import detect_query

RRF_K = 60


class Retriever:
    """Reads one collection through one embedder. Safe to use from several threads."""

    def __init__(self, collection: Collection, embedder: Embedder) -> None:
        self._collection = collection
        self._embedder = embedder

    def search(
        self,
        queries: Sequence[str],
        limit: int,
        where: ChunkFilter = EVERYTHING,
        mode: SearchMode = SearchMode.HYBRID,
    ) -> list[Hit]:
        """The best ``limit`` chunks over all queries, best first; equal scores in order of document name and position.

        One query gives its own hits and scores; of several, a chunk found by many stands above one found by few.
        """
        return self._collection.steady(lambda now: self._fused(now, queries, limit, where, mode))

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        """Every selected chunk, in order of document name and position."""
        return self._collection.scan(where)

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        """How many documents and chunks are selected."""
        return self._collection.count(where)

    def _fused(
        self, now: Collection, queries: Sequence[str], limit: int, where: ChunkFilter, mode: SearchMode
    ) -> list[Hit]:
        if len(queries) == 1:
            return self._search(now, queries[0], limit, where, mode)
        # Each ranking is read no deeper than the limit: from further down, chunks that are a little about everything
        # would come in by their sum and push out what one query alone finds. (Four unrelated questions of SciFact as
        # queries: 0.72 of their passages in the first 10; reading each to 100 leaves 0.38.)
        return fuse([self._search(now, query, limit, where, mode) for query in dict.fromkeys(queries)], limit)

    def _search(self, now: Collection, query: str, limit: int, where: ChunkFilter, mode: SearchMode) -> list[Hit]:
        if mode is SearchMode.HYBRID and not self._embeds(now, query):
            return self._words_first(now, query, limit, where)
        return self._ranked(now, query, limit, where, mode)

    def _words_first(self, now: Collection, query: str, limit: int, where: ChunkFilter) -> list[Hit]:
        """What the words find, and below all of that, as far as there is room, what lies nearest in meaning.

        A model that does not know the language ranks little better than by chance. Fused with equal weight it would
        pull down what the words have found; left out, a query without a word in common would find nothing at all.
        """
        by_words = self._ranked(now, query, limit, where, SearchMode.SPARSE)
        found = {hit.chunk.id for hit in by_words}
        by_meaning = self._ranked(now, query, limit, where, SearchMode.DENSE) if len(found) < limit else []
        return fuse([[*by_words, *(hit for hit in by_meaning if hit.chunk.id not in found)]], limit)

    def _ranked(self, now: Collection, query: str, limit: int, where: ChunkFilter, mode: SearchMode) -> list[Hit]:
        vector = None if mode is SearchMode.SPARSE else self._embedder.embed_query(query)
        found = now.search(mode, text=query, vector=vector, limit=limit, where=where)
        return sorted(found, key=_by_score)

    def _embeds(self, now: Collection, query: str) -> bool:
        """Whether the embedding model knows the query's language."""
        languages = self._embedder.languages
        return languages is None or detect_query(query, now.languages()) in languages


def fuse(rankings: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """One ranking out of several, by reciprocal rank."""
    scores: defaultdict[str, float] = defaultdict(float)
    chunks: dict[str, Chunk] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            scores[hit.chunk.id] += 1 / (RRF_K + rank)
            chunks[hit.chunk.id] = hit.chunk
    return sorted((Hit(chunk=chunks[chunk_id], score=score) for chunk_id, score in scores.items()), key=_by_score)[
        :limit
    ]


def _by_score(hit: Hit) -> tuple[float, str, int, str]:
    """Best first. Names and positions decide between equals, since ids depend on where the documents lie."""
    return (-hit.score, hit.chunk.name, hit.chunk.index, hit.chunk.id)
