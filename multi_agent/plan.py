"""What a plan is: a goal, and steps that say which agent does what after which others. Values only; the planner makes
plans, ``orchestrator/validation.py`` finds their faults, the executor runs them.
"""

from __future__ import annotations

from pydantic import Field, JsonValue

from vectorstore.models import Value


class Step(Value):
    """One agent's turn."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    agent: str
    instruction: str
    needs: tuple[str, ...] = Field(default=(), description="ids of the steps that must be finished before")
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    why: str = ""


class Plan(Value):
    """The way to an answer."""

    goal: str
    steps: tuple[Step, ...] = Field(min_length=1)

    def before(self, step: Step) -> frozenset[str]:
        """Ids of all steps that are finished when ``step`` starts, through any chain of needs."""
        by_id = {each.id: each for each in self.steps}
        found: set[str] = set()
        waiting = list(step.needs)
        while waiting:
            need = waiting.pop()
            if need not in found and need in by_id:
                found.add(need)
                waiting.extend(by_id[need].needs)
        return frozenset(found)
