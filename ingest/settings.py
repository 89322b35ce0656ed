"""Settings of ingest. ``api/settings.py`` reads them from files and the environment."""

from __future__ import annotations

import warnings
from typing import Any, Literal

from pydantic import Field, field_validator

from ingest.reader import OcrMode
from vectorstore.settings import SettingsGroup


class IngestSettings(SettingsGroup):
    """How files become chunks."""

    parser: str = Field(default="default", description="`default`, or `unstructured` (needs the extra `unstructured`)")

    chunk_tokens: int | None = Field(
        default=None, ge=32, description="tokens per chunk; default: the limit of the embedding model"
    )
    chunk_overlap: int = Field(
        default=64, ge=0, description="overlap in tokens, in whole sentences, between chunks of one long paragraph; "
        "at most a quarter of a chunk")  # fmt: skip
    ocr: OcrMode = Field(
        default=OcrMode.AUTO, description="recognize text on page images: on pages without text, on all, on none"
    )
    ocr_languages: tuple[str, ...] = Field(
        default=(), description="Tesseract language codes; default: all installed languages"
    )
    describe_figures: bool = Field(
        default=False, description="let the default model describe pages that are scans or have large figures, and "
        "index its descriptions; it must take pictures")  # fmt: skip
    facts: Literal["rules", "model"] = Field(
        default="rules", description="find facts such as issuer and period by rules alone, or ask the default model as "
        "well, one call per document; its facts are checked against the text")  # fmt: skip
    parse_workers: int = Field(default=2, ge=1, description="number of parser processes")
    parse_timeout_s: float = Field(
        default=300.0,
        gt=0,
        description="maximum seconds for parsing a file, and for splitting it into passages; for "
        "an archive or a message, unpacking each file in it",
    )
    parse_memory_mb: int = Field(
        default=2048,
        ge=256,
        description="memory in MB above which parsing a file fails; counts the programs that the "
        "parser starts, such as Tesseract",
    )
    max_file_mb: int = Field(default=200, gt=0, description="larger files are rejected")
    max_text_mb: int = Field(
        default=32, gt=0, description="files with more text than this many MB are rejected: a page has about 0.003 MB"
    )
    max_passages: int = Field(default=20_000, gt=0, description="files with more passages are rejected")
    allow_private_addresses: bool = Field(
        default=False, description="fetch web addresses also from this machine and from private networks"
    )
    embed_batch: int = Field(default=256, gt=0, description="chunks embedded and stored per batch")

    @field_validator("parser", mode="before")
    @classmethod
    def _read_renamed_parser(cls, given: Any) -> Any:
        if given != "kreuzberg":
            return given
        warnings.warn("The parser 'kreuzberg' is now called 'default'. Rename it.", FutureWarning, stacklevel=2)
        return "default"
