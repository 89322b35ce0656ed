"""Writes documents to a collection and shows them to searches. ``ingest/ledger/ledger.py`` describes the steps.

Vectors that the collection already has are reused: those of the chunk itself (an earlier ingest was killed after it
stored them), of the same chunk of a document whose file was moved, or of any chunk with the same embedded text.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ingest.errors import IngestCancelled
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import INDEX_VERSION, Publication, Stage
from ingest.pipeline.chunks import chunk_id
from ingest.pipeline.tally import Tally
from vectorstore.embedding.embedder import Embedder
from vectorstore.errors import EndpointError
from vectorstore.models import Chunk, ChunkFilter
from vectorstore.store import Collection, Vectors

_UNINTERRUPTED = 64  # texts that are embedded between two checks whether the ingest was cancelled: about a second
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0  # between requests to an endpoint that is away
_CHECK_S = 0.5  # between two checks for a cancellation in a pause

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Publisher:
    """Publishes documents whose rows the ledger keeps under ``name``.

    ``check`` is called before each group of documents and raises if this process may no longer write. ``batch`` is the
    number of chunks that are embedded and stored together.
    """

    name: str
    collection: Collection
    ledger: Ledger
    embedder: Embedder
    batch: int
    check: Callable[[], None]
    tally: Tally

    def publish(self, documents: Sequence[Publication]) -> Iterator[list[Publication]]:
        """Write the chunks in batches. Yield the documents that each batch has completed and searches see.

        Raises IngestCancelled, StoreError, LedgerUnavailable.
        """
        self.check()
        new = [each.record for each in documents if each.superseded != each.record.index_version]
        self.ledger.hide(self.name, {record.index_version: record.id for record in new})
        chunks = [chunk for each in documents for chunk in each.chunks]
        moved = {
            chunk.id: chunk_id(each.moved_from.index_version, chunk.index)
            for each in documents
            if each.moved_from
            for chunk in each.chunks
        }
        waiting = deque(zip(accumulate(len(each.chunks) for each in documents), documents, strict=True))
        tokens: list[int] = []
        for start in range(0, len(chunks) or 1, self.batch):
            tokens += self._store(chunks[start : start + self.batch], moved)
            complete = []
            while waiting and waiting[0][0] <= len(tokens):
                end, each = waiting.popleft()
                record = each.record.model_copy(update={"tokens": sum(tokens[end - len(each.chunks) : end])})
                complete.append(each._replace(record=record))
            self._show(complete)
            yield complete

    def _show(self, documents: Sequence[Publication]) -> None:
        """Show documents whose chunks are stored, and delete the chunks of what they replace."""
        replaced = [each for each in documents if each.superseded]
        moved = [each.moved_from for each in documents if each.moved_from]
        with self.tally.timed(Stage.STORING):
            self.ledger.publish(documents)
            if replaced:
                live = tuple(each.record.index_version for each in replaced)
                ids = tuple(each.record.id for each in replaced)
                self.collection.delete(ChunkFilter(documents=ids, without={INDEX_VERSION: live}))
            if moved:
                self.collection.delete(ChunkFilter(documents=tuple(each.id for each in moved)))
            if deleted := [*(each.superseded for each in replaced), *(each.index_version for each in moved)]:
                self.ledger.unhide(self.name, deleted)

    def _store(self, chunks: Sequence[Chunk], moved: Mapping[str, str]) -> list[int]:
        """Store the chunks with their vectors. Return the tokens of each.

        ``moved`` has the former ids of chunks of moved documents. If the ingest is cancelled or an endpoint fails, what
        is embedded is stored, so that the next ingest does not embed it again. Raises IngestCancelled, EndpointError.
        """
        if not chunks:
            return []
        self.tally.report_progress(chunks[0].name, Stage.EMBEDDING)
        digests = {chunk.id: hashlib.sha256(chunk.embedded_text.encode()).hexdigest() for chunk in chunks}
        with self.tally.timed(Stage.EMBEDDING):
            vectors = dict(self._stored_vectors(digests, moved))
        try:
            with self.tally.timed(Stage.EMBEDDING):
                self._embed(chunks, vectors)
        finally:
            # The vector of a moved chunk may include its document's former title, so other chunks must not reuse it.
            own = {digest: identity for identity, digest in digests.items() if identity in vectors.keys() - moved}
            self._keep([chunk for chunk in chunks if chunk.id in vectors], vectors, own)
        tokens = self.embedder.count_tokens([chunk.embedded_text for chunk in chunks])
        self.tally.chunks += len(chunks)
        self.tally.tokens += sum(tokens)
        self.tally.report_progress(chunks[-1].name, Stage.STORING)
        return tokens

    def _keep(self, chunks: Sequence[Chunk], vectors: Mapping[str, Vectors], own: Mapping[str, str]) -> None:
        """Store chunks, and note by digest which vectors other chunks with the same text can reuse."""
        import numpy as np

        if chunks:
            with self.tally.timed(Stage.STORING):
                self.collection.upsert(chunks, np.stack([vectors[chunk.id] for chunk in chunks]).astype(np.float32))
                self.ledger.note_embedded(self.name, own)

    def _embed(self, chunks: Sequence[Chunk], vectors: dict[str, Vectors]) -> None:
        """Embed the chunks that have no entry in ``vectors`` (by chunk id). Embeds equal texts once."""
        missing: dict[str, list[str]] = {}
        for chunk in chunks:
            if chunk.id not in vectors:
                missing.setdefault(chunk.embedded_text, []).append(chunk.id)
        for texts in self._parts(sorted(missing, key=len)):  # texts of similar length are embedded faster together
            failure = None
            try:
                embedded = self._embed_patiently(texts)
            except EndpointError as error:
                embedded, failure = error.embedded, error
            self.tally.count_embedded(chunks[0].name, len(embedded))
            vectors.update((identity, row) for text, row in embedded.items() for identity in missing[text])
            if failure:
                raise failure

    def _embed_patiently(self, texts: Sequence[str]) -> Mapping[str, Vectors]:
        """Return the vector of each text. Wait for an endpoint that is away, within its limit.

        Raises IngestCancelled, and EndpointError with the vectors of the texts that were embedded.
        """
        embedded: dict[str, Vectors] = {}
        last, pause = time.monotonic(), _FIRST_PAUSE_S
        while True:
            left = [text for text in texts if text not in embedded]
            try:
                return embedded | dict(zip(left, self.embedder.embed_passages(left), strict=True))
            except EndpointError as error:
                if error.embedded:
                    last, pause = time.monotonic(), _FIRST_PAUSE_S
                error.embedded = embedded = embedded | dict(error.embedded)
                waited = time.monotonic() - last
                if not error.away or waited >= error.wait_s or waited + (error.retry_after or 0.0) > error.wait_s:
                    raise
                wait, failure = max(pause, error.retry_after or 0.0), error
            log.warning("%s The ingest waits %.0f s and then goes on.", failure, wait)
            self._pause(wait)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _pause(self, seconds: float) -> None:
        """Wait for some seconds. Raises IngestCancelled if the ingest is cancelled meanwhile."""
        self.tally.report_progress("", Stage.WAITING)
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.tally.check_cancelled():
                raise IngestCancelled("The ingest was cancelled while it waited for the embedding model.")
            time.sleep(min(left, _CHECK_S))

    def _parts(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        for start in range(0, len(texts), _UNINTERRUPTED):
            if self.tally.check_cancelled():
                raise IngestCancelled("The ingest was cancelled while it embedded passages.")
            yield texts[start : start + _UNINTERRUPTED]

    def _stored_vectors(self, digests: Mapping[str, str], moved: Mapping[str, str]) -> Mapping[str, Vectors]:
        """Return the vectors that the store already has for these chunks, by chunk id."""
        same_text = self.ledger.embedded(self.name, sorted(set(digests.values())))
        sources = {
            identity: [holder for holder in (identity, moved.get(identity), same_text.get(digest)) if holder]
            for identity, digest in digests.items()
        }
        stored = self.collection.vectors(sorted({holder for candidates in sources.values() for holder in candidates}))
        found = {
            identity: [stored[each] for each in holders if each in stored] for identity, holders in sources.items()
        }
        return {identity: vectors[0] for identity, vectors in found.items() if vectors}
