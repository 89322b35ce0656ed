"""A console that is safe for untrusted text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from multi_agent.values.sources import readable


class SafeConsole(Console):
    """A console that replaces control characters in text, such as terminal escape sequences. Styles still work."""

    def render(self, *args: Any, **kwargs: Any) -> Iterable[Segment]:
        for segment in super().render(*args, **kwargs):
            yield segment if segment.control else Segment(readable(segment.text), segment.style)
