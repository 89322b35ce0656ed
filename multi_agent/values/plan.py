"""Plans and their outcomes. A plan has a goal and steps, each with its agents, its task and the steps it waits for.

This module contains only values. The planner makes plans, ``orchestrator/planning/validation.py`` checks them and the
executor runs them.

An input or an instruction may reference an output of an earlier step as ``@{outputs.STEP.FIELD}``. The step then waits
for that step. ``orchestrator/planning/references.py`` resolves references.

A saved plan is a template: its texts may contain ``@{question}`` and, for each parameter, ``@{inputs.NAME}``.
``orchestrator/planning/templates.py`` fills them in.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from pydantic import Field, JsonValue

from base.models import FrozenModel

Mode = Literal["fast", "high", "direct"]
STEP_ID = r"^[a-z][a-z0-9_]{0,39}$"
REFERENCE = re.compile(r"@\{outputs\.([a-z][a-z0-9_]*)\.([a-z][a-z0-9_]*)\}")
PLACEHOLDER = re.compile(r"@\{(question|inputs\.[a-z][a-z0-9_]*)\}")
_OPENING = "@{"


class Reference(NamedTuple):
    """A field of a step's output."""

    step: str
    field: str

    def __str__(self) -> str:
        return f"@{{outputs.{self.step}.{self.field}}}"


def find_references(value: JsonValue) -> tuple[Reference, ...]:
    """Return all references in a value, including nested ones, without duplicates."""
    found = (Reference(*match) for text in texts_of(value) for match in REFERENCE.findall(text))
    return tuple(dict.fromkeys(found))


def find_malformed(value: JsonValue) -> tuple[str, ...]:
    """Return the texts with an incomplete reference."""
    return tuple(text for text in texts_of(value) if text.count(_OPENING) != len(REFERENCE.findall(text)))


def find_placeholders(value: JsonValue) -> tuple[str, ...]:
    """Return the placeholders in a value, ``question`` and ``inputs.NAME``, without duplicates."""
    return tuple(dict.fromkeys(name for text in texts_of(value) for name in PLACEHOLDER.findall(text)))


class Step(FrozenModel):
    """One task for an agent, or the same task for several agents whose results are compared."""

    id: str = Field(pattern=STEP_ID)
    agents: tuple[str, ...] = Field(min_length=1)
    instruction: str = Field(description="instruction for the agent; empty if the agent reads none")
    needs: tuple[str, ...] = Field(default=(), description="ids of the steps that must be finished before")
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    final: bool = Field(default=False, description="whether the step writes the answer itself")
    why: str = Field(default="", description="only in older plans: why it is needed")

    @property
    def task(self) -> list[JsonValue]:
        """The instruction and the inputs, which may contain references."""
        return [self.instruction, self.inputs]

    @property
    def settings(self) -> dict[str, JsonValue]:
        """The inputs that are not empty and do not repeat the instruction."""
        return {name: value for name, value in self.inputs.items() if value not in ("", [], self.instruction)}

    @property
    def after(self) -> tuple[str, ...]:
        """Ids of the steps that this step waits for, because it needs them or references their outputs."""
        return tuple(dict.fromkeys((*self.needs, *(reference.step for reference in find_references(self.task)))))


class Parameter(FrozenModel):
    """A value that a template needs in addition to the question."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    meaning: str = Field(description="meaning of the value, with which a model finds it in a question")
    default: str | None = Field(
        default=None, description="value if neither the person nor the question gives one; null for a required value"
    )


class Plan(FrozenModel):
    """A goal and the steps to reach it."""

    goal: str
    mode: Mode = "high"
    steps: tuple[Step, ...] = Field(min_length=1)
    parameters: tuple[Parameter, ...] = Field(default=(), description="values of a template besides the question")

    def step(self, name: str) -> Step:
        """Return the step with this id."""
        return next(each for each in self.steps if each.id == name)

    def needed_by(self, step: Step) -> frozenset[str]:
        """Return the ids of the other steps that ``step`` waits for.

        A person's question may contain text that looks like a reference. Text that names no other step is no reference.
        """
        return frozenset(step.after) & {each.id for each in self.steps} - {step.id}

    def before(self, step: Step) -> frozenset[str]:
        """Return the ids of all steps that ``step`` waits for, directly or through other steps."""
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
    def fingerprint(self) -> frozenset[str]:
        """The agents with their instructions and inputs, without step ids. Equal for plans with the same tasks."""
        tasks = ([sorted(step.agents), " ".join(step.instruction.split()), step.inputs] for step in self.steps)
        return frozenset(json.dumps(each, sort_keys=True).casefold() for each in tasks)


class PlanExample(FrozenModel):
    """A saved plan, or a plan that worked for a similar question."""

    name: str = Field(default="", description="name of a saved plan; empty for other plans")
    question: str
    plan: Plan
    similarity: float = 1.0


class FailedStep(FrozenModel):
    """A step that ended in an error or could not be started."""

    step: str
    agents: tuple[str, ...]
    error_type: str
    error: str


class Attempt(FrozenModel):
    """A plan that was executed, and its outcome."""

    number: int
    plan: Plan
    failed: tuple[FailedStep, ...] = ()
    missing: tuple[str, ...] = ()
    verdict: str = ""
    """Why the answer was insufficient, in the words of the agent that wrote it."""


def texts_of(value: JsonValue) -> Iterator[str]:
    """Yield every string in a nested value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_of(each)


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return the nested value with every text changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_texts(each, change) for each in value]
    if isinstance(value, dict):
        return {key: map_texts(each, change) for key, each in value.items()}
    return value
