"""Searches with several queries for one question: each query is embedded and searched, and the rankings are merged.

The first hits of each ranking are kept, because the passage of a question's second part is the best of one ranking.
Reciprocal rank fusion, in contrast, prefers whatever two rankings contain, on any place
(``benchmarks.several_queries`` compares them).
"""

import math
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, zip_longest

from vectorstore.embedding.embedder import QueryEmbedder
from vectorstore.joined import JoinedCollections
from vectorstore.mentions import WantedWords
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Counts, Hit, SearchMode
from vectorstore.quoted_mail import quotes, writers_first
from vectorstore.ranking import DEPTH
from vectorstore.reranking import Reranker, rerank
from vectorstore.restrictions import parse
from vectorstore.store import EVERYTHING, Query, Searchable
from vectorstore.text.bm25 import Bm25Encoder
from vectorstore.text.languages import detect_query, language_note

MOST_CHECKED = 5_000
"""Passages that are read to find those that meet the restrictions of a query."""
FIRST = 2
"""Hits of each query that are in the results, whatever the other queries find."""


class Retriever:
    """Searches a collection, or several as one, with one embedder. Threads may share it.

    Without an embedder, the search process that has the collection open embeds each query (``remote/``).
    """

    def __init__(self, collection: Searchable, embedder: QueryEmbedder | None) -> None:
        self.collection = collection
        self._embedder = embedder

    @property
    def spec(self) -> CollectionSpec:
        """The specification of the collection."""
        return self.collection.spec

    def search(
        self,
        queries: Sequence[str],
        limit: int,
        where: ChunkFilter = EVERYTHING,
        mode: SearchMode = SearchMode.HYBRID,
        reranker: Reranker | None = None,
    ) -> list[Hit]:
        """Return the best ``limit`` chunks over all queries, best first.

        Equal scores are ordered by document name and position. Scores of several queries are fused scores. With
        ``reranker``, each query's best chunks are reranked. Raises StoreError.
        """
        queries = list(dict.fromkeys(queries))
        depth = max(limit, reranker.candidates) if reranker else limit
        for view in self.collection.moments():
            search = partial(self._search, view, limit=depth, where=where, mode=mode)
            rankings = list(map(search, queries))
        if reranker:
            ranked = zip(queries, rankings, strict=True)
            rankings = [rerank(reranker, query, hits)[0][:limit] for query, hits in ranked]
        return rankings[0] if len(rankings) == 1 else merge(rankings, limit)

    def find(
        self, query: str, limit: int, where: ChunkFilter = EVERYTHING, mode: SearchMode = SearchMode.HYBRID
    ) -> list[Hit]:
        """Search with a query as a person writes it: phrases in quotes must stand in a passage, ``-word`` excludes it.

        The restrictions are checked for the best ``MOST_CHECKED`` passages. Raises ValueError if no word is left to
        search for.
        """
        wanted = parse(query)
        if not any(unicodedata.category(each)[0] in "LNS" for each in wanted.text):
            problem = "only excludes words" if wanted else "has no word"
            raise ValueError(f"{query.strip()!r} {problem}. Add a word to search for.")
        if not wanted:
            return self.search([query], limit, where, mode)
        depth = max(DEPTH, limit)
        while True:
            hits = self.search([wanted.text], depth, where, mode)
            allowed = [hit for hit in hits if wanted.allow(hit.chunk)]
            if len(allowed) >= limit or len(hits) < depth or depth >= MOST_CHECKED:
                return allowed[:limit]
            depth = min(4 * depth, MOST_CHECKED)

    def mentions(self, words: Sequence[str], where: ChunkFilter = EVERYTHING) -> list[Chunk]:
        """Return every selected chunk that has one of the words or phrases, in order of document name and position."""
        for view in self.collection.moments():
            found = WantedWords(words).find(view, where)
        return found

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        """Yield every selected chunk, in order of document name and position."""
        return self.collection.scan(where)

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
        for view in self.collection.moments():
            found = [chunk for where in windows for chunk in view.scan(where)]
        return sorted(_of_same_versions(found, chunks), key=lambda chunk: (chunk.name, chunk.document_id, chunk.index))

    def language_note(self, query: str, hits: Sequence[Hit]) -> str:
        """Return what to do if a query is in another language than all passages, otherwise an empty text.

        A query whose words are all in its hits is not. Its language is not detected: loading the detector takes 0.4 s.
        """
        languages = self.collection.languages(exact=False)
        found = {word for hit in hits for word in hit.words if word not in hit.respelt}
        if hits and all(word.text in found for word in Bm25Encoder().words(query, languages)):
            return ""
        return language_note(query, languages, self._embedder.languages if self._embedder else None)

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        """Count the selected documents and chunks."""
        return self.collection.count(where)

    def _search(self, view: Searchable, query: str, limit: int, where: ChunkFilter, mode: SearchMode) -> list[Hit]:
        embedder = self._embedder
        if embedder and mode is SearchMode.HYBRID and not _supports_language(embedder, view, query):
            return self._search_keywords_first(view, query, limit, where)
        return self._rank(view, query, limit, where, mode)

    def _search_keywords_first(self, view: Searchable, query: str, limit: int, where: ChunkFilter) -> list[Hit]:
        """Return the BM25 hits, filled up with dense hits below them.

        A model that does not support the language ranks little better than chance. Equal weights would push down the
        BM25 hits; without dense hits, a query without a common word would find nothing.
        """
        sparse = self._rank(view, query, limit, where, SearchMode.WORDS)
        if len(sparse) >= limit:
            return sparse
        found, lowest = {hit.chunk.id for hit in sparse}, min((hit.score for hit in sparse), default=1.0)
        dense = self._rank(view, query, limit, where, SearchMode.MEANING)
        # A cosine is at most 1.
        below = [hit.model_copy(update={"score": lowest * hit.score / 2}) for hit in dense if hit.chunk.id not in found]
        return [*sparse, *below][:limit]

    def _rank(self, view: Searchable, query: str, limit: int, where: ChunkFilter, mode: SearchMode) -> list[Hit]:
        embedder = self._embedder if mode is not SearchMode.WORDS else None
        asked = _embedded(embedder, query, mode) if embedder else Query(query)
        hits = view.search(mode, asked, limit, where)
        # Without an embedder, the search process has ranked the hits of a single collection.
        ranked_remotely = not (embedder or mode is SearchMode.WORDS or isinstance(view, JoinedCollections))
        if not ranked_remotely and mode is not SearchMode.MEANING and any(quotes(hit.chunk.text) for hit in hits):
            hits = view.search(mode, asked, max(limit, DEPTH), where)
            hits = writers_first(hits, _finder(query, view.languages(exact=False)))[:limit]
        return sorted(hits, key=_sort_key)


