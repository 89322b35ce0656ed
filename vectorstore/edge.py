"""The embedded vector store: Qdrant Edge in this process, one folder per collection.

    FOLDER/papers/collection.json   what it was made with; written last, so a collection without it was never finished
    FOLDER/papers/shard/            Qdrant's segments and write-ahead log
    FOLDER/papers.lock, .owner      see lock.py

Owns all use of the engine, its errors and its files. What a payload or a filter looks like stands in layout.py.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
import qdrant_edge as qdrant
from pydantic import ValidationError

from vectorstore.errors import CollectionClosed, StoreUnavailable
from vectorstore.lock import CollectionLock
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

SPEC = "collection.json"
SHARD = "shard"
BATCH = 256  # points written or read per call: bounds memory, and how much is in flight when the process dies
RESERVE = 256 * 2**20  # the engine maps files of 32 MiB: on a full disk it would not fail, it would die by SIGBUS


class EdgeStore:
    """Collections in a folder of this machine. ``reserve`` is the free disk space, in bytes, below which it refuses."""

    def __init__(self, folder: Path, *, reserve: int = RESERVE) -> None:
        self._folder = folder
        self._reserve = reserve

    def create(self, spec: CollectionSpec) -> EdgeCollection:
        """Open the collection, making it if there is none."""
        path = self._folder / spec.name
        with _disk(path), ExitStack() as undo:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = CollectionLock(path)
            undo.callback(lock.release)
            _check_space(path, self._reserve)
            if (path / SPEC).exists():
                check_spec(_read_spec(path), spec)
                shard = _load(path)
            else:
                shard = _make(path, spec)
            undo.pop_all()
        return EdgeCollection(spec, path, shard, lock, self._reserve)

    def open(self, name: str) -> EdgeCollection:
        """Open an existing collection."""
        return self.create(find_spec(name, self.list()))

    def list(self) -> list[CollectionSpec]:
        """The collections there are, by name; reads only their description."""
        with _disk(self._folder):
            if not self._folder.exists():
                return []
            return [_read_spec(path) for path in sorted(self._folder.iterdir()) if (path / SPEC).exists()]

    def drop(self, name: str) -> None:
        """Delete a collection and all in it."""
        path = self._folder / find_spec(name, self.list()).name
        with _disk(path), ExitStack() as undo:
            lock = CollectionLock(path)
            undo.callback(lock.release)
            (path / SPEC).unlink()  # first: killed half-way, it is unfinished rather than damaged
            shutil.rmtree(path)


class EdgeCollection:
    """An open embedded collection. The engine searches in parallel and puts its writes in order itself."""

    def __init__(
        self, spec: CollectionSpec, path: Path, shard: qdrant.EdgeShard, lock: CollectionLock, reserve: int
    ) -> None:
        self._spec = spec
        self._path = path
        self._open_shard: qdrant.EdgeShard | None = shard
        self._users = 0  # who are in the engine, which cannot be closed under them
        self._turn = threading.Condition()
        self._lock = lock
        self._reserve = reserve
        self._bm25 = Bm25Encoder()
        self._written = 0  # how often something was
        self._languages: tuple[int, dict[str, int]] = (-1, {})  # as they were after so many writings

    @property
    def spec(self) -> CollectionSpec:
        """What it was made with."""
        return self._spec

    def upsert(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Write chunks with their vectors; same id replaces. Durable on return."""
        check_vectors(self._spec, chunks, vectors)
        for start in range(0, len(chunks), BATCH):
            _check_space(self._path, self._reserve)
            rows = vectors[start : start + BATCH].tolist()
            points = [self._point(chunk, row) for chunk, row in zip(chunks[start : start + BATCH], rows, strict=True)]
            self._write(qdrant.UpdateOperation.upsert_points(points))
        self._flush()

    def delete(self, where: ChunkFilter) -> None:
        """Delete the selected chunks. Durable on return."""
        _check_space(self._path, self._reserve)
        self._write(qdrant.UpdateOperation.delete_points_by_filter(_filter(where)))
        self._flush()

    def search(
        self, mode: SearchMode, *, text: str, vector: Vectors | None, limit: int, where: ChunkFilter = EVERYTHING
    ) -> list[Hit]:
        """The best ``limit`` chunks, best first; equal scores in order of chunk id."""
        check_query(self._spec, mode, vector)
        depth = max(limit, CANDIDATES)
        request = self._request(mode, text, vector, depth, _filter(where))
        with self._engine("search") as shard:
            points = shard.query(request)
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
        with self._engine("count") as shard:
            chunks = shard.count(qdrant.CountRequest(filter=selected))
            documents = shard.facet(
                qdrant.FacetRequest("document_id", limit=max(chunks, 1), exact=True, filter=selected)
            )
        return Counts(documents=len(documents.hits), chunks=chunks)

    def languages(self) -> dict[str, int]:
        """How many chunks there are in each language: counted anew when something was written, as each search asks."""
        written, known = self._languages
        if written != self._written:
            written = self._written
            with self._engine("count") as shard:
                found = shard.facet(qdrant.FacetRequest(LANGUAGE, limit=LANGUAGES, exact=True))
            known = {str(hit.value): hit.count for hit in found.hits if hit.count}
            self._languages = (written, known)
        return dict(known)

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """The dense vectors of those of the chunks that are there, by chunk id."""
        if not ids:
            return {}
        with self._engine("read") as shard:
            records = shard.retrieve(list(ids), with_payload=False, with_vector=[DENSE])
        return {str(record.id): _dense(record.vector) for record in records}

    def steady(self, read: Callable[[Collection], T]) -> T:
        """What ``read`` finds: here, every moment is as good as another."""
        return read(self)

    def optimize(self) -> None:
        """Merge segments and build the HNSW index where there are enough vectors for it to pay."""
        _check_space(self._path, self._reserve + _size(self._path))  # segments are rewritten before the old ones go
        with self._engine("optimize") as shard:
            shard.optimize()

    def close(self) -> None:
        """Flush and release it, when whoever is in it has come out. Idempotent."""
        with self._turn:
            shard, self._open_shard = self._open_shard, None  # from now on nobody comes in
            self._turn.wait_for(lambda: not self._users)
        if shard is not None:
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
        """The engine, open until the end of the block. Raises CollectionClosed."""
        with self._turn:
            if (shard := self._open_shard) is None:
                raise CollectionClosed(
                    f"Collection {self._spec.name!r} is closed: it was deleted, or Candor is ending."
                )
            self._users += 1
        try:
            with _engine(action, self._path):
                yield shard
        finally:
            with self._turn:
                self._users -= 1
                self._turn.notify_all()

    def _write(self, operation: qdrant.UpdateOperation) -> None:
        with self._engine("write") as shard:
            shard.update(operation)
        self._written += 1

    def _flush(self) -> None:
        """What is written survives the end of the process as it is; after this, a power cut too."""
        with self._engine("flush") as shard:
            shard.flush()

    def _point(self, chunk: Chunk, vector: list[float]) -> qdrant.Point:
        terms = self._bm25.passage(chunk.embedded_text, language_of(chunk))
        return qdrant.Point(chunk.id, {DENSE: vector, BM25: terms}, payload_of(chunk))

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
        fusion: Any = qdrant.Fusion.Dbsf()  # a Fusion, whatever its type stub says
        prefetches = [qdrant.Prefetch(limit=depth, query=query, filter=where) for query in queries]
        # Everything that was ranked comes back, so that a tie at the limit is decided by ``best`` and not by chance.
        return qdrant.QueryRequest(limit=depth * len(queries), query=fusion, prefetches=prefetches)

    def _payloads(self, ids: Sequence[str]) -> dict[str, Payload]:
        with self._engine("read") as shard:
            records = shard.retrieve(list(ids), with_payload=True, with_vector=False)
        return {str(record.id): record.payload or {} for record in records}

    def _ordered_ids(self, where: ChunkFilter) -> list[str]:
        request = qdrant.ScrollRequest(
            limit=max(self.count(where).chunks, 1),
            filter=_filter(where),
            with_payload=list(READING_ORDER),
            with_vector=False,
        )
        with self._engine("read") as shard:
            records, _ = shard.scroll(request)
        return in_reading_order((str(record.id), record.payload or {}) for record in records)


