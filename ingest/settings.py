"""The settings of the package: plain values, read from the environment by nobody here."""

from __future__ import annotations

import warnings
from typing import Any

from pydantic import Field, field_validator

from ingest.reader import OcrMode
from vectorstore.settings import SettingsGroup


class IngestSettings(SettingsGroup):
    """How files become chunks."""

    parser: str = Field(default="default", description="name of a module in ingest/parsers")

    @field_validator("parser", mode="before")
    @classmethod
    def _read_renamed_parser(cls, given: Any) -> Any:
        if given != "kreuzberg":
            return given
        warnings.warn("The parser 'kreuzberg' is now called 'default'. Rename it.", FutureWarning, stacklevel=2)
        return "default"

    chunk_tokens: int | None = Field(
        default=None, ge=32, description="tokens of an embedded chunk; default: all that the embedding model reads"
    )
    chunk_overlap: int = Field(
        default=64, ge=0, description="tokens that a chunk repeats, in whole sentences, of the one before, where a "
        "paragraph is too long for one; a quarter of a chunk at most")  # fmt: skip
    ocr: OcrMode = Field(default=OcrMode.AUTO, description="recognise the text of page images: auto, always, never")
    ocr_languages: tuple[str, ...] = Field(default=(), description="Tesseract's codes; none: all that are installed")
    parse_workers: int = Field(default=2, ge=1, description="processes that parse, beside the one that embeds")
    parse_timeout_s: float = Field(default=300.0, gt=0, description="a file that takes longer to parse fails")
    parse_memory_mb: int = Field(default=2048, ge=256, description="a file that takes more memory to parse fails")
    max_file_mb: int = Field(default=200, gt=0, description="larger files are refused")
    embed_batch: int = Field(default=256, gt=0, description="chunks embedded and stored at once, across files")
