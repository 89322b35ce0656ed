"""Settings of the store and of the embedding model. Where they come from is the business of ``api/settings.py``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

DEFAULT_MODEL = "all-MiniLM-L6-v2"


class EmbeddingSettings(BaseModel):
    """Which model embeds passages and queries, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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


class VectorStoreSettings(BaseModel):
    """Where collections live, and the model that embeds them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str | None = Field(default=None, description="of a Qdrant server; none means embedded in this process")
    api_key: SecretStr | None = Field(default=None, description="of the Qdrant server")
    embedding: EmbeddingSettings = EmbeddingSettings()
