"""Embeds chunks and stores them. Vectors that the collection already has are reused.

A vector is reused from the chunk itself (an earlier ingest was killed after storing it), from the same chunk of a
document whose file was moved, or from any chunk with the same embedded text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.errors import IngestCancelled
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import Stage
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk
from vectorstore.store import Collection, Vectors

if TYPE_CHECKING:
    Timer = Callable[[Stage], AbstractContextManager[None]]


_UNINTERRUPTED = 64  # texts that are embedded between two checks whether the ingest was cancelled: about a second


@dataclass(frozen=True)
class WriteResult:
    """The number of stored chunks, and of texts that had to be embedded for them."""

    chunks: int
    embedded: int


class ChunkWriter:
    """Writes chunks to one collection. The ledger keeps its embedded texts under ``name``."""

    def __init__(self, embedder: Embedder, collection: Collection, ledger: Ledger, name: str) -> None:
        self._embedder = embedder
        self._collection = collection
        self._ledger = ledger
        self._name = name

    def write(
        self, chunks: Sequence[Chunk], moved: Mapping[str, str], timed: Timer, cancelled: Callable[[], bool]
    ) -> WriteResult:
        """Store the chunks with their vectors. ``moved`` gives the former id of each chunk of a moved document.

        Raises IngestCancelled before anything is stored.
        """
        texts = {chunk.id: chunk.embedded_text for chunk in chunks}
        digests = {identity: hashlib.sha256(text.encode()).hexdigest() for identity, text in texts.items()}
        with timed(Stage.EMBEDDING):
            vectors = self._stored_vectors(digests, moved)
            new = dict.fromkeys(text for identity, text in texts.items() if identity not in vectors)
            missing = sorted(new, key=len)  # texts of similar length are embedded faster together
            computed = {text: vector for part in _parts(missing, cancelled)
                        for text, vector in zip(part, self._embedder.embed_passages(part), strict=True)}  # fmt: skip
        with timed(Stage.STORING):
            self._collection.upsert(chunks, self._rows(texts, vectors, computed))
            # The vector of a moved chunk may include its document's former title, so other chunks must not reuse it.
            self._ledger.note_embedded(
                self._name,
                {digest: identity for identity, digest in digests.items() if identity not in moved},
            )
        return WriteResult(chunks=len(chunks), embedded=len(missing))

    def _stored_vectors(self, digests: Mapping[str, str], moved: Mapping[str, str]) -> MutableMapping[str, Vectors]:
        """Return the vectors that the store already has for these chunks, by chunk id."""
        same_text = self._ledger.embedded(self._name, sorted(set(digests.values())))
        sources = {
            identity: [holder for holder in (identity, moved.get(identity), same_text.get(digest)) if holder]
            for identity, digest in digests.items()
        }
        stored = self._collection.vectors(sorted({holder for candidates in sources.values() for holder in candidates}))
        return {
            identity: next(stored[holder] for holder in candidates if holder in stored)
            for identity, candidates in sources.items()
            if any(holder in stored for holder in candidates)
        }

    def _rows(
        self, texts: Mapping[str, str], stored: Mapping[str, Vectors], computed: Mapping[str, Vectors]
    ) -> Vectors:
        import numpy as np

        rows = [stored[identity] if identity in stored else computed[text] for identity, text in texts.items()]
        return np.stack(rows).astype(np.float32)


def _parts(texts: Sequence[str], cancelled: Callable[[], bool]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), _UNINTERRUPTED):
        if cancelled():
            raise IngestCancelled("The ingest was cancelled while it embedded passages.")
        yield texts[start : start + _UNINTERRUPTED]
