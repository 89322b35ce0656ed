"""Defines the request for a page image and its result, which the renderer and its child process exchange."""

from __future__ import annotations

from pydantic import Field

from vectorstore.models import FrozenModel

PageBox = tuple[float, float, float, float]
"""Left, top, right and bottom, in fractions of the page's width and height."""


class PageRequest(FrozenModel):
    """A page to render. ``text[start:end]`` of its parsed text is highlighted unless it is empty."""

    path: str
    page: int
    text: str = ""
    start: int = 0
    end: int = 0
    scale: float = Field(default=0.0, description="pixels per point, or per pixel of an image; 0 for no image")
    longest: int | None = Field(default=None, gt=0, description="maximum pixels on the longer side")


class RenderedPage(FrozenModel):
    """The size of a rendered page and its highlighted boxes, or the error."""

    width: float = Field(default=0.0, description="in points, or in pixels of an image")
    height: float = 0.0
    located: bool = Field(default=False, description="whether the text was located with certainty")
    boxes: tuple[PageBox, ...] = Field(default=(), description="highlighted boxes: left, top, right and bottom, in "
                                       "fractions of the page")  # fmt: skip
    error: str = ""
