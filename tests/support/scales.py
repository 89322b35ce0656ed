"""Variants of the real embedding model with another similarity scale."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vectorstore.embedding.embedder import Embedder
from vectorstore.store import Vectors


def shifted(embedder: Embedder, shift: float) -> Callable[[str], Vectors]:
    """Return an embedding function that changes a cosine similarity c to (c + shift²) / (1 + shift²).

    With a shift of 1.5, all of them are above 0.6.
    """

    def embed(text: str) -> Vectors:
        vector = np.append(embedder.embed_query(text)[0], np.float32(shift))
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)

    return embed
