"""Plans that are kept: those saved under a name, and those that worked. Found by how like their question is."""

from __future__ import annotations

from multi_agent.plan import PlanExample

__all__ = ["PlanExample"]
