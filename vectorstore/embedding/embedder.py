"""The contract of an embedding model, and the function that loads the model named in the settings.

    embedder = make_embedder(EmbeddingSettings())
    vectors = embedder.embed_passages(["A heat pump warms a house."])

Implementations: ``bundled.py`` (all-MiniLM-L6-v2) and ``sentence_transformers.py`` (any other model).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from vectorstore.embedding.bundled import BundledEmbedder
from vectorstore.embedding.sentence_transformers import SentenceTransformerEmbedder
from vectorstore.settings import DEFAULT_MODEL, EmbeddingSettings
from vectorstore.store import Vectors


class Embedder(Protocol):
    """Turns passages and queries into vectors of length 1. Threads may share it.

    Passages are truncated after ``max_tokens`` tokens, as ``count_tokens`` counts them.
    """

    model: str
    dimension: int
    max_tokens: int
    languages: frozenset[str] | None
    """ISO 639-1 codes of the supported languages; None if unknown, which is treated as all languages."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, in the same order: shape (len(texts), dimension)."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Return a vector of shape (dimension,)."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special tokens."""
        ...


def make_embedder(settings: EmbeddingSettings, *, separate_query_process: bool = False) -> Embedder:
    """Load the model named in the settings. Raises EmbeddingModelError.

    ``separate_query_process`` embeds queries in a child process, for a program with many busy threads. Only the
    bundled model uses it: PyTorch releases the interpreter lock while it computes.
    """
    if settings.model == DEFAULT_MODEL:
        return BundledEmbedder(settings, separate_query_process=separate_query_process)
    return SentenceTransformerEmbedder(settings)
