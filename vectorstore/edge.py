"""The embedded vector store: Qdrant Edge in this process, with one folder per collection.

    FOLDER/papers/collection.json   the specification; written last, so without it the collection is incomplete
    FOLDER/papers/shard/            Qdrant's segments and write-ahead log; see optimizer.py for its copies
    FOLDER/papers.lock, .owner      see lock.py

Only this module uses the engine, its errors and its files. ``qdrant_schema.py`` defines payloads and filters.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
import qdrant_edge as qdrant

from vectorstore.disk import check_space, disk_errors, used_space
from vectorstore.errors import CollectionClosed, StoreUnavailable
from vectorstore.lock import CollectionLock
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Counts, Hit, SearchMode, UnreadableCollection
from vectorstore.optimizer import complete_replacement, optimize_copy, remove_part, use_copy
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
from vectorstore.spec_file import SPEC, collections_in, list_one, read_spec, write_spec
from vectorstore.store import EVERYTHING, Collection, T, Vectors, require_spec
from vectorstore.text.bm25 import Bm25Encoder
from vectorstore.text.language_counts import LanguageCounts
from vectorstore.text.languages import LANGUAGE

SHARD = "shard"
BATCH = 256  # points per call; bounds memory, and what is lost when the process dies
RESERVE = 256 * 2**20  # the engine maps files of 32 MiB: on a full disk the process would die by SIGBUS


class EdgeStore:
    """Collections in a local folder. Writes fail when less than ``reserve`` bytes of disk space are free."""

    def __init__(self, folder: Path, *, reserve: int = RESERVE) -> None:
        self._folder = folder
        self._reserve = reserve

    def create(self, spec: CollectionSpec) -> EdgeCollection:
        """Open the collection, creating it if it does not exist."""
        path = self._folder / spec.name
        with disk_errors(path), ExitStack() as undo:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = CollectionLock(path)
            undo.callback(lock.release)
            check_space(path, self._reserve)
            if (path / SPEC).exists():
                require_same_spec(read_spec(path), spec)
                shard = _load(path)
            else:
                shard = _create(path, spec)
            undo.pop_all()
        return EdgeCollection(spec, path, shard, lock, self._reserve)

    def open(self, name: str) -> EdgeCollection:
        """Open an existing collection."""
        return self.create(require_spec(self, name))

    def claim(self, name: str, *, take_over: bool = False) -> None:
        """Do nothing. A collection in a folder has no owner."""

    def find(self, name: str) -> CollectionSpec | None:
        """Return the specification of a collection, or None if it does not exist."""
        return next((read_spec(path) for path in collections_in(self._folder) if path.name == name), None)

    def list(self) -> list[CollectionSpec | UnreadableCollection]:
        """Return the specifications of all collections, by name. Damaged ones are listed with the reason."""
        return [list_one(path) for path in collections_in(self._folder)]

    def drop(self, name: str) -> None:
        """Delete a collection and its contents."""
        path = self._folder / require_spec(self, name).name
        with disk_errors(path), ExitStack() as undo:
            lock = CollectionLock(path)
            undo.callback(lock.release)
            (path / SPEC).unlink()  # first, so that an interrupted drop leaves an incomplete collection
            shutil.rmtree(path)


class EdgeCollection:
    """An open embedded collection. The engine searches in parallel and serializes writes."""

    def __init__(
        self, spec: CollectionSpec, path: Path, shard: qdrant.EdgeShard, lock: CollectionLock, reserve: int
    ) -> None:
        self._spec = spec
        self._path = path
        self._open_shard: qdrant.EdgeShard | None = shard
        self._active_calls = 0  # calls in the engine; it must not be closed during one
        self._idle = threading.Condition()
        self._replacing = False  # whether calls wait until an optimized shard has replaced the open one
        self._writing = threading.Lock()  # held while chunks are written or the shard is optimized
        self._lock = lock
        self._reserve = reserve
        self._bm25 = Bm25Encoder()
        self._languages = LanguageCounts()

    @property
    def spec(self) -> CollectionSpec:
        """The specification it was created with."""
        return self._spec

    @property
    def closed(self) -> bool:
        """Whether calls raise CollectionClosed."""
        return self._open_shard is None

    def upsert(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Write chunks with their vectors. Replaces chunks with the same id. Durable on return."""
        validate_vectors(self._spec, chunks, vectors)
        with self._writing:
            for start in range(0, len(chunks), BATCH):
                batch, rows = chunks[start : start + BATCH], vectors[start : start + BATCH].tolist()
                points = [self._point(chunk, row) for chunk, row in zip(batch, rows, strict=True)]
                self._write(qdrant.UpdateOperation.upsert_points(points))
            self._flush()

    def delete(self, where: ChunkFilter) -> None:
        """Delete the selected chunks. Durable on return."""
        with self._writing:
            self._write(qdrant.UpdateOperation.delete_points_by_filter(_filter(where)))
            self._flush()

    def search(
        self, mode: SearchMode, *, text: str, vector: Vectors | None, limit: int, where: ChunkFilter = EVERYTHING
    ) -> list[Hit]:
        validate_query(self._spec, mode, vector)
        depth = max(limit, CANDIDATES)
        request = self._request(mode, text, vector, depth, _filter(where))
        with self._engine("search") as shard:
            points = shard.query(request)
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
        with self._engine("count") as shard:
            chunks = shard.count(qdrant.CountRequest(filter=selected))
            documents = shard.facet(
                qdrant.FacetRequest("document_id", limit=max(chunks, 1), exact=True, filter=selected)
            )
        return Counts(documents=len(documents.hits), chunks=chunks)

    def languages(self) -> dict[str, int]:
        return self._languages.get(self._count_languages)

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        if not ids:
            return {}
        with self._engine("read") as shard:
            records = shard.retrieve(list(ids), with_payload=False, with_vector=[DENSE])
        return {str(record.id): _dense(record.vector) for record in records}

    def missing(self, ids: Sequence[str]) -> list[str]:
        with self._engine("read") as shard:
            found = {str(record.id) for record in shard.retrieve(list(ids), with_payload=False, with_vector=False)}
        return [each for each in ids if each not in found]

    def consistent_read(self, read: Callable[[Collection], T]) -> T:
        """Return ``read(self)``. Only wrappers that hide chunks read more than once."""
        return read(self)

    def optimize(self) -> None:
        """Merge segments, and build the HNSW index where there are enough vectors. Searches go on; writes wait."""
        with self._writing, disk_errors(self._path):
            # A copy is made, and new segments are written before the old ones are deleted.
            check_space(self._path, self._reserve + 2 * used_space(self._path))
            self._flush()
            optimize_copy(self._path / SHARD)
            self._use_copy()

    def close(self) -> None:
        """Wait for active calls, then flush and release the collection. May be called again."""
        with self._idle:
            shard, self._open_shard = self._open_shard, None  # from now on, calls raise CollectionClosed
            self._idle.wait_for(lambda: not self._active_calls)
        if shard is not None:
            with self._writing:  # wait for the end of an optimization, whose copy is not used
                try:
                    with _engine("flush", self._path):
                        shard.flush()
                finally:
                    shard.close()
                    self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _engine(self, action: str) -> Iterator[qdrant.EdgeShard]:
        """Keep the engine open until the end of the block. Raises CollectionClosed."""
        with self._idle:
            self._idle.wait_for(lambda: not self._replacing)
            shard = self._require_open()
            self._active_calls += 1
        try:
            with _engine(action, self._path):
                yield shard
        finally:
            with self._idle:
                self._active_calls -= 1
                self._idle.notify_all()

    def _require_open(self) -> qdrant.EdgeShard:
        if self._open_shard is None:
            raise CollectionClosed(
                f"Collection {self._spec.name!r} is closed: it was deleted, or Candor is shutting down."
            )
        return self._open_shard

    def _use_copy(self) -> None:
        """Replace the shard by its optimized copy, between two calls. Other calls wait until the copy is loaded."""
        with self._idle:
            self._replacing = True
            try:
                self._idle.wait_for(lambda: not self._active_calls)
            finally:
                self._replacing = False
                self._idle.notify_all()
            self._require_open().close()
            self._open_shard = None  # if the rest fails, the collection can be opened again
            with ExitStack() as undo:
                undo.callback(self._lock.release)
                use_copy(self._path / SHARD)
                self._open_shard = _load(self._path)
                undo.pop_all()

    def _write(self, operation: qdrant.UpdateOperation) -> None:
        check_space(self._path, self._reserve)
        with self._engine("write") as shard:
            shard.update(operation)
        self._languages.forget()

    def _flush(self) -> None:
        """Make earlier writes survive a power cut; they survive the end of the process without it."""
        with self._engine("flush") as shard:
            shard.flush()

    def _count_languages(self) -> dict[str, int]:
        with self._engine("count") as shard:
            found = shard.facet(qdrant.FacetRequest(LANGUAGE, limit=MAX_LANGUAGES, exact=True))
        return {str(hit.value): hit.count for hit in found.hits if hit.count}

    def _point(self, chunk: Chunk, vector: list[float]) -> qdrant.Point:
        terms = self._bm25.passage(chunk.embedded_text, chunk_language(chunk))
        return qdrant.Point(chunk.id, {DENSE: vector, BM25: terms}, to_payload(chunk))

    def _request(
        self, mode: SearchMode, text: str, vector: Vectors | None, depth: int, where: qdrant.Filter | None
    ) -> qdrant.QueryRequest:
        queries = []
        if mode is not SearchMode.SPARSE and vector is not None:
            queries.append(qdrant.Query.Nearest(vector.tolist(), using=DENSE))
        if mode is not SearchMode.DENSE:
            queries.append(qdrant.Query.Nearest(self._bm25.query(text, self.languages()), using=BM25))
        if len(queries) == 1:
            return qdrant.QueryRequest(limit=depth, query=queries[0], filter=where)
        fusion: Any = qdrant.Fusion.Dbsf()  # the type stub is wrong
        prefetches = [qdrant.Prefetch(limit=depth, query=query, filter=where) for query in queries]
        # All ranked points are returned, so that ``rank`` decides ties at the limit.
        return qdrant.QueryRequest(limit=depth * len(queries), query=fusion, prefetches=prefetches)

    def _payloads(self, ids: Sequence[str]) -> dict[str, Payload]:
        with self._engine("read") as shard:
            records = shard.retrieve(list(ids), with_payload=True, with_vector=False)
        return {str(record.id): record.payload or {} for record in records}

    def _ordered_ids(self, where: ChunkFilter) -> list[str]:
        request = qdrant.ScrollRequest(
            limit=max(self.count(where).chunks, 1),
            filter=_filter(where),
            with_payload=list(ORDER_FIELDS),
            with_vector=False,
        )
        with self._engine("read") as shard:
            records, _ = shard.scroll(request)
        return sort_ids((str(record.id), record.payload or {}) for record in records)


