"""Settings of the vector store and the embedding model. ``api/settings.py`` reads them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

_CREDENTIALS = re.compile(r"""(://|^['"]?(?=[^/\s'"]*:[^/\s'"]*@))[^/\s'"]*@""")
"""What comes before the host of a URL, also of one without `http://`."""
DEFAULT_MODEL = "all-MiniLM-L6-v2"


class SettingsGroup(BaseModel):
    """Base of the settings classes: frozen, rejects unknown keys, reads renamed keys with a warning."""

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
    """Return a URL, or a text with URLs, with `***` for their names and passwords."""
    return _CREDENTIALS.sub(r"\1***@", text)


class EmbeddingSettings(SettingsGroup):
    """Which model embeds passages and queries, and how."""

    model: str = Field(
        default=DEFAULT_MODEL,
        description="the bundled all-MiniLM-L6-v2, or the hub id or folder of any sentence-transformers model",
    )
    precision: Literal["auto", "bfloat16", "float32"] = Field(
        default="auto",
        description="of the passages' computation: auto is bfloat16 where the CPU computes it, float32 elsewhere",
    )
    device: str = Field(default="cpu", description="PyTorch device, such as cpu, cuda or mps")
    batch_size: int = Field(default=8, gt=0, description="passages computed at once; more pay on a GPU only")


class VectorStoreSettings(SettingsGroup):
    """Where collections live, and the model that embeds them."""

    url: str | None = Field(default=None, description="of a Qdrant server; none means embedded in this process")
    api_key: SecretStr | None = Field(default=None, description="of the Qdrant server")
    embedding: EmbeddingSettings = EmbeddingSettings()
