"""An open collection of the embedded store. ``qdrant_schema.py`` defines its payloads and filters."""

import logging
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as qdrant

from vectorstore.edge.disk import check_space, disk_errors, used_space, write_through
from vectorstore.edge.lock import CollectionLock
from vectorstore.edge.optimizer import LOG, BackgroundWork, ChangeCount, OptimizedCopy
from vectorstore.edge.shard import SHARD, engine_errors, load_shard, to_filter
from vectorstore.errors import CollectionClosed
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, Counts
from vectorstore.qdrant_collection import QdrantCollection
from vectorstore.qdrant_schema import (
    BM25,
    DENSE,
    MAX_LANGUAGES,
    ORDER_FIELDS,
    sort_ids,
    to_payload,
    validate_vectors,
)
from vectorstore.ranking import Nearest, Points
from vectorstore.store import EVERYTHING, Vectors
from vectorstore.text.language_counts import LanguageCounts
from vectorstore.text.languages import LANGUAGE

log = logging.getLogger(__name__)

FLUSH_AFTER = 10_000  # changes in the write-ahead log; loading the shard replays them in about a second
INDEX_AFTER = 16 * 2**20  # bytes of new vectors; each search reads them all. The engine indexes from 10 MB.
INDEX_AFTER_SHARE = 16  # … or this fraction of a larger collection, because a build takes 0.3 ms for each of its chunks