def _filter(where: ChunkFilter) -> qdrant.Filter:
    def match(pairs: list[tuple[str, list[str]]]) -> list[Any]:
        return [qdrant.FieldCondition(key, match=qdrant.MatchAny(keywords)) for key, keywords in pairs]

    required = match(required_keywords(where))
    if where.positions:
        first, last = where.positions
        required.append(qdrant.FieldCondition(POSITION, range=qdrant.RangeFloat(gte=first, lte=last)))
    return qdrant.Filter(must=required, must_not=match(excluded_keywords(where)))


def _dense(vector: Any) -> Vectors:
    return np.asarray(vector[DENSE], dtype=np.float32)


def _create(path: Path, spec: CollectionSpec) -> qdrant.EdgeShard:
    """Create a collection. First deletes the files of an interrupted attempt."""
    if path.exists():
        shutil.rmtree(path)
    path.mkdir()
    config = qdrant.EdgeConfig(
        vectors={DENSE: qdrant.EdgeVectorParams(size=spec.dimension, distance=qdrant.Distance.Cosine)},
        sparse_vectors={BM25: qdrant.EdgeSparseVectorParams(modifier=qdrant.Modifier.Idf)},
    )
    with _engine("create", path):
        shard = qdrant.EdgeShard.create(str(path / SHARD), config)
        _create_indexes(shard)
        shard.flush()
    write_spec(path, spec)
    return shard


def _load(path: Path) -> qdrant.EdgeShard:
    remove_part(path / SHARD)
    complete_replacement(path / SHARD)
    with _engine("load", path):
        shard = qdrant.EdgeShard.load(str(path / SHARD))
        _create_indexes(shard)  # fields that an earlier version did not index
        return shard


def _create_indexes(shard: qdrant.EdgeShard) -> None:
    for field in INDEXED_FIELDS:
        shard.update(qdrant.UpdateOperation.create_field_index(field, qdrant.PayloadSchemaType.Keyword))


@contextmanager
def _engine(action: str, path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # The engine raises plain Exception for its errors; a subclass is a mistake in this module.
        if type(error) is not Exception:
            raise
        raise StoreUnavailable(
            f"Could not {action} collection {path.name!r} in {str(path.parent)!r}: {error}"
        ) from error
