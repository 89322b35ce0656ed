"""A picture that a message carries to a model."""

from __future__ import annotations

import hashlib
from math import ceil
from typing import Self

from pydantic import Field

from vectorstore.models import FrozenModel

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = 24  # bytes up to and including width and height
_PATCH = 28  # pixels
_FEWEST_TOKENS = 256


class Picture(FrozenModel):
    """A PNG image. Only its hash and its size are stored and compared; ``png`` is empty in a stored message.

    Two requests are equal if the hashes of their pictures are. So a journal needs no images to answer a request again.
    """

    sha256: str = Field(description="hash of the PNG file")
    size: int = Field(ge=0, description="bytes of the PNG file")
    width: int = Field(gt=0, description="in pixels")
    height: int = Field(gt=0, description="in pixels")
    png: bytes = Field(default=b"", exclude=True, repr=False, description="the PNG file")

    @classmethod
    def of(cls, png: bytes) -> Self:
        """Return the picture in a PNG file. Raises ValueError if it is none."""
        if len(png) < _HEADER or not png.startswith(_SIGNATURE):
            raise ValueError("a picture for a model must be a PNG file")
        width, height = (int.from_bytes(png[start : start + 4], "big") for start in (16, 20))
        return cls(sha256=hashlib.sha256(png).hexdigest(), size=len(png), width=width, height=height, png=png)

    def __str__(self) -> str:
        return f"{self.width} × {self.height} pixels, {self.size:,} bytes, SHA-256 {self.sha256[:12]}"

    @property
    def tokens(self) -> int:
        """An estimate of the tokens that the picture takes in a prompt; it errs on the high side.

        Models of the Qwen-VL family take one token for 28 by 28 pixels, and more than most others: OpenAI's take at
        most 1,105 for a page, Gemma always takes 256, Llama 3.2 at most 1,601.
        """
        return max(_FEWEST_TOKENS, ceil(self.width / _PATCH) * ceil(self.height / _PATCH))
