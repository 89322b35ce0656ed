"""A picture in a message to a model."""

from __future__ import annotations

import hashlib
from math import ceil
from typing import Self

from pydantic import Field

from base.models import FrozenModel

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = 24  # bytes up to and including width and height
_PATCH = 28  # pixels; one token covers a square of this side
_FEWEST_TOKENS = 256  # of one picture


class Picture(FrozenModel):
    """A PNG image. A stored message has the hash and the size of the image, but ``png`` is empty.

    Requests with the same picture hashes are equal, so the journal can replay a request without the image.
    """

    sha256: str = Field(description="hash of the PNG file")
    size: int = Field(ge=0, description="bytes of the PNG file")
    width: int = Field(gt=0, description="in pixels")
    height: int = Field(gt=0, description="in pixels")
    png: bytes = Field(default=b"", exclude=True, repr=False, description="the PNG file")

    @classmethod
    def of(cls, png: bytes) -> Self:
        """Return the picture in a PNG file. Raises ValueError for any other format."""
        if len(png) < _HEADER or not png.startswith(_SIGNATURE):
            raise ValueError("a picture for a model must be a PNG file")
        width, height = (int.from_bytes(png[start : start + 4], "big") for start in (16, 20))
        return cls(sha256=hashlib.sha256(png).hexdigest(), size=len(png), width=width, height=height, png=png)

    def __str__(self) -> str:
        return f"{self.width} × {self.height} pixels, {self.size:,} bytes, SHA-256 {self.sha256[:12]}"

    @property
    def tokens(self) -> int:
        """A high estimate of the tokens that the picture takes in a prompt.

        It follows the Qwen-VL models, which take one token per 28 × 28 pixels. Most other models take fewer: OpenAI's
        at most 1,105 for a page, Llama 3.2 at most 1,601, Gemma always 256.
        """
        return max(_FEWEST_TOKENS, ceil(self.width / _PATCH) * ceil(self.height / _PATCH))
