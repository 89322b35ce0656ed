"""Any sentence-transformers model, from a folder, the local cache of the Hugging Face hub, or the hub itself.

A model that is on this machine is never looked up on the network.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vectorstore.embedding.bundled import BUNDLE_LANGUAGES, bundled_model
from vectorstore.embedding.torch_support import autocast, load_error, use_bfloat16
from vectorstore.errors import EmbeddingModelError
from vectorstore.settings import DEFAULT_MODEL, EmbeddingSettings
from vectorstore.store import Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_DOCUMENT_PROMPTS = ("document", "passage", "corpus")


class SentenceTransformerEmbedder:
    """A sentence-transformers model, with the prompts it was trained with for passages and for queries."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._model = _load(settings)
        self._batch_size = settings.batch_size
        self._bfloat16 = use_bfloat16(settings)
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
        with self._lock, autocast(self._bfloat16):
            return self._model.encode_document(
                list(texts), batch_size=self._batch_size, normalize_embeddings=True, show_progress_bar=False
            ).astype(np.float32, copy=False)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector, always in float32: bfloat16 is no faster for one short text."""
        with self._lock:
            return self._model.encode_query(text, normalize_embeddings=True, show_progress_bar=False)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        if not texts:
            return []
        with self._lock:
            encoded = self._model.tokenizer(
                list(texts), add_special_tokens=False, return_attention_mask=False, truncation=False, verbose=False
            )
        return [len(ids) for ids in encoded["input_ids"]]


def _load(settings: EmbeddingSettings) -> SentenceTransformer:
    if settings.model == DEFAULT_MODEL:
        return _load_from(bundled_model(), settings)
    folder = Path(settings.model).expanduser()
    return _load_from(folder if folder.is_dir() else _download(settings.model), settings)


def _download(model: str) -> Path:
    """Return the folder of a model from the hub's cache, after downloading it if it is missing."""
    from huggingface_hub import model_info, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled

    # The HTTP library that the hub uses differs between its versions.
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]

    repository = model if "/" in model else f"sentence-transformers/{model}"
    try:
        return Path(snapshot_download(repository, local_files_only=True))
    except LocalEntryNotFoundError:
        pass
    except HFValidationError as error:
        raise EmbeddingModelError(f"The embedding model {model!r} is neither a folder nor a hub id: {error}") from error
    try:
        model_info(repository, timeout=10)  # without a network, the download itself would retry for a minute
        return Path(snapshot_download(repository, ignore_patterns=["onnx/*", "openvino/*", "*.h5", "*.ot"]))
    except HfHubHTTPError as error:
        raise EmbeddingModelError(f"The hub does not provide the embedding model {model!r}: {error}") from error
    except (httpx.HTTPError, OSError, OfflineModeIsEnabled) as error:
        raise EmbeddingModelError(
            f"The embedding model {model!r} is not a folder, is not in the hub's cache on this machine, and the hub "
            f"cannot be reached ({error}). Download the model on a machine with a network and set its folder, or use "
            f"{DEFAULT_MODEL!r}, which needs no network."
        ) from error


def _load_from(folder: Path, settings: EmbeddingSettings) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        return SentenceTransformer(str(folder), device=settings.device, local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError, AssertionError) as error:
        raise load_error(settings, folder, error) from error


def _max_tokens(model: SentenceTransformer, name: str) -> int:
    """Return the model's window without the prompt and the special tokens."""
    prompt = next((model.prompts[key] for key in _DOCUMENT_PROMPTS if key in model.prompts), "")
    return _require(model.max_seq_length, "maximum sequence length", name) - len(model.tokenizer(prompt)["input_ids"])


def _require(number: int | None, what: str, name: str) -> int:
    if number is None:
        raise EmbeddingModelError(f"The embedding model {name!r} does not state its {what}. Choose another model.")
    return number
