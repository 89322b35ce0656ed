"""The request for a page image and its result, exchanged by the renderer and its child process."""

from __future__ import annotations

from pydantic import Field

from base.models import FrozenModel

PageBox = tuple[float, float, float, float]
"""Left, top, right and bottom, in fractions of the page's width and height."""


Mark = tuple[int, int]
"""Start and end of a text to highlight. An empty span highlights nothing."""


class PageRequest(FrozenModel):
    """A page to render. The marks are spans of its parsed text, which are located and highlighted."""

    path: str
    page: int
    text: str = ""
    marks: tuple[Mark, ...] = ()
    highlight: bool = True
    scale: float = Field(default=0.0, description="pixels per point, or per pixel of an image; 0 for no image")
    longest: int | None = Field(default=None, gt=0, description="maximum pixels on the longer side")


class RenderedPage(FrozenModel):
    """The size of a rendered page and the boxes of its marks, or the error."""

    width: float = Field(default=0.0, description="in points, or in pixels of an image")
    height: float = 0.0
    marks: tuple[tuple[PageBox, ...], ...] = Field(
        default=(), description="the boxes of each mark; empty for a mark with an uncertain position"
    )
    error: str = ""

    @property
    def boxes(self) -> tuple[PageBox, ...]:
        """The boxes of all marks."""
        return tuple(box for boxes in self.marks for box in boxes)
