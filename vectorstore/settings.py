"""Settings of the vector store and the embedding model. ``api/settings.py`` reads them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

_CREDENTIALS = re.compile(r"""(://|^['"]?(?=[^/\s'"]*:[^/\s'"]*@))[^/\s'"]*@""")
"""The scheme and credentials before the host of a URL. The scheme is optional."""
DEFAULT_MODEL = "all-MiniLM-L6-v2"


class SettingsGroup(BaseModel):
    """Base of the settings classes. Instances are frozen. Unknown keys are rejected, renamed keys cause a warning."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    renamed: ClassVar[Mapping[str, str]] = {}
    """Old key names and their new names."""

    @model_validator(mode="before")
    @classmethod
    def _read_renamed(cls, given: Any) -> Any:
        old_names = [old for old in cls.renamed if isinstance(given, dict) and old in given]
        if not old_names:
            return given
        current = dict(given)
        for old in old_names:
            new = cls.renamed[old]
            if new in current:
                raise ValueError(f"{old!r} is the old name of {new!r}; set only {new!r}")
            current[new] = current.pop(old)
            warnings.warn(f"The setting {old!r} is now called {new!r}. Rename it.", FutureWarning, stacklevel=2)
        return current


def without_password(text: str) -> str:
    """Replace user names and passwords in the URLs of a text with `***`."""
    return _CREDENTIALS.sub(r"\1***@", text)


class EmbeddingSettings(SettingsGroup):
    """The model that embeds passages and queries, and its options."""

    model: str = Field(
        default=DEFAULT_MODEL,
        description="hub id or folder of a sentence-transformers model; by default, the bundled all-MiniLM-L6-v2",
    )
    precision: Literal["auto", "bfloat16", "float32"] = Field(
        default="auto",
        description="number format for embedding passages; auto is bfloat16 if the CPU supports it, otherwise float32",
    )
    device: str = Field(default="cpu", description="PyTorch device, such as cpu, cuda or mps")
    batch_size: int = Field(default=8, gt=0, description="passages per batch; larger batches are faster only on a GPU")


class VectorStoreSettings(SettingsGroup):
    """The location of collections, and the model that embeds them."""

    url: str | None = Field(default=None, description="URL of a Qdrant server; without it, Qdrant runs in this process")
    api_key: SecretStr | None = Field(default=None, description="API key of the Qdrant server")
    embedding: EmbeddingSettings = EmbeddingSettings()
