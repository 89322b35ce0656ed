"""The contract of an embedding model, and the function that loads the model named in the settings.

    embedder = make_embedder(EmbeddingSettings())
    vectors = embedder.embed_passages(["A heat pump warms a house."])

Implementations: ``bundled.py`` (all-MiniLM-L6-v2), ``multilingual.py`` (multilingual-e5-small),
``sentence_transformers.py`` (any other local model) and ``endpoint.py`` (models of a server, classes of LlamaIndex).
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from vectorstore.embedding.bundled import BundledEmbedder
from vectorstore.embedding.endpoint import EndpointEmbedder
from vectorstore.embedding.multilingual import MultilingualEmbedder
from vectorstore.embedding.sentence_transformers import SentenceTransformerEmbedder
from vectorstore.settings import DEFAULT_MODEL, MULTILINGUAL_MODEL, EmbeddingSettings
from vectorstore.store import Vectors


class QueryEmbedder(Protocol):
    """Turns queries into vectors of length 1. Threads may share it."""

    languages: frozenset[str] | None
    """ISO 639-1 codes of the supported languages; None if unknown, which is treated as all languages."""

    def embed_query(self, text: str) -> tuple[Vectors, Vectors | None]:
        """Return a vector of shape (dimension,), and each character's share of the model's attention if known."""
        ...


class Embedder(QueryEmbedder, Protocol):
    """Also turns passages into vectors of length 1.

    A local model truncates passages after ``max_tokens`` tokens, as ``count_tokens`` counts them.
    """

    model: str
    max_tokens: int

    @property
    def dimension(self) -> int:
        """The dimension of the vectors. Raises EndpointError."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, in the same order: shape (len(texts), dimension). Raises EndpointError."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special tokens."""
        ...


def make_embedder(settings: EmbeddingSettings) -> Embedder:
    """Load the model named in the settings. Sends no request to an endpoint. Raises EmbeddingModelError."""
    if settings.provider != "local":
        return EndpointEmbedder(settings)
    if settings.model == DEFAULT_MODEL:
        return BundledEmbedder(settings)
    if settings.model == MULTILINGUAL_MODEL:
        return MultilingualEmbedder(settings)
    return SentenceTransformerEmbedder(settings)


CACHE_SIZE = 1024  # 1.5 MB with vectors of 384 dimensions


class CachedEmbedder:
    """Wraps an embedder and caches its query vectors.

    A run embeds its question several times: to search, to find a similar saved plan, and to save its own. Cached
    vectors are shared and read-only.
    """

    def __init__(self, inner: Embedder, cache_size: int = CACHE_SIZE) -> None:
        self._inner = inner
        self.embed_query = lru_cache(cache_size)(self._embed)
        self.model, self.max_tokens, self.languages = inner.model, inner.max_tokens, inner.languages

    @property
    def dimension(self) -> int:
        """The dimension of the vectors. An endpoint is asked for it on first use."""
        return self._inner.dimension

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._inner.embed_passages(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._inner.count_tokens(texts)

    def _embed(self, text: str) -> tuple[Vectors, Vectors | None]:
        vector, attention = self._inner.embed_query(text)
        vector.setflags(write=False)
        return vector, attention
