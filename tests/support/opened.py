"""Records which files this process opens, with Python's audit hook."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_listening: list[list[str]] = []


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """Yield a list that collects the paths that any thread opens within the block."""
    _install_hook()
    opened: list[str] = []
    _listening.append(opened)
    try:
        yield opened
    finally:
        _listening[:] = [each for each in _listening if each is not opened]


@cache
def _install_hook() -> None:
    """Install the hook once: audit hooks cannot be removed."""
    sys.addaudithook(_on_event)


def _on_event(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open":
        for opened in _listening:
            opened.append(str(arguments[0]))
