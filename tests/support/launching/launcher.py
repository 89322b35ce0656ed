"""A package of agents: the handyman with the tool `launch`."""

from __future__ import annotations

from typing import Any

from support.handyman import handyman

PACKAGE = "support.launching"
_Base: Any = handyman("launch").make


class Launcher(_Base):  # type: ignore[misc]
    """Found by its card, like every agent of a package."""
