"""How a parser says that it gets on with a file that takes long, so that its time limit counts from there."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

listener: ContextVar[Callable[[], None] | None] = ContextVar("listener", default=None)
"""Who wants to know; set by what runs the parser."""


def still_working() -> None:
    """To be called by a parser after each part that may take seconds, such as the text recognition of one page."""
    tell = listener.get()
    if tell is not None:
        tell()
