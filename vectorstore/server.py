"""The vector store in a Qdrant server or cluster, through ``qdrant-client``: many processes, many machines.

A collection of Candor is one collection of Qdrant that carries its description in its metadata; others on the same
server are left alone. Owns all use of the client and its errors. What lies in a collection stands in layout.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import SecretStr

from vectorstore.errors import CollectionMismatch, StoreUnavailable
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Counts, Hit, SearchMode
from vectorstore.qdrant_schema import (
    BM25,
    CANDIDATES,
    DENSE,
    INDEXED,
    LANGUAGES,
    READING_ORDER,
    Payload,
    best,
    check_query,
    check_spec,
    check_vectors,
    chunk_of,
    conditions,
    exclusions,
    find_spec,
    hits,
    in_reading_order,
    language_of,
    payload_of,
)
from vectorstore.store import EVERYTHING, Collection, T, Vectors
from vectorstore.text.bm25 import Bm25Encoder
from vectorstore.text.languages import LANGUAGE

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

METADATA = "candor"  # the key of a collection's metadata under which its description stands
BATCH = 128  # points per request: a server takes requests of at most 32 MB
TIMEOUT = 30  # seconds


def connect(url: str, api_key: SecretStr | None) -> QdrantClient:
    """A client for the server at ``url``; does not speak to it yet."""
    from qdrant_client import QdrantClient

    key = api_key.get_secret_value() if api_key else None
    return QdrantClient(url=url, api_key=key, timeout=TIMEOUT, check_compatibility=False)


class ServerStore:
    """The collections that a client reaches."""

    def __init__(self, client: QdrantClient) -> None:
        self._client = client

    def create(self, spec: CollectionSpec) -> ServerCollection:
        """Open the collection, making it if there is none."""
        with _server():
            if self._client.collection_exists(spec.name):
                check_spec(self._described(spec.name), spec)
            else:
                self._make(spec)
            self._index(spec.name)  # every time, because whoever made the collection may have died before this
        return ServerCollection(spec, self._client)

    def open(self, name: str) -> ServerCollection:
        """Open an existing collection."""
        return ServerCollection(find_spec(name, self.list()), self._client)

    def list(self) -> list[CollectionSpec]:
        """The collections there are, by name; those that others keep on the server are not listed."""
        with _server():
            names = sorted(collection.name for collection in self._client.get_collections().collections)
            specs = [self._spec(name) for name in names]
        return [spec for spec in specs if spec is not None]

    def drop(self, name: str) -> None:
        """Delete a collection and all in it."""
        spec = find_spec(name, self.list())
        with _server():
            self._client.delete_collection(spec.name)

    def _described(self, name: str) -> CollectionSpec:
        spec = self._spec(name)
        if spec is None:
            raise CollectionMismatch(
                f"The Qdrant server has a collection {name!r} that Candor did not make. Choose another --collection."
            )
        return spec

    def _spec(self, name: str) -> CollectionSpec | None:
        metadata = self._client.get_collection(name).config.metadata or {}
        return CollectionSpec.model_validate(metadata[METADATA]) if METADATA in metadata else None

    def _make(self, spec: CollectionSpec) -> None:
        from qdrant_client import models

        self._client.create_collection(
            spec.name,
            vectors_config={DENSE: models.VectorParams(size=spec.dimension, distance=models.Distance.COSINE)},
            sparse_vectors_config={BM25: models.SparseVectorParams(modifier=models.Modifier.IDF)},
            metadata={METADATA: spec.model_dump()},
        )

    def _index(self, name: str) -> None:
        from qdrant_client import models

        for field in INDEXED:
            self._client.create_payload_index(name, field, models.PayloadSchemaType.KEYWORD, wait=True)


class ServerCollection:
    """A collection on a server. The server indexes in the background and serves any number of readers and writers."""

    def __init__(self, spec: CollectionSpec, client: QdrantClient) -> None:
        self._spec = spec
        self._client = client
        self._bm25 = Bm25Encoder()

    @property
    def spec(self) -> CollectionSpec:
        """What it was made with."""
        return self._spec

    def upsert(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Write chunks with their vectors; same id replaces. Durable on return."""
        check_vectors(self._spec, chunks, vectors)
        for start in range(0, len(chunks), BATCH):
            rows = vectors[start : start + BATCH].tolist()
            points = [self._point(chunk, row) for chunk, row in zip(chunks[start : start + BATCH], rows, strict=True)]
            with _server():
                self._client.upsert(self._spec.name, points, wait=True)

    def delete(self, where: ChunkFilter) -> None:
        """Delete the selected chunks. Durable on return."""
        with _server():
            self._client.delete(self._spec.name, _filter(where), wait=True)

    def search(
        self, mode: SearchMode, *, text: str, vector: Vectors | None, limit: int, where: ChunkFilter = EVERYTHING
    ) -> list[Hit]:
        """The best ``limit`` chunks, best first; equal scores in order of chunk id."""
        check_query(self._spec, mode, vector)
        points = self._rank(mode, text, vector, max(limit, CANDIDATES), _filter(where))
        ranking = best(((str(point.id), point.score) for point in points), limit)
        payloads = self._payloads([chunk_id for chunk_id, _ in ranking])
        return hits(ranking, payloads)

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        """Every selected chunk, once, in order of document name and position."""
        ids = iter(self._ordered_ids(where))
        while batch := list(islice(ids, BATCH)):
            payloads = self._payloads(batch)
            yield from (chunk_of(payloads[chunk_id]) for chunk_id in batch if chunk_id in payloads)

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        """How many documents and chunks are selected."""
        selected = _filter(where)
        with _server():
            chunks = self._client.count(self._spec.name, selected, exact=True).count
            documents = self._client.facet(
                self._spec.name, "document_id", facet_filter=selected, limit=max(chunks, 1), exact=True
            )
        return Counts(documents=len(documents.hits), chunks=chunks)

    def languages(self) -> dict[str, int]:
        """How many chunks there are in each language."""
        with _server():
            found = self._client.facet(self._spec.name, LANGUAGE, limit=LANGUAGES, exact=True)
        return {str(hit.value): hit.count for hit in found.hits if hit.count}

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """The dense vectors of those of the chunks that are there, by chunk id."""
        if not ids:
            return {}
        with _server():
            records = self._client.retrieve(self._spec.name, list(ids), with_payload=False, with_vectors=[DENSE])
        return {str(record.id): _dense(record.vector) for record in records}

    def steady(self, read: Callable[[Collection], T]) -> T:
        """What ``read`` finds: here, every moment is as good as another."""
        return read(self)

    def optimize(self) -> None:
        """Nothing to ask for: a server builds its indexes by itself."""

    def close(self) -> None:
        """Nothing to release: the server locks nothing, and the client belongs to whoever made it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _point(self, chunk: Chunk, vector: list[float]) -> models.PointStruct:
        from qdrant_client import models

        terms = self._bm25.passage(chunk.embedded_text, language_of(chunk))
        sparse = models.SparseVector(indices=terms.indices, values=terms.values)
        return models.PointStruct(id=chunk.id, vector={DENSE: vector, BM25: sparse}, payload=payload_of(chunk))

    def _rank(
        self, mode: SearchMode, text: str, vector: Vectors | None, depth: int, where: models.Filter
    ) -> list[models.ScoredPoint]:
        from qdrant_client import models

        rankings = self._rankings(mode, text, vector, depth, where)
        if len(rankings) == 1:
            request: dict[str, Any] = {"query": rankings[0].query, "using": rankings[0].using, "query_filter": where}
        else:
            request = {"query": models.FusionQuery(fusion=models.Fusion.DBSF), "prefetch": rankings}
        # Everything that was ranked comes back, so that a tie at the limit is decided by ``best`` and not by chance.
        limit = depth * len(rankings)
        with _server():
            return self._client.query_points(self._spec.name, **request, limit=limit, with_payload=False).points

    def _rankings(
        self, mode: SearchMode, text: str, vector: Vectors | None, depth: int, where: models.Filter
    ) -> list[models.Prefetch]:
        from qdrant_client import models

        queries: dict[str, Any] = {}
        if mode is not SearchMode.SPARSE and vector is not None:
            queries[DENSE] = vector.tolist()
        if mode is not SearchMode.DENSE:
            terms = self._bm25.query(text, self.languages())
            queries[BM25] = models.SparseVector(indices=terms.indices, values=terms.values)
        return [
            models.Prefetch(query=query, using=using, limit=depth, filter=where) for using, query in queries.items()
        ]

    def _payloads(self, ids: Sequence[str]) -> dict[str, Payload]:
        with _server():
            records = self._client.retrieve(self._spec.name, list(ids), with_payload=True)
        return {str(record.id): record.payload or {} for record in records}

    def _ordered_ids(self, where: ChunkFilter) -> list[str]:
        limit = max(self.count(where).chunks, 1)
        with _server():
            records, _ = self._client.scroll(
                self._spec.name, _filter(where), limit=limit, with_payload=list(READING_ORDER)
            )
        return in_reading_order((str(record.id), record.payload or {}) for record in records)


def _filter(where: ChunkFilter) -> models.Filter:
    from qdrant_client import models

    def matching(wanted: list[tuple[str, list[str]]]) -> list[models.Condition]:
        return [models.FieldCondition(key=key, match=models.MatchAny(any=keywords)) for key, keywords in wanted]

    return models.Filter(must=matching(conditions(where)), must_not=matching(exclusions(where)))


def _dense(vector: Any) -> Vectors:
    return np.asarray(vector[DENSE], dtype=np.float32)


@contextmanager
def _server() -> Iterator[None]:
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except ResponseHandlingException as error:
        raise StoreUnavailable(
            f"The Qdrant server does not answer: {error}. Start it (`docker run -p 6333:6333 qdrant/qdrant`) or "
            "correct the vector store's `url`; without a `url`, collections are kept in this machine's data folder."
        ) from error
    except UnexpectedResponse as error:
        if error.status_code in (401, 403):
            raise StoreUnavailable(
                "The Qdrant server refuses the API key: set the vector store's `api_key` to one that may write."
            ) from error
        raise StoreUnavailable(f"The Qdrant server refused a request: {error}") from error