def _embedded(embedder: QueryEmbedder, text: str, mode: SearchMode) -> Query:
    vector, attention = embedder.embed_query(text)
    return Query(text, vector, attention if mode is SearchMode.HYBRID else None)


def _finder(query: str, languages: Mapping[str, int]) -> Callable[[str], list[str]]:
    """Return a function that returns the words of the query that a text has, in any of the languages."""
    encoder = Bm25Encoder()
    words = encoder.words(query, languages)

    def words_in(text: str) -> list[str]:
        terms = {index for language in languages for index in encoder.passage(text, language).indices}
        return [word.text for word in words if not terms.isdisjoint(word.terms or word.parts)]

    return words_in


def _supports_language(embedder: QueryEmbedder, view: Searchable, query: str) -> bool:
    """Return whether the embedding model supports the query's language."""
    return embedder.languages is None or detect_query(query, view.languages(exact=False)) in embedder.languages


def _of_same_versions(found: Sequence[Chunk], chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return what belongs to the versions of ``chunks``, because two collections may have two versions of a document.

    If none of a document does, it was replaced after the search, and all of it is returned.
    """
    versions = {(chunk.document_id, chunk.version) for chunk in chunks}
    present = {chunk.document_id for chunk in found if (chunk.document_id, chunk.version) in versions}
    return [
        chunk for chunk in found
        if chunk.document_id not in present or (chunk.document_id, chunk.version) in versions
    ]  # fmt: skip


def _windows(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of consecutive positions."""
    first = last = positions[0]
    for position in positions[1:]:
        if position > last + 1:
            yield first, last
            first = position
        last = position
    yield first, last


def merge(rankings: Sequence[Sequence[Hit]], limit: int) -> list[Hit]:
    """Return ``limit`` hits of several rankings, ordered by their best score in any ranking.

    Takes the first hits of each ranking in turn, then those that are the least behind the best of their ranking.
    """
    behind: dict[str, float] = {}
    for ranking in rankings:
        for hit in ranking:
            behind[hit.chunk.id] = min(behind.get(hit.chunk.id, math.inf), ranking[0].score - hit.score)
    first = (hit.chunk.id for hits in zip_longest(*(each[:FIRST] for each in rankings)) for hit in hits if hit)
    chosen = set(islice(dict.fromkeys([*first, *sorted(behind, key=behind.__getitem__)]), limit))
    best: dict[str, Hit] = {}
    for hit in sorted((hit for ranking in rankings for hit in ranking), key=_sort_key):
        if hit.chunk.id in chosen:
            best.setdefault(hit.chunk.id, hit)
    return list(best.values())


def _sort_key(hit: Hit) -> tuple[float, str, int, str]:
    """Sort by score, then name and position, which unlike ids do not depend on the documents' folder."""
    return (-hit.score, hit.chunk.name, hit.chunk.index, hit.chunk.id)