class EdgeCollection(QdrantCollection[qdrant.EdgeShard]):
    """An open embedded collection. The engine searches in parallel and serializes writes."""

    batch = 256  # bounds memory, and what is lost when the process dies

    def __init__(
        self, spec: CollectionSpec, path: Path, shard: qdrant.EdgeShard, lock: CollectionLock, reserve: int
    ) -> None:
        super().__init__(spec)
        self._path = path
        self._open_shard: qdrant.EdgeShard | None = shard
        self._active_calls = 0  # calls in the engine; it must not be closed during one
        self._idle = threading.Condition()
        self._replacing = False  # whether calls wait until an optimized shard has replaced the open one
        self._writing = threading.Lock()  # held while chunks are written, or the shard is copied or replaced
        self._unflushed = 0  # changes that are in the write-ahead log, but perhaps not in the segments on disk
        info = shard.info()  # it counts dense and sparse vectors
        self._changes = ChangeCount(path, estimate=max(2 * info.points_count - info.indexed_vectors_count, 0))
        self._copy: OptimizedCopy | None = None  # lacks later changes, so the log must keep them: no flush meanwhile
        self._postponed_until = 0  # changes; after a failure, building the index is not tried again at each write
        self._building = BackgroundWork(f"index {spec.name}", self._build_index, self._report_failure)
        self._lock = lock
        self._reserve = reserve
        self._languages = LanguageCounts()

    @property
    def closed(self) -> bool:
        """Whether calls raise CollectionClosed."""
        return self._open_shard is None

    def upsert(self, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        validate_vectors(self._spec, chunks, vectors)
        with self._writing:
            for start in range(0, len(chunks), self.batch):
                batch, rows = chunks[start : start + self.batch], vectors[start : start + self.batch]
                points = [self._point(chunk, row) for chunk, row in zip(batch, rows, strict=True)]
                self._write(qdrant.UpdateOperation.upsert_points(points))
                self._count_changes(len(points))
            self._make_durable()
        self.index_in_background()

    def delete(self, where: ChunkFilter) -> None:
        with self._writing:
            before = self._points()
            self._write(qdrant.UpdateOperation.delete_points_by_filter(to_filter(where)))
            self._count_changes(before - self._points())
            self._make_durable()
        self.index_in_background()

    def count(self, where: ChunkFilter = EVERYTHING) -> Counts:
        selected = to_filter(where)
        with self._session("count") as shard:
            chunks = shard.count(qdrant.CountRequest(filter=selected))
            documents = shard.facet(
                qdrant.FacetRequest("document_id", limit=max(chunks, 1), exact=True, filter=selected)
            )
        return Counts(documents=len(documents.hits), chunks=chunks)

    def languages(self, *, exact: bool = True) -> dict[str, int]:
        if exact:
            return self._count_languages(exact=True)
        return self._languages.get(lambda: self._count_languages(exact=False))  # takes up to 2 ms

    def _count_languages(self, *, exact: bool) -> dict[str, int]:
        with self._session("count") as shard:
            found = shard.facet(qdrant.FacetRequest(LANGUAGE, limit=MAX_LANGUAGES, exact=exact))
        return {str(hit.value): hit.count for hit in found.hits if hit.count}

    def index_words(self) -> None:
        """Index the words of all stored texts again. Dense vectors are kept. Durable on return."""
        log.info("Indexing the words of collection %r again, because their analysis has changed.", self._spec.name)
        with self._writing:
            for some in self._analysed():
                points = [qdrant.PointVectors(chunk_id, {BM25: terms}) for chunk_id, terms in some]
                self._write(qdrant.UpdateOperation.update_vectors(points))
            self._flush()

    def optimize(
        self, on_build: Callable[[], None] = lambda: None, cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        """Wait until the index is built, if enough chunks wait for it. Searches and writes go on."""
        if not (self._building.running or self._index_is_due()):
            return
        on_build()
        self._building.wait(cancelled)
        while self._index_is_due() and not cancelled():
            self._building.start()
            self._building.wait(cancelled)

    def index_in_background(self) -> None:
        """Start to build the index if enough chunks wait for it."""
        with suppress(CollectionClosed):
            if self._changes.value >= self._postponed_until and self._index_is_due():
                self._building.start()

    def close(self) -> None:
        """Wait for active calls, then flush and release the collection. May be called again.

        Abort an index build. The count of changes is stored, so that the next writer builds the index.
        """
        with self._idle:
            shard, self._open_shard = self._open_shard, None  # from now on, calls raise CollectionClosed
            self._idle.wait_for(lambda: not self._active_calls)
        if copy := self._copy:
            copy.kill()
        self._building.join()
        if shard is not None:
            with self._writing:
                try:
                    with engine_errors("flush", self._path):
                        shard.flush()
                    self._changes.save()
                finally:
                    shard.close()
                    self._lock.release()

    @contextmanager
    def _session(self, action: str) -> Iterator[qdrant.EdgeShard]:
        """Keep the engine open until the end of the block. Raises CollectionClosed."""
        with self._idle:
            self._idle.wait_for(lambda: not self._replacing)
            shard = self._require_open()
            self._active_calls += 1
        try:
            with engine_errors(action, self._path):
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

    def _index_is_due(self) -> bool:
        """Return whether enough chunks have changed since the index was built."""
        smallest = INDEX_AFTER // (4 * self._spec.dimension)
        return self._changes.value >= max(smallest, self._points() // INDEX_AFTER_SHARE, 1)

    def _build_index(self) -> None:
        """Replace the shard by an optimized copy. Writes wait while the copy is made, and while it is loaded."""
        with ExitStack() as stack, disk_errors(self._path):
            with self._writing:
                # A copy is made, and new segments are written before the old ones are deleted.
                check_space(
                    self._path.parent, self._reserve + 2 * used_space(self._path), f"collection {self._path.name!r}"
                )
                self._flush()
                changes = self._changes.value
                self._copy = copy = stack.enter_context(OptimizedCopy(self._path / SHARD))
                stack.callback(self._forget_copy)
                self._require_open()  # ``close`` either finds the copy or is found here
                copy.copy()
            copy.optimize()
            replayed = 0
            while self._unflushed - replayed > FLUSH_AFTER:
                with self._writing:
                    replayed = self._unflushed
                    copy.take_log()
                copy.replay()
            with self._writing:
                copy.take_log()
                self._use_copy(copy)
                self._changes.value -= changes
                self._changes.save()
                self._postponed_until = 0

    def _forget_copy(self) -> None:
        self._copy = None

    def _use_copy(self, copy: OptimizedCopy) -> None:
        """Replace the shard by its copy, between two calls. Other calls wait until the copy is loaded."""
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
                copy.use()
                self._open_shard = load_shard(self._path)
                undo.pop_all()

    def _report_failure(self, error: Exception) -> None:
        self._postponed_until = 2 * self._changes.value
        if not self.closed:
            log.error("The search index of collection %r was not built: %s", self._spec.name, error)

    def _points(self) -> int:
        with self._session("count") as shard:
            return shard.info().points_count

    def _write(self, operation: qdrant.UpdateOperation) -> None:
        check_space(self._path.parent, self._reserve, f"collection {self._path.name!r}")
        with self._session("write") as shard:
            try:
                shard.update(operation)
            finally:
                self._languages.forget()

    def _count_changes(self, number: int) -> None:
        self._changes.value += number
        self._unflushed += number

    def _make_durable(self) -> None:
        """Make earlier writes survive a power cut; they survive the end of the process without it."""
        if self._unflushed >= FLUSH_AFTER and self._copy is None:
            self._flush()
        else:  # takes 2 ms instead of 200; loading the shard replays the log
            with disk_errors(self._path):
                write_through(self._path / SHARD / LOG)

    def _flush(self) -> None:
        """Write the segments to disk, and empty the write-ahead log."""
        with self._session("flush") as shard:
            shard.flush()
        self._unflushed = 0
        self._changes.save()

    def _point(self, chunk: Chunk, vector: Vectors) -> qdrant.Point:
        # The engine reads an array in half the time of a list.
        floats: Any = array("f", vector.astype(np.float32, copy=False).tobytes())
        return qdrant.Point(chunk.id, {DENSE: floats, BM25: self._terms(chunk)}, to_payload(chunk))

    def _ask(self, session: qdrant.EdgeShard, wanted: Sequence[Nearest], where: ChunkFilter) -> Sequence[Points]:
        selected = to_filter(where)
        requests = [
            qdrant.QueryRequest(limit=each.limit, query=self._nearest(each), filter=selected) for each in wanted
        ]
        return session.query_batch(qdrant.QueryBatchRequest(requests))  # one pass over the segments for all

    def _nearest(self, request: Nearest) -> qdrant.Query:
        if isinstance(request.query, np.ndarray):
            return qdrant.Query.Nearest(request.query.tolist(), using=DENSE)
        return qdrant.Query.Nearest(self._bm25.query(request.query), using=BM25)

    def _retrieve(
        self, session: qdrant.EdgeShard, ids: Sequence[str], *, payload: bool = False, vectors: Sequence[str] = ()
    ) -> Sequence[Any]:
        return session.retrieve(list(ids), with_payload=payload, with_vector=list(vectors) or False)

    def _ordered_ids(self, where: ChunkFilter) -> list[str]:
        selected = to_filter(where)
        with self._session("read") as shard:
            limit = max(shard.count(qdrant.CountRequest(filter=selected)), 1)
            fields = list(ORDER_FIELDS)
            request = qdrant.ScrollRequest(limit=limit, filter=selected, with_payload=fields, with_vector=False)
            records, _ = shard.scroll(request)
        return sort_ids((str(record.id), record.payload or {}) for record in records)
