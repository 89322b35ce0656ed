"""The vector store in a Qdrant server or cluster, through ``qdrant-client``.

A collection of Candor is a Qdrant collection with its specification in the metadata. Other collections on the server
are ignored. ``qdrant_server/`` sends requests. ``qdrant_schema.py`` defines payloads and filters.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cached_property
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import SecretStr

from vectorstore.errors import CollectionMismatch, CollectionNotFound, ForeignCollection, StoreUnavailable
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Counts, UnreadableCollection
from vectorstore.qdrant_collection import QdrantCollection
from vectorstore.qdrant_schema import (
    BM25,
    DENSE,
    INDEXED_FIELDS,
    MAX_LANGUAGES,
    ORDER_FIELDS,
    Payload,
    require_same_spec,
    sort_ids,
    to_payload,
    validate_vectors,
)
from vectorstore.qdrant_server.connection import ServerConnection, limit_times, properties, to_filter
from vectorstore.ranking import Nearest, Points
from vectorstore.settings import VectorStoreSettings
from vectorstore.store import EVERYTHING, Vectors, require_spec
from vectorstore.text.bm25 import ANALYSIS
from vectorstore.text.language_counts import LanguageCounts
from vectorstore.text.languages import LANGUAGE

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

log = logging.getLogger(__name__)

METADATA = "candor"  # the metadata key of the specification
NO_COLLECTION = "candor-no-collection"  # it does not exist
OWNER = "candor_owner"  # the metadata key of the database that owns the collection
WORDS = "candor_words"  # the metadata key of the analysis of the indexed words (text/bm25.py)
PAGE = 5_000  # ids per request of a scan
LANGUAGES_TTL_S = 60  # how long a search may miss a language that another process has added
OVERSAMPLING = 2.0  # candidates that are compared by their full vectors, if the collection is quantized


def connect(url: str, api_key: SecretStr | None, *, timeout_s: float = 30, retry_s: float = 30) -> ServerConnection:
    """Return a connection to the nodes at the URLs, which are separated by commas. Sends no request yet."""
    from qdrant_client import QdrantClient

    key = api_key.get_secret_value() if api_key else None
    hooks: dict[str, Any] = {"event_hooks": {"request": [limit_times]}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a key without TLS, which `candor doctor` reports
        clients = {
            node.strip(): QdrantClient(
                url=node.strip(), api_key=key, timeout=math.ceil(timeout_s), check_compatibility=False, **hooks
            )
            for node in url.split(",")
        }
    return ServerConnection(clients, retry_s)


class Owner:
    """The SQL database of this process, which lists the documents of the collections that it owns.

    Several processes share a server and a database. If they used one collection with different databases, each would
    delete or replace documents that it does not know. ``knows`` returns whether it lists documents of a collection.
    """

    def __init__(self, read_id: Callable[[], str], knows: Callable[[str], bool]) -> None:
        self._read_id, self.knows = read_id, knows

    @cached_property
    def id(self) -> str:
        """The id of the database, read on first use."""
        return self._read_id()


class ServerStore:
    """The collections on a server. Without an ``owner``, all of them may be changed.

    ``settings`` has the properties of new collections.
    """

    def __init__(
        self, server: ServerConnection, owner: Owner | None = None, settings: VectorStoreSettings | None = None
    ) -> None:
        self._server, self._owner, self._settings = server, owner, settings or VectorStoreSettings()
        self._languages: defaultdict[str, LanguageCounts] = defaultdict(lambda: LanguageCounts(LANGUAGES_TTL_S))

    def create(self, spec: CollectionSpec) -> ServerCollection:
        if spec.name not in self._names():
            self._create(spec)
        require_same_spec(self._require_ours(spec.name), spec)
        self.claim(spec.name)
        self._index_words(spec)
        self._create_indexes(spec.name)  # always: the process that created the collection may have died before this
        return self._collection(spec)

    def open(self, name: str) -> ServerCollection:
        spec = require_spec(self, name)
        self._index_words(spec)
        return self._collection(spec)

    def require_writable(self) -> None:
        """Raise StoreUnavailable if the server cannot be reached, or the key does not allow to write."""
        with suppress(CollectionNotFound):  # other requests are agreed on by all nodes, or name the collection first
            self._server.call(lambda client: client.create_snapshot(NO_COLLECTION), write=True)

    def find(self, name: str) -> CollectionSpec | None:
        """Return the specification of a collection. None if it does not exist or another program created it."""
        return self._spec(name) if name in self._names() else None

    def list(self) -> list[CollectionSpec | UnreadableCollection]:
        """Return the specifications of all collections of Candor on the server, by name."""
        return [each for name in self._names() if (each := self._list_one(name)) is not None]

    def drop(self, name: str) -> None:
        spec = require_spec(self, name)
        self.claim(spec.name)
        self._server.call(lambda client: client.delete_collection(spec.name), write=True)
        self._languages.pop(spec.name, None)

    def claim(self, name: str, *, take_over: bool = False) -> None:
        """Require that the database of this process owns the collection. A missing collection has no owner."""
        if self._owner is None or name not in self._names():
            return
        new, owner = self._owner.id, self._metadata(name).get(OWNER, "")
        if owner == new:
            return
        spec = self._require_ours(name)
        # Collections of earlier versions have no owner. The first database that knows them becomes the owner.
        if not take_over and (owner or not (self._owner.knows(spec.collection) or self._is_empty(name))):
            raise _foreign(spec.collection, owner)
        self._server.call(lambda client: client.update_collection(name, metadata={OWNER: new}), write=True)

    def _index_words(self, spec: CollectionSpec) -> None:
        """Index the words of the collection again if another version did, unless it belongs to another database."""
        metadata = self._metadata(spec.name)
        if metadata.get(WORDS) == ANALYSIS or (self._owner and metadata.get(OWNER, self._owner.id) != self._owner.id):
            return
        self._collection(spec).index_words()
        self._server.call(lambda client: client.update_collection(spec.name, metadata={WORDS: ANALYSIS}), write=True)

    def _is_empty(self, name: str) -> bool:
        return not self._server.call(lambda client: client.count(name, exact=True)).count

    def _collection(self, spec: CollectionSpec) -> ServerCollection:
        languages = self._languages[spec.name]
        languages.forget()  # another process may have written since the last use
        return ServerCollection(spec, self._server, languages)

    def _names(self) -> Sequence[str]:
        """Return the names of all collections, also those of other programs, without reading the collections."""
        listed = self._server.call(lambda client: client.get_collections())
        return sorted(collection.name for collection in listed.collections)

    def _list_one(self, name: str) -> CollectionSpec | UnreadableCollection | None:
        try:
            return self._spec(name, retry=False)
        except CollectionNotFound:  # deleted since the names were read
            return None
        except StoreUnavailable as error:
            return UnreadableCollection(name=name, reason=str(error))

    def _require_ours(self, name: str) -> CollectionSpec:
        spec = self._spec(name)
        if spec is None:
            raise CollectionMismatch(
                f"The Qdrant server has a collection {name!r} that Candor did not create. Choose another --collection."
            )
        return spec

    def _spec(self, name: str, *, retry: bool = True) -> CollectionSpec | None:
        metadata = self._metadata(name, retry=retry)
        return CollectionSpec.model_validate(metadata[METADATA]) if METADATA in metadata else None

    def _metadata(self, name: str, *, retry: bool = True) -> Payload:
        return self._server.call(lambda client: client.get_collection(name), retry=retry).config.metadata or {}

    def _create(self, spec: CollectionSpec) -> None:
        from qdrant_client.http.exceptions import UnexpectedResponse

        metadata = {METADATA: spec.model_dump(), WORDS: ANALYSIS} | ({OWNER: self._owner.id} if self._owner else {})
        wanted = properties(spec.dimension, self._settings)

        def create(client: QdrantClient) -> None:
            try:
                client.create_collection(spec.name, **wanted, metadata=metadata)
            except UnexpectedResponse as error:
                if error.status_code != 409:  # created by an earlier attempt or another process
                    raise

        self._server.call(create, write=True)

    def _create_indexes(self, name: str) -> None:
        from qdrant_client import models

        keyword = models.PayloadSchemaType.KEYWORD
        for field in INDEXED_FIELDS:
            self._server.call(methodcaller("create_payload_index", name, field, keyword, wait=True), write=True)


class ServerCollection(QdrantCollection[ServerConnection]):
    """A collection on a server, for any number of readers and writers."""

    batch = 128  # a server accepts at most 32 MB

    def __init__(self, spec: CollectionSpec, server: ServerConnection, languages: LanguageCounts) -> None:
        super().__init__(spec)
        self._server, self._languages = server, languages

    @property
    def closed(self) -> bool:
        """Always False, because requests to a server need no open collection."""
        return False

    def upsert(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        validate_vectors(self._spec, chunks, vectors)
        for start in range(0, len(chunks), self.batch):
            rows = vectors[start : start + self.batch].tolist()
            points = [
                self._point(chunk, row) for chunk, row in zip(chunks[start : start + self.batch], rows, strict=True)
            ]
            self._write(methodcaller("upsert", self._spec.name, points, wait=True))

    def delete(self, where: ChunkFilter) -> None:
        self._write(lambda client: client.delete(self._spec.name, to_filter(where), wait=True))

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        selected = to_filter(where)
        chunks = self._server.call(lambda client: client.count(self._spec.name, selected, exact=True)).count
        documents = self._server.call(
            lambda client: client.facet(
                self._spec.name, "document_id", facet_filter=selected, limit=max(chunks, 1), exact=True
            )
        )
        return Counts(documents=len(documents.hits), chunks=chunks)

    def languages(self, *, exact: bool = True) -> dict[str, int]:
        """Return the number of chunks per language. With ``exact``, of the node that has the fewest."""
        kept = self._languages.get(lambda: self._server.call(self._count_languages))  # exact for one node
        copies = self._server.ask_all(self._count_languages) if exact else {}
        return min((kept, *copies.values()), key=lambda counts: sum(counts.values()))

    def missing(self, ids: Sequence[str]) -> list[str]:
        """Return the ids that no chunk has, or none in the copy of one of the nodes."""
        from qdrant_client import models

        given = models.Filter(must=[models.HasIdCondition(has_id=list(ids))])
        # Usually none is missing. Then counting takes a third of the time of retrieving.
        count = methodcaller("count", self._spec.name, given, exact=True)
        if self._server.call(count).count < len(set(ids)):
            return super().missing(ids)
        lacking = [url for url, counted in self._server.ask_all(count).items() if counted.count < len(set(ids))]
        if not lacking:
            return []
        log.warning("Copies of the collection %r at %s lack passages.", self._spec.name, " and ".join(lacking))
        found = self._server.ask_all(lambda client: client.retrieve(self._spec.name, list(ids), with_payload=False))
        in_all = set(ids).intersection(*({str(record.id) for record in records} for records in found.values()))
        return [each for each in ids if each not in in_all]

    def close(self) -> None:
        """Do nothing. The server has no locks, and the store closes the client."""

    def index_words(self) -> None:
        """Index the words of all stored texts again. Dense vectors are kept. Durable on return."""
        from qdrant_client import models

        for some in self._analysed():
            points = [models.PointVectors(id=chunk_id, vector={BM25: _sparse(terms)}) for chunk_id, terms in some]
            self._write(methodcaller("update_vectors", self._spec.name, points, wait=True))

    def _write(self, request: Callable[[QdrantClient], object]) -> None:
        try:
            self._server.call(request, write=True)
        finally:  # a failed request may have changed the collection
            self._languages.forget()

    def _count_languages(self, client: QdrantClient) -> dict[str, int]:
        found = client.facet(self._spec.name, LANGUAGE, limit=MAX_LANGUAGES, exact=True)
        return {str(hit.value): hit.count for hit in found.hits if hit.count}

    def _point(self, chunk: Chunk, vector: list[float]) -> models.PointStruct:
        from qdrant_client import models

        return models.PointStruct(
            id=chunk.id, vector={DENSE: vector, BM25: _sparse(self._terms(chunk))}, payload=to_payload(chunk)
        )

    def _ask(self, session: ServerConnection, wanted: Sequence[Nearest], where: ChunkFilter) -> Sequence[Points]:
        selected = to_filter(where)
        requests = [self._request(each, selected) for each in wanted]
        answers = session.call(lambda client: client.query_batch_points(self._spec.name, requests))
        return [answer.points for answer in answers]

    def _request(self, wanted: Nearest, where: models.Filter) -> models.QueryRequest:
        from qdrant_client import models

        if isinstance(wanted.query, np.ndarray):
            rescore = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
            params = models.SearchParams(quantization=rescore)  # without effect unless the vectors are quantized
            vector = wanted.query.tolist()
            return models.QueryRequest(query=vector, using=DENSE, limit=wanted.limit, filter=where, params=params)
        sparse = _sparse(self._bm25.query(wanted.query))
        return models.QueryRequest(query=sparse, using=BM25, limit=wanted.limit, filter=where)

    def _session(self, action: str) -> AbstractContextManager[ServerConnection]:
        return nullcontext(self._server)

    def _retrieve(
        self, session: ServerConnection, ids: Sequence[str], *, payload: bool = False, vectors: Sequence[str] = ()
    ) -> Sequence[Any]:
        wanted = list(vectors) or False
        return session.call(
            lambda client: client.retrieve(self._spec.name, list(ids), with_payload=payload, with_vectors=wanted)
        )

    def _ordered_ids(self, where: ChunkFilter) -> list[str]:
        selected = to_filter(where)
        found, following = self._scroll(selected)
        while following is not None:
            records, following = self._scroll(selected, following)
            found += records
        return sort_ids((str(record.id), record.payload or {}) for record in found)

    def _scroll(self, where: models.Filter, after: Any = None) -> tuple[list[models.Record], Any]:
        """Return points with the fields that order them, and the id that the next page begins with."""
        fields = list(ORDER_FIELDS)
        return self._server.call(
            lambda client: client.scroll(self._spec.name, where, limit=PAGE, offset=after, with_payload=fields)
        )


def _foreign(name: str, owner: str) -> ForeignCollection:
    """Return the error for a collection of another database. ``owner`` is the id of that one; empty if unknown."""
    database = f"database {owner[:8]}" if owner else "an unknown database"
    return ForeignCollection(
        f"Collection {name!r} on the Qdrant server belongs to {database}, so Candor with this database cannot change "
        "it. Set CANDOR_DATABASE_URL to the database that it belongs to, or choose another collection name."
    ).with_command(f"If that database is lost, `candor adopt {name}` makes the current one the owner.")


def _sparse(terms: Any) -> models.SparseVector:
    from qdrant_client import models

    return models.SparseVector(indices=terms.indices, values=terms.values)