def _filter(where: ChunkFilter) -> qdrant.Filter:
    def matching(wanted: list[tuple[str, list[str]]]) -> list[Any]:
        return [qdrant.FieldCondition(key, match=qdrant.MatchAny(keywords)) for key, keywords in wanted]

    return qdrant.Filter(must=matching(conditions(where)), must_not=matching(exclusions(where)))


def _dense(vector: Any) -> Vectors:
    return np.asarray(vector[DENSE], dtype=np.float32)


def _make(path: Path, spec: CollectionSpec) -> qdrant.EdgeShard:
    """A new collection; what an earlier attempt left unfinished is cleared away."""
    if path.exists():
        shutil.rmtree(path)
    path.mkdir()
    config = qdrant.EdgeConfig(
        vectors={DENSE: qdrant.EdgeVectorParams(size=spec.dimension, distance=qdrant.Distance.Cosine)},
        sparse_vectors={BM25: qdrant.EdgeSparseVectorParams(modifier=qdrant.Modifier.Idf)},
    )
    with _engine("create", path):
        shard = qdrant.EdgeShard.create(str(path / SHARD), config)
        _index(shard)
        shard.flush()
    _write_spec(path, spec)
    return shard


def _load(path: Path) -> qdrant.EdgeShard:
    with _engine("load", path):
        shard = qdrant.EdgeShard.load(str(path / SHARD))
        _index(shard)  # a field that was not indexed when the collection was made
        return shard


def _index(shard: qdrant.EdgeShard) -> None:
    for field in INDEXED:
        shard.update(qdrant.UpdateOperation.create_field_index(field, qdrant.PayloadSchemaType.Keyword))


def _write_spec(path: Path, spec: CollectionSpec) -> None:
    """Whole or not at all, even if the power goes."""
    part = path / f"{SPEC}.part"
    with part.open("w", encoding="utf-8") as file:
        file.write(spec.model_dump_json(indent=2) + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path / SPEC)


def _read_spec(path: Path) -> CollectionSpec:
    try:
        return CollectionSpec.model_validate_json((path / SPEC).read_bytes())
    except ValidationError as error:
        raise StoreUnavailable(f"{str(path / SPEC)!r} does not describe a collection: {error}") from error


def _size(path: Path) -> int:
    """Bytes of disk that the files really take; the engine's files are sparse."""
    return sum(file.stat().st_blocks * 512 for file in path.rglob("*"))


def _check_space(path: Path, needed: int) -> None:
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise StoreUnavailable(
            f"The disk of {str(path.parent)!r} has {free / 2**20:,.0f} MiB free, but collection {path.name!r} needs "
            f"{needed / 2**20:,.0f} MiB to be written safely. Free some space; what was stored before is kept."
        )


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(
            f"The vector store cannot use {str(path)!r}: {error.strerror or error}. Make it a folder that you can "
            "read and write, or name another one."
        ) from error


@contextmanager
def _engine(action: str, path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        # The engine raises plain Exception for all its errors; subclasses are mistakes in our own call.
        if type(error) is not Exception:
            raise
        raise StoreUnavailable(
            f"Could not {action} collection {path.name!r} in {str(path.parent)!r}: {error}"
        ) from error
