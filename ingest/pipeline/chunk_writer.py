"""Embeds chunks and stores them, computing no vector that the collection already holds.

A vector is taken over from the chunk itself (an earlier ingest was killed after storing it), from the same place of
the document under the path that it was moved from, or from any chunk with the same embedded text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.ledger.ledger import Ledger
from ingest.ledger.records import Stage
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk
from vectorstore.store import Collection, Vectors

if TYPE_CHECKING:
    Timer = Callable[[Stage], AbstractContextManager[None]]


@dataclass(frozen=True)
class Written:
    """How many chunks were stored, and how many texts had to be embedded for them."""

    chunks: int
    embedded: int


class ChunkWriter:
    """Writes into one collection, of which the ledger keeps under ``name`` what was embedded."""

    def __init__(self, embedder: Embedder, collection: Collection, ledger: Ledger, name: str) -> None:
        self._embedder = embedder
        self._collection = collection
        self._ledger = ledger
        self._name = name

    def write(self, chunks: Sequence[Chunk], moved: Mapping[str, str], timed: Timer) -> Written:
        """Store the chunks with their vectors; ``moved`` names, by chunk id, the chunk that had its vector before."""
        texts = {chunk.id: chunk.embedded_text for chunk in chunks}
        digests = {identity: hashlib.sha256(text.encode()).hexdigest() for identity, text in texts.items()}
        with timed(Stage.EMBEDDING):
            vectors = self._kept(digests, moved)
            missing = list(dict.fromkeys(text for identity, text in texts.items() if identity not in vectors))
            computed = dict(zip(missing, self._embedder.embed_passages(missing), strict=True)) if missing else {}
        with timed(Stage.STORING):
            self._collection.upsert(chunks, self._rows(texts, vectors, computed))
            # A moved chunk's vector may have been computed under its document's former title: not for others to use.
            self._ledger.note_embedded(
                self._name,
                {digest: identity for identity, digest in digests.items() if identity not in moved},
            )
        return Written(chunks=len(chunks), embedded=len(missing))

    def _kept(self, digests: Mapping[str, str], moved: Mapping[str, str]) -> MutableMapping[str, Vectors]:
        """The vectors that the store has for these chunks, by chunk id."""
        same_text = self._ledger.embedded(self._name, sorted(set(digests.values())))
        holders = {
            identity: [holder for holder in (identity, moved.get(identity), same_text.get(digest)) if holder]
            for identity, digest in digests.items()
        }
        stored = self._collection.vectors(sorted({holder for some in holders.values() for holder in some}))
        return {
            identity: next(stored[holder] for holder in some if holder in stored)
            for identity, some in holders.items()
            if any(holder in stored for holder in some)
        }

    def _rows(self, texts: Mapping[str, str], kept: Mapping[str, Vectors], computed: Mapping[str, Vectors]) -> Vectors:
        import numpy as np

        rows = [kept[identity] if identity in kept else computed[text] for identity, text in texts.items()]
        return np.stack(rows).astype(np.float32)
