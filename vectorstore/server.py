"""The vector store in a Qdrant server or cluster, through ``qdrant-client``.

A collection of Candor is a Qdrant collection with its specification in the metadata. Other collections on the server
are ignored. Only this module uses the client and its errors. ``qdrant_schema.py`` defines payloads and filters.
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
from vectorstore.owner import Owner, foreign
from vectorstore.qdrant_schema import (
    BM25,
    CANDIDATES,
    DENSE,
    INDEXED_FIELDS,
    MAX_LANGUAGES,
    ORDER_FIELDS,
    POSITION,
    Payload,
    chunk_language,
    excluded_keywords,
    find_spec,
    from_payload,
    rank,
    require_same_spec,
    required_keywords,
    sort_ids,
    to_hits,
    to_payload,
    validate_query,
    validate_vectors,
)
from vectorstore.store import EVERYTHING, Collection, T, Vectors
from vectorstore.text.bm25 import Bm25Encoder
from vectorstore.text.languages import LANGUAGE

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

METADATA = "candor"  # the metadata key of the specification
OWNER = "candor_owner"  # the metadata key of the database that owns the collection
BATCH = 128  # points per request; a server accepts at most 32 MB
TIMEOUT = 30  # seconds


def connect(url: str, api_key: SecretStr | None) -> QdrantClient:
    """Return a client for the server at ``url``, without connecting."""
    from qdrant_client import QdrantClient

    key = api_key.get_secret_value() if api_key else None
    return QdrantClient(url=url, api_key=key, timeout=TIMEOUT, check_compatibility=False)


class ServerStore:
    """The collections on a server. Without an ``owner``, all of them may be changed."""

    def __init__(self, client: QdrantClient, owner: Owner | None = None) -> None:
        self._client, self._owner = client, owner

    def create(self, spec: CollectionSpec) -> ServerCollection:
        """Open the collection, creating it if it does not exist."""
        with _server():
            if self._client.collection_exists(spec.name):
                require_same_spec(self._require_spec(spec.name), spec)
                self.claim(spec.name)
            else:
                self._create(spec)
            self._create_indexes(spec.name)  # always: the process that created the collection may have died before this
        return ServerCollection(spec, self._client)

    def open(self, name: str) -> ServerCollection:
        """Open an existing collection."""
        return ServerCollection(find_spec(name, self.list()), self._client)

    def list(self) -> list[CollectionSpec]:
        """Return the specifications of all collections of Candor on the server, by name."""
        with _server():
            names = sorted(collection.name for collection in self._client.get_collections().collections)
            specs = [self._spec(name) for name in names]
        return [spec for spec in specs if spec is not None]

    def drop(self, name: str) -> None:
        """Delete a collection and its contents."""
        spec = find_spec(name, self.list())
        self.claim(spec.name)
        with _server():
            self._client.delete_collection(spec.name)

    def claim(self, name: str, *, take_over: bool = False) -> None:
        """Require that the database of this process owns the collection. A missing collection has no owner."""
        if self._owner is None:
            return
        with _server():
            if not self._client.collection_exists(name):
                return
            owner = (self._client.get_collection(name).config.metadata or {}).get(OWNER, "")
            if owner == self._owner.id:
                return
            spec = self._require_spec(name)
            # Collections of earlier versions have no owner. The first database that knows them becomes the owner.
            if not take_over and (owner or not (self._owner.knows(spec.collection) or self._is_empty(name))):
                raise foreign(spec.collection, owner)
            self._client.update_collection(name, metadata={OWNER: self._owner.id})

    def _is_empty(self, name: str) -> bool:
        return not self._client.count(name, exact=True).count

    def _require_spec(self, name: str) -> CollectionSpec:
        spec = self._spec(name)
        if spec is None:
            raise CollectionMismatch(
                f"The Qdrant server has a collection {name!r} that Candor did not create. Choose another --collection."
            )
        return spec

    def _spec(self, name: str) -> CollectionSpec | None:
        metadata = self._client.get_collection(name).config.metadata or {}
        return CollectionSpec.model_validate(metadata[METADATA]) if METADATA in metadata else None

    def _create(self, spec: CollectionSpec) -> None:
        from qdrant_client import models

        self._client.create_collection(
            spec.name,
            vectors_config={DENSE: models.VectorParams(size=spec.dimension, distance=models.Distance.COSINE)},
            sparse_vectors_config={BM25: models.SparseVectorParams(modifier=models.Modifier.IDF)},
            metadata={METADATA: spec.model_dump()} | ({OWNER: self._owner.id} if self._owner else {}),
        )

    def _create_indexes(self, name: str) -> None:
        from qdrant_client import models

        for field in INDEXED_FIELDS:
            self._client.create_payload_index(name, field, models.PayloadSchemaType.KEYWORD, wait=True)


class ServerCollection:
    """A collection on a server, for any number of readers and writers."""

    def __init__(self, spec: CollectionSpec, client: QdrantClient) -> None:
        self._spec = spec
        self._client = client
        self._bm25 = Bm25Encoder()

    @property
    def spec(self) -> CollectionSpec:
        """The specification it was created with."""
        return self._spec

    @property
    def closed(self) -> bool:
        """Always False, because requests to a server need no open collection."""
        return False

    def upsert(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Write chunks with their vectors. Replaces chunks with the same id. Durable on return."""
        validate_vectors(self._spec, chunks, vectors)
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
        validate_query(self._spec, mode, vector)
        points = self._rank(mode, text, vector, max(limit, CANDIDATES), _filter(where))
        ranking = rank(((str(point.id), point.score) for point in points), limit)
        payloads = self._payloads([chunk_id for chunk_id, _ in ranking])
        return to_hits(ranking, payloads)

    def scan(self, where: ChunkFilter = EVERYTHING) -> Iterator[Chunk]:
        ids = iter(self._ordered_ids(where))
        while batch := list(islice(ids, BATCH)):
            payloads = self._payloads(batch)
            yield from (from_payload(payloads[chunk_id]) for chunk_id in batch if chunk_id in payloads)

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        selected = _filter(where)
        with _server():
            chunks = self._client.count(self._spec.name, selected, exact=True).count
            documents = self._client.facet(
                self._spec.name, "document_id", facet_filter=selected, limit=max(chunks, 1), exact=True
            )
        return Counts(documents=len(documents.hits), chunks=chunks)

    def languages(self) -> dict[str, int]:
        with _server():
            found = self._client.facet(self._spec.name, LANGUAGE, limit=MAX_LANGUAGES, exact=True)
        return {str(hit.value): hit.count for hit in found.hits if hit.count}

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        if not ids:
            return {}
        with _server():
            records = self._client.retrieve(self._spec.name, list(ids), with_payload=False, with_vectors=[DENSE])
        return {str(record.id): _dense(record.vector) for record in records}

    def missing(self, ids: Sequence[str]) -> list[str]:
        from qdrant_client import models

        given = models.Filter(must=[models.HasIdCondition(has_id=list(ids))])
        with _server():
            # Usually none is missing. Then counting takes a third of the time of retrieving.
            if self._client.count(self._spec.name, given, exact=True).count == len(set(ids)):
                return []
            records = self._client.retrieve(self._spec.name, list(ids), with_payload=False, with_vectors=False)
        found = {str(record.id) for record in records}
        return [each for each in ids if each not in found]

    def consistent_read(self, read: Callable[[Collection], T]) -> T:
        """Return ``read(self)``. Only wrappers that hide chunks read more than once."""
        return read(self)

    def optimize(self) -> None:
        """Do nothing. The server builds indexes in the background."""

    def close(self) -> None:
        """Do nothing. The server has no locks, and the store closes the client."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _point(self, chunk: Chunk, vector: list[float]) -> models.PointStruct:
        from qdrant_client import models

        terms = self._bm25.passage(chunk.embedded_text, chunk_language(chunk))
        sparse = models.SparseVector(indices=terms.indices, values=terms.values)
        return models.PointStruct(id=chunk.id, vector={DENSE: vector, BM25: sparse}, payload=to_payload(chunk))

    def _rank(
        self, mode: SearchMode, text: str, vector: Vectors | None, depth: int, where: models.Filter
    ) -> list[models.ScoredPoint]:
        from qdrant_client import models

        rankings = self._rankings(mode, text, vector, depth, where)
        if len(rankings) == 1:
            request: dict[str, Any] = {"query": rankings[0].query, "using": rankings[0].using, "query_filter": where}
        else:
            request = {"query": models.FusionQuery(fusion=models.Fusion.DBSF), "prefetch": rankings}
        # All ranked points are returned, so that ``rank`` decides ties at the limit.
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
                self._spec.name, _filter(where), limit=limit, with_payload=list(ORDER_FIELDS)
            )
        return sort_ids((str(record.id), record.payload or {}) for record in records)


def _filter(where: ChunkFilter) -> models.Filter:
    from qdrant_client import models

    def match(pairs: list[tuple[str, list[str]]]) -> list[models.Condition]:
        return [models.FieldCondition(key=key, match=models.MatchAny(any=keywords)) for key, keywords in pairs]

    required = match(required_keywords(where))
    if where.positions:
        first, last = where.positions
        required.append(models.FieldCondition(key=POSITION, range=models.Range(gte=first, lte=last)))
    return models.Filter(must=required, must_not=match(excluded_keywords(where)))


def _dense(vector: Any) -> Vectors:
    return np.asarray(vector[DENSE], dtype=np.float32)


@contextmanager
def _server() -> Iterator[None]:
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except ResponseHandlingException as error:
        raise StoreUnavailable(
            f"The Qdrant server does not respond: {error}. Start it (`docker run -p 6333:6333 qdrant/qdrant`) or "
            "correct the vector store's `url`. Without a `url`, collections are stored in the local data folder."
        ) from error
    except UnexpectedResponse as error:
        if error.status_code in (401, 403):
            raise StoreUnavailable(
                "The Qdrant server rejects the API key. Set the vector store's `api_key` to one with write permission."
            ) from error
        raise StoreUnavailable(f"The Qdrant server rejected a request: {error}") from error
