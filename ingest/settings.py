"""The settings of the package: plain values, read from the environment by nobody here."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class IngestSettings(BaseModel):
    """How files become chunks."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    parser: str = Field(default="kreuzberg", description="name of a module in ingest/parsers")
    chunk_tokens: int | None = Field(
        default=None, ge=32, description="tokens of an embedded chunk; default: all that the embedding model reads"
    )
    chunk_overlap: int = Field(default=0, ge=0, description="tokens of prose repeated from the chunk before")
    max_file_mb: int = Field(default=200, gt=0, description="larger files are refused")
    embed_batch: int = Field(default=256, gt=0, description="chunks embedded and stored at once, across files")
