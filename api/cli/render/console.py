"""A console on which no text can act."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from multi_agent.sources import readable


class SafeConsole(Console):
    """Replaces control characters in text, such as the escape sequences of a terminal. Styles still work."""

    def render(self, *args: Any, **kwargs: Any) -> Iterable[Segment]:
        for segment in super().render(*args, **kwargs):
            yield segment if segment.control else Segment(readable(segment.text), segment.style)
