"""Any sentence-transformers model, computed by PyTorch."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from base.memory import release_freed_memory
from vectorstore.embedding.model_folder import BUNDLE_LANGUAGES, find_model
from vectorstore.errors import EmbeddingModelError
from vectorstore.settings import DEFAULT_MODEL, EmbeddingSettings
from vectorstore.store import Vectors

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

Precision = Literal["bfloat16", "float32"]
_DOCUMENT_PROMPTS = ("document", "passage", "corpus")


class SentenceTransformerEmbedder:
    """A sentence-transformers model, with the prompts it was trained with for passages and for queries."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._model = _load(find_model(settings.model), settings)
        self._batch_size = settings.batch_size
        # Tokenizers keep padding and truncation as state, so two threads must not use one at the same time.
        self._lock = threading.Lock()
        self.model = settings.model
        self.dimension = _require(self._model.get_embedding_dimension(), "vector dimension", settings.model)
        self.max_tokens = _max_tokens(self._model, settings.model)
        self.languages = BUNDLE_LANGUAGES if settings.model == DEFAULT_MODEL else None

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text; texts of similar length share a batch."""
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        with self._lock:
            encoded = self._model.encode_document(
                list(texts), batch_size=self._batch_size, show_progress_bar=False, convert_to_tensor=True
            )
        vectors = _normalized(encoded)
        release_freed_memory()
        return vectors

    def embed_query(self, text: str) -> tuple[Vectors, None]:
        with self._lock:
            encoded = self._model.encode_query(text, show_progress_bar=False, convert_to_tensor=True)
        return _normalized(encoded), None  # with the attention, models compute more slowly

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        if not texts:
            return []
        with self._lock:
            encoded = self._model.tokenizer(
                list(texts), add_special_tokens=False, return_attention_mask=False, truncation=False, verbose=False
            )
        return [len(ids) for ids in encoded["input_ids"]]


def _load(folder: Path, settings: EmbeddingSettings) -> SentenceTransformer:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when PyTorch is imported; see docs/concurrency.md
    # By default, oneDNN caches code for 1,024 batch shapes: 50 MB after 1,000 passages, without saving time.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16")
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    options: dict[str, Any] = {"device": settings.device, "local_files_only": True}
    try:
        return SentenceTransformer(str(folder), model_kwargs={"dtype": getattr(torch, _precision(settings))}, **options)
    except (OSError, ValueError, KeyError, RuntimeError, AssertionError) as error:
        raise EmbeddingModelError(
            f"The embedding model {settings.model!r} in {str(folder)!r} cannot be loaded on device "
            f"{settings.device!r}: {error}"
        ) from error


def _precision(settings: EmbeddingSettings) -> Precision:
    """Return the number format of the weights. bfloat16 is faster only on a CPU that computes it."""
    import torch

    if settings.precision != "auto":
        return settings.precision
    capabilities = torch.cpu.get_capabilities()
    computes = capabilities.get("avx512_bf16") or capabilities.get("amx_bf16")
    return "bfloat16" if settings.device == "cpu" and computes else "float32"


def _normalized(encoded: torch.Tensor) -> Vectors:
    """Return vectors of length 1. In bfloat16, their lengths would differ by up to 0.4 %."""
    vectors: Vectors = encoded.float().cpu().numpy()
    vectors /= np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors


def _max_tokens(model: SentenceTransformer, name: str) -> int:
    """Return the model's window without the prompt and the special tokens."""
    prompt = next((model.prompts[key] for key in _DOCUMENT_PROMPTS if key in model.prompts), "")
    return _require(model.max_seq_length, "maximum sequence length", name) - len(model.tokenizer(prompt)["input_ids"])


def _require(number: int | None, what: str, name: str) -> int:
    if number is None:
        raise EmbeddingModelError(f"The embedding model {name!r} does not state its {what}. Choose another model.")
    return number
