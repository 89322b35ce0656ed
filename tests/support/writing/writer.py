"""A package of agents: the handyman with tools to write files and calculate."""

from __future__ import annotations

from typing import Any

from support.handyman import handyman

PACKAGE = "support.writing"
_Base: Any = handyman("write_file", "calculator").make


class Writer(_Base):  # type: ignore[misc]
    """Found by its card, like every agent of a package."""
