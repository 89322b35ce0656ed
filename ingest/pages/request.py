"""What may be wished of a page, and what comes of it: between the process that draws pages and the one that asks."""

from __future__ import annotations

from pydantic import Field

from vectorstore.models import FrozenModel

PageBox = tuple[float, float, float, float]
"""Left, top, right and bottom, in fractions of the page's width and height."""


class PageRequest(FrozenModel):
    """A page to be shown, and the part text[start:end] of its parsed text to be marked; none if they are equal."""

    path: str
    page: int
    text: str = ""
    start: int = 0
    end: int = 0
    scale: float = Field(default=0.0, description="pixels per point, or per pixel of an image; 0 for no picture")


class Drawn(FrozenModel):
    """The page as it was drawn, or the fault that kept it from being drawn."""

    width: float = Field(default=0.0, description="in points, or in pixels of an image")
    height: float = 0.0
    located: bool = Field(default=False, description="whether it is sure where the part stands on the page")
    boxes: tuple[PageBox, ...] = Field(default=(), description="left, top, right and bottom of what is marked, in "
                                       "fractions of the page")  # fmt: skip
    fault: str = ""
