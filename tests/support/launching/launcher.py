"""The handyman as a package of agents: it may launch things."""

from __future__ import annotations

from typing import Any

from support.handyman import handyman

PACKAGE = "support.launching"
_Base: Any = handyman("launch").make


class Launcher(_Base):  # type: ignore[misc]
    """Found by its card, like every agent of a package."""
