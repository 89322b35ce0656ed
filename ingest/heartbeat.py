"""Progress of a parser on a file that takes long. Each report restarts the time limit of the file."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

listener: ContextVar[Callable[[], None] | None] = ContextVar("listener", default=None)
"""Called on each report. The code that runs the parser sets it."""


def still_working() -> None:
    """Report progress. Parsers call it after each part that may take seconds, such as recognising one page."""
    report = listener.get()
    if report is not None:
        report()
