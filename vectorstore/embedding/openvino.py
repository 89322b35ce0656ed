"""OpenVINO in the place of PyTorch in a sentence-transformers model: faster on x86-64 CPUs.

sentence-transformers' own OpenVINO backend needs optimum-intel, which does not support transformers 5.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from platformdirs import user_cache_path
from transformers.modeling_outputs import BaseModelOutput
from transformers.utils import logging as transformers_logging

from vectorstore.embedding.openvino_telemetry import block_openvino_telemetry
from vectorstore.errors import EmbeddingModelError

block_openvino_telemetry()
import openvino  # noqa: E402
from openvino import frontend  # noqa: E402

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

log = logging.getLogger(__name__)

CACHE = user_cache_path("candor") / "openvino"
"""The folder of converted models, each about as large as its weights in float32. It can be deleted."""
_HINTS = {"bfloat16": "bf16", "float32": "f32"}
_SAMPLES = ["heat pump", "A heat pump moves heat from the ground into a house.", "It costs 12,000 euros. " * 12]
_LEAST_COSINE = 0.999  # of a sample to PyTorch in float32; it is 0.9999 and more in bfloat16
_FAILURES = (
    RuntimeError, ValueError, TypeError, KeyError, IndexError, AttributeError,  # from PyTorch's tracing
    frontend.GeneralFailure, frontend.OpConversionFailure, frontend.OpValidationFailure,
)  # fmt: skip


class OpenVINOModel(torch.nn.Module):
    """The transformer of a sentence-transformers model. Only one thread at a time may use it."""

    def __init__(self, config: Any, converted: Any, precision: str) -> None:
        super().__init__()
        self.config, self.dtype = config, torch.float32
        compiled = openvino.compile_model(converted, "CPU", {"INFERENCE_PRECISION_HINT": _HINTS[precision]})
        self._inputs = [each.get_any_name() for each in converted.inputs]
        self._request = compiled.create_infer_request()

    def forward(self, **features: torch.Tensor) -> BaseModelOutput:
        """Return the vectors of the tokens: shape (texts, tokens, dimension)."""
        outputs = self._request.infer({name: features[name].numpy() for name in self._inputs}, share_inputs=True)
        return BaseModelOutput(last_hidden_state=torch.from_numpy(outputs[0]))


def use_openvino(model: SentenceTransformer, name: str, precision: str) -> None:
    """Let OpenVINO compute the model, which is in float32. Raises EmbeddingModelError, and leaves the model as it is.

    A few texts are embedded with both, because a conversion can succeed and compute something else.
    """
    original = getattr(model[0], "model", None)
    try:
        if not isinstance(original, torch.nn.Module):
            raise TypeError(f"its first module is a {type(model[0]).__name__}, not a transformer")
        expected = _embed(model)
        model[0].model = OpenVINOModel(original.config, _converted(model), precision)
        least = torch.sum(expected * _embed(model), dim=1).min().item()
        if least < _LEAST_COSINE:
            raise ValueError(
                f"it computes other vectors than PyTorch (cosine {least:.4f}). If an earlier start could load it, "
                f"delete the folder {str(CACHE)!r}"
            )
    except _FAILURES as error:
        if original is not None:
            model[0].model = original
        raise EmbeddingModelError(
            f"OpenVINO cannot compute the embedding model {name!r}: {str(error).strip().splitlines()[0]}. "
            'Set `backend = "torch"` in `[store.embedding]`.'
        ) from error


def _embed(model: SentenceTransformer) -> torch.Tensor:
    return model.encode(_SAMPLES, normalize_embeddings=True, show_progress_bar=False, convert_to_tensor=True)


def _converted(model: SentenceTransformer) -> Any:
    """Return the model in OpenVINO's format, from the cache if an earlier start converted it."""
    digest = _digest(model[0].model)
    folder = CACHE / f"{digest}-{version('openvino')}-{version('transformers')}"
    if folder.exists():
        try:
            return openvino.Core().read_model(folder / "model.xml")
        except RuntimeError as error:
            log.warning("The converted model in %s cannot be read. It is converted again. %s", folder, error)
            shutil.rmtree(folder, ignore_errors=True)
    converted = _convert(model)
    try:
        _keep(converted, folder, digest)
    except (OSError, RuntimeError) as error:
        log.warning("The converted model cannot be kept in %s, so the next start converts it again: %s", CACHE, error)
    return converted


def _digest(transformer: Any) -> str:
    """Return the SHA-256 of the configuration and the weights."""
    digest = hashlib.sha256(transformer.config.to_json_string().encode())
    for name, tensor in transformer.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.contiguous().numpy())
    return digest.hexdigest()


def _convert(model: SentenceTransformer) -> Any:
    """Trace the model. Two texts of different lengths make the attention mask a part of the trace."""
    features = model.preprocess(_SAMPLES[:2])
    example = {name: value for name, value in features.items() if torch.is_tensor(value)}
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch lists the values that the trace keeps
            return openvino.convert_model(model[0].model, example_input=example)
    finally:
        transformers_logging.set_verbosity(verbosity)


def _keep(converted: Any, folder: Path, digest: str) -> None:
    """Write the converted model into the folder, which appears when it is complete. Raises OSError, RuntimeError."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, ignore_cleanup_errors=True) as temporary:
        openvino.save_model(converted, Path(temporary) / "model" / "model.xml", compress_to_fp16=False)
        for outdated in set(CACHE.glob(f"{digest}-*")) - {folder}:
            shutil.rmtree(outdated, ignore_errors=True)
        if not folder.exists():  # another process may have been faster
            (Path(temporary) / "model").rename(folder)
