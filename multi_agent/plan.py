"""What a plan is: a goal, and steps that say which agent does what after which others. Values only; the planner makes
plans, ``orchestrator/validation.py`` finds their faults, the executor runs them.

An input or an instruction may name what an earlier step gave, as ``@{outputs.STEP.FIELD}``; to name a step is to need
it. ``orchestrator/references.py`` resolves such references.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from pydantic import Field, JsonValue

from vectorstore.models import FrozenModel

Mode = Literal["fast", "high", "direct"]
STEP_ID = r"^[a-z][a-z0-9_]{0,39}$"
REFERENCE = re.compile(r"@\{outputs\.([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)\}")
_OPENING = "@{"


class Reference(NamedTuple):
    """A field of a step's output."""

    step: str
    field: str

    def __str__(self) -> str:
        return f"@{{outputs.{self.step}.{self.field}}}"


def references(value: JsonValue) -> tuple[Reference, ...]:
    """All references in a value, nested ones included, each once."""
    found = (Reference(*match) for text in _texts(value) for match in REFERENCE.findall(text))
    return tuple(dict.fromkeys(found))


def malformed(value: JsonValue) -> tuple[str, ...]:
    """The texts that begin a reference and do not end it as one."""
    return tuple(text for text in _texts(value) if text.count(_OPENING) != len(REFERENCE.findall(text)))


class Step(FrozenModel):
    """One agent's turn; or the same turn of several agents, whose results are compared."""

    id: str = Field(pattern=STEP_ID)
    agents: tuple[str, ...] = Field(min_length=1)
    instruction: str
    needs: tuple[str, ...] = Field(default=(), description="ids of the steps that must be finished before")
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    final: bool = Field(default=False, description="delivers the answer itself")
    why: str = ""

    @property
    def told(self) -> list[JsonValue]:
        """What may hold references: its instruction and its inputs."""
        return [self.instruction, self.inputs]

    @property
    def after(self) -> tuple[str, ...]:
        """Ids of the steps that it waits for: those it needs, and those whose outputs it names."""
        return tuple(dict.fromkeys((*self.needs, *(reference.step for reference in references(self.told)))))


class Plan(FrozenModel):
    """The way to an answer."""

    goal: str
    mode: Mode = "high"
    steps: tuple[Step, ...] = Field(min_length=1)

    def before(self, step: Step) -> frozenset[str]:
        """Ids of all steps that are finished when ``step`` starts, through any chain of needs."""
        by_id = {each.id: each for each in self.steps}
        found: set[str] = set()
        waiting = list(step.after)
        while waiting:
            need = waiting.pop()
            if need not in found and need in by_id:
                found.add(need)
                waiting.extend(by_id[need].after)
        return frozenset(found)

    @property
    def tried(self) -> frozenset[str]:
        """What it tries, whatever its steps are called: agents with their instructions and inputs.

        Two plans that try the same are the same attempt.
        """
        tried = ([sorted(step.agents), " ".join(step.instruction.split()), step.inputs] for step in self.steps)
        return frozenset(json.dumps(each, sort_keys=True).casefold() for each in tried)


class PlanExample(FrozenModel):
    """A plan that was saved, or that worked, for a question like the one at hand."""

    name: str = Field(default="", description="empty for one that was not saved under a name")
    question: str
    plan: Plan
    similarity: float = 1.0


def _texts(value: JsonValue) -> Iterator[str]:
    """Every string in a nested value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
