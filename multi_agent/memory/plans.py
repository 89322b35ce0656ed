"""Plans that are kept across runs: templates that the user saved under a name, and plans that led to an answer.

They are examples for the planner, or chosen by the user by name; nothing falls back on them.
"""

from __future__ import annotations

from pydantic import Field

from multi_agent.plan import Plan
from vectorstore.models import Value


class PlanExample(Value):
    """A kept plan, with the question that it was made for."""

    name: str = Field(default="", description="of a template; empty for a plan that is only remembered")
    question: str
    plan: Plan
    similarity: float = Field(default=1.0, description="of its question to the one that was asked for")
