"""The base class of the collections of both stores: searches, scans and other reads with Qdrant requests."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

import numpy as np
import qdrant_edge as qdrant

from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Hit, SearchMode
from vectorstore.qdrant_schema import BM25, DENSE, Payload, chunk_language, from_payload, validate_query
from vectorstore.ranking import DIGITS, Nearest, Points, Scores, Speller, rank, score, with_attention
from vectorstore.store import EVERYTHING, Collection, Query, Vectors, batches
from vectorstore.text.bm25 import Bm25Encoder

SessionT = TypeVar("SessionT")


class QdrantCollection(Collection, Generic[SessionT]):
    """Reads a collection with requests that subclasses send in a session. ``batch`` is the number of points of each."""

    batch: int

    def __init__(self, spec: CollectionSpec) -> None:
        self._spec = spec
        self._bm25 = Bm25Encoder()

    @property
    def spec(self) -> CollectionSpec:
        return self._spec

    def search(self, mode: SearchMode, query: Query, limit: int, where: ChunkFilter = EVERYTHING) -> list[Hit]:
        validate_query(self._spec, mode, query.vector)
        languages = {} if mode is SearchMode.MEANING else self.languages(exact=False)
        words = with_attention(self._bm25.words(query.text, languages) if languages else [], query)
        with self._session("search") as session:
            speller = Speller(
                lambda wanted: self._ask(session, wanted, EVERYTHING),
                lambda ids: _texts(self._retrieve(session, ids, payload=True)),
                lambda word, spellings: self._bm25.respelt(word, spellings, languages),
                sum(languages.values()),
            )
            scores = score(lambda wanted: self._ask(session, wanted, where), mode, query, words, limit, speller)
        return self._hits(scores, limit)

    def _hits(self, scores: Scores, limit: int) -> list[Hit]:
        """Return the best ``limit`` chunks. Leaves out chunks deleted between the search and the read."""
        ranking = scores.compared(limit)
        payloads = self._payloads(list(ranking))
        chunks = {each: from_payload(payloads[each]) for each in ranking if each in payloads}
        exact = scores.exact([chunk.indexed_text for chunk in chunks.values()])
        as_written = dict(zip(chunks, exact, strict=True))
        best = rank(((each, round(ranking[each] + more, DIGITS)) for each, more in as_written.items()), limit)
        terms = self._indexed_terms([each for each, _ in best])  # many more passages are compared than found
        words = {each: scores.words_in(terms.get(each, ())) for each, _ in best}
        return [
            Hit(
                chunk=chunks[each],
                score=score,
                words=words[each],
                cosine=scores.cosines.get(each),
                bm25=scores.bm25_of(each),
                best_bm25=scores.best_bm25,
                rare=scores.rare[each] + as_written[each],
                exact=scores.is_exact(scores.rare[each] + as_written[each], words[each]),
                respelt=scores.respelt,
            )
            for each, score in best
        ]

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        return self._chunks(self._ordered_ids(where))

    def _chunks(self, ids: Sequence[str]) -> Iterator[Chunk]:
        """Yield the chunks with these ids. Leaves out chunks deleted meanwhile."""
        for some in batches(ids, self.batch):
            payloads = self._payloads(some)
            yield from (from_payload(payloads[each]) for each in some if each in payloads)

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        records = self._read(ids, vectors=(DENSE,))
        return {str(record.id): np.asarray(record.vector[DENSE], dtype=np.float32) for record in records}

    def missing(self, ids: Sequence[str]) -> list[str]:
        found = {str(record.id) for record in self._read(ids)}
        return [each for each in ids if each not in found]

    @abstractmethod
    def _session(self, action: str) -> AbstractContextManager[SessionT]:
        """Keep the collection usable until the end of the block. ``action`` is a word for errors."""

    @abstractmethod
    def _ask(self, session: SessionT, wanted: Sequence[Nearest], where: ChunkFilter) -> Sequence[Points]:
        """Answer the requests of a search."""

    @abstractmethod
    def _retrieve(
        self, session: SessionT, ids: Sequence[str], *, payload: bool = False, vectors: Sequence[str] = ()
    ) -> Sequence[Any]:
        """Return the points with these ids that exist, with their payload and these vectors."""

    @abstractmethod
    def _ordered_ids(self, where: ChunkFilter) -> list[str]:
        """Return the ids of the selected chunks in the order of a scan."""

    def _analysed(self) -> Iterator[list[tuple[str, qdrant.SparseVector]]]:
        """Yield the ids of all chunks with the terms of their texts, in batches."""
        for some in batches(self._ordered_ids(EVERYTHING), self.batch):
            chunks = map(from_payload, self._payloads(some).values())
            yield [(chunk.id, self._terms(chunk)) for chunk in chunks]

    def _terms(self, chunk: Chunk) -> qdrant.SparseVector:
        return self._bm25.passage(chunk.indexed_text, chunk_language(chunk))

    def _read(self, ids: Sequence[str], *, payload: bool = False, vectors: Sequence[str] = ()) -> Sequence[Any]:
        if not ids:
            return ()
        with self._session("read") as session:
            return self._retrieve(session, ids, payload=payload, vectors=vectors)

    def _payloads(self, ids: Sequence[str]) -> dict[str, Payload]:
        return {str(record.id): record.payload or {} for record in self._read(ids, payload=True)}

    def _indexed_terms(self, ids: Sequence[str]) -> dict[str, Sequence[int]]:
        return {str(record.id): _indices(record.vector) for record in self._read(ids, vectors=(BM25,))}


def _texts(records: Sequence[Any]) -> Iterator[str]:
    return (from_payload(record.payload or {}).indexed_text for record in records)


def _indices(vector: Any) -> Sequence[int]:
    return vector[BM25].indices if BM25 in vector else ()
