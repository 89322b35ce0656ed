"""Settings of the vector store and the embedding model. ``api/settings.py`` reads them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

_CREDENTIALS = re.compile(r"""(://|^['"]?(?=[^/\s'"]*:[^/\s'"]*@))[^/\s'"]*@""")
"""The scheme and credentials before the host of a URL. The scheme is optional."""
DEFAULT_MODEL = "all-MiniLM-L6-v2"


class SettingsGroup(BaseModel):
    """Base of the settings classes. Instances are frozen.

    Unknown keys are rejected. Renamed keys, and keys that have become constants, cause a warning.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    renamed: ClassVar[Mapping[str, str]] = {}
    """Old key names and their new names."""
    constants: ClassVar[Collection[str]] = ()
    """Names of former settings. Each is a class attribute with its value."""

    @model_validator(mode="before")
    @classmethod
    def _read_old_names(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        current = dict(given)
        for old, new in cls.renamed.items():
            if old not in current:
                continue
            if new in current:
                raise ValueError(f"{old!r} is the old name of {new!r}; set only {new!r}")
            current[new] = current.pop(old)
            warnings.warn(f"The setting {old!r} is now called {new!r}. Rename it.", FutureWarning, stacklevel=2)
        for name in current.keys() & {*cls.constants}:
            current.pop(name)
            warnings.warn(
                f"{name!r} is no longer a setting, its value is {getattr(cls, name)}. Remove it.",
                FutureWarning, stacklevel=2,
            )  # fmt: skip
        return current


def without_password(text: str) -> str:
    """Replace user names and passwords in the URLs of a text with `***`."""
    return _CREDENTIALS.sub(r"\1***@", text)


class EmbeddingSettings(SettingsGroup):
    """The model that embeds passages and queries, and its options."""

    constants: ClassVar[tuple[str, ...]] = ("batch_size",)
    batch_size: ClassVar[int] = 16
    """Passages per batch. Larger batches are faster only on a GPU."""

    model: str = Field(
        default=DEFAULT_MODEL,
        description="hub id or folder of a sentence-transformers model; by default, the bundled all-MiniLM-L6-v2",
    )
    precision: Literal["auto", "bfloat16", "float32"] = Field(
        default="auto",
        description="number format of the weights; auto is bfloat16 if the CPU computes it, otherwise float32",
    )
    backend: Literal["auto", "torch", "openvino"] = Field(
        default="auto",
        description="library that computes the model; auto is OpenVINO on an x86-64 CPU if it is installed "
        "(`pip install 'candor[openvino]'`) and can compute the model, otherwise PyTorch; "
        "with the bundled model, NumPy embeds the first 128 passages of a process, because the others start slowly",
    )
    device: str = Field(
        default="cpu", description="PyTorch device, such as cpu, cuda or mps; OpenVINO computes on the CPU only"
    )

    @model_validator(mode="after")
    def _check_device(self) -> Self:
        if self.backend == "openvino" and self.device != "cpu":
            raise ValueError('backend = "openvino" computes on the CPU only: set device = "cpu", or backend = "torch"')
        return self


class VectorStoreSettings(SettingsGroup):
    """The location of collections, and the model that embeds them."""

    url: str | None = Field(
        default=None,
        description="URL of a Qdrant server, or URLs of several nodes of a cluster separated by commas: the next one "
        "is used when one does not answer; without it, Qdrant runs in this process",
    )
    api_key: SecretStr | None = Field(default=None, description="API key of the Qdrant server")
    timeout_s: float = Field(default=30, ge=1, description="maximum seconds of one request to the server")
    retry_s: float = Field(
        default=30,
        ge=0,
        description="seconds for which a request is repeated while no node can answer it, such as during a restart; 0: "
        "each node is tried once",
    )
    shards: int = Field(
        default=1,
        ge=1,
        description="parts of a new collection on a server, on different nodes; more than 1 only if the "
        "memory of one node is too small (above about 5 million passages), because it affects the ranking",
    )
    replicas: int = Field(
        default=1,
        ge=1,
        description="copies of each shard of a new collection, on different nodes; 2 or 3 on a cluster, so that the "
        "collection can be used while a node is down",
    )
    write_consistency: int = Field(
        default=1,
        ge=1,
        description="copies that must confirm a write in a new collection; above 1, the loss of a disk loses no "
        "confirmed write, but fewer nodes may be down during an ingest",
    )
    on_disk: tuple[Literal["payload", "vectors"], ...] = Field(
        default=("payload",),
        description="what a new collection on a server reads from disk instead of memory: payload (texts), and vectors "
        "for collections larger than memory (above about 1 million passages per 4 GB)",
    )
    quantization: Literal["none", "int8"] = Field(
        default="none",
        description="compression of the vectors in memory in a new collection on a server; int8 needs a quarter of the "
        "memory, for more than about 1 million passages, usually with vectors on disk",
    )
    embedding: EmbeddingSettings = EmbeddingSettings()

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str | None) -> str | None:
        if url is not None and not all(part.strip() for part in url.split(",")):
            raise ValueError("name at least one URL, and no empty ones between commas")
        return url

    @model_validator(mode="after")
    def _check_copies(self) -> Self:
        if self.write_consistency > self.replicas:
            raise ValueError("write_consistency must not be greater than replicas: no more copies can confirm a write")
        return self
