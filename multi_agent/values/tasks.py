"""Tasks of agents, their storage, the messages between executor and worker, and the events that agents can listen to.

The executor of a run creates and deletes task data. An agent reads the data of its own tasks by id:

    task = kit.get_task_data(task_id)
    task.inputs.method

Messages between executor and worker refer to tasks by id. A card lists event types in ``listens_to``, each for all
agents or for one:

    listens_to=("missing_reported", "reasoning_shared:Retriever")

An agent does not receive its own messages unless an entry names it.
"""

import threading
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, SerializeAsAny, create_model

from base.models import FrozenModel
from multi_agent.errors import TaskAccessDenied
from multi_agent.values.context import AgentMessage, ContextUpdate
from multi_agent.values.events import Event, ReasoningShared, StepFailed
from multi_agent.values.evidence_events import ContradictionFound, EvidenceRejected, MissingReported

_CONTENTS: Mapping[type, Callable[[Any], str]] = {
    ContradictionFound: lambda body: f"possible contradiction: {' / '.join(body.sides)}",
    EvidenceRejected: lambda body: (
        f"quote {body.quote} rejected{f' for “{body.about}”' if body.about else ''}: {body.reason}"
    ),
    MissingReported: lambda body: f"missing in the passages: {'; '.join(body.missing)}",
    ReasoningShared: lambda body: body.reasoning,
    StepFailed: lambda body: f"failed: {body.error}",
}
HEARD_EVENTS = tuple(kind.model_fields["type"].default for kind in _CONTENTS)  # type: ignore[attr-defined]
"""The event types that agents can listen to."""


def _require_heard(entry: str) -> str:
    event, _, agent = entry.partition(":")
    if event not in HEARD_EVENTS or (":" in entry and not agent):
        raise ValueError(
            f"no agent can listen to {entry!r}; write one of {', '.join(HEARD_EVENTS)}, alone or with an agent, such "
            "as 'reasoning_shared:Retriever'"
        )
    return entry


Listened = Annotated[str, AfterValidator(_require_heard)]
"""An event type, optionally followed by a colon and the name of an agent."""


class Wake(FrozenModel):
    """The reason why an agent runs without a step in the plan."""

    events: tuple[Event, ...] = Field(min_length=1, description="what it heard")
    earlier: int = Field(default=0, ge=0, description="number of its earlier reactions in the same attempt")

    @property
    def is_chained(self) -> bool:
        """Whether the agent reacts to a reaction."""
        return "." in self.events[0].step


def message_of(event: Event) -> AgentMessage | None:
    """Return the event as a message for other agents, or None if no agent can listen to it."""
    content = _CONTENTS.get(type(event.body))
    if content is None:
        return None
    sender = getattr(event.body, "agent", "")
    return AgentMessage(sender=sender, step=event.step, type=event.body.type, content=content(event.body))


def hears(listens_to: Collection[str], agent: str, message: AgentMessage) -> bool:
    """Return whether ``agent`` receives the message if its card has these entries."""
    named = f"{message.type}:{message.sender}" in listens_to
    return named or (message.type in listens_to and message.sender != agent)


GetTaskData = Callable[[str], "TaskData"]


class NoInputs(FrozenModel):
    """The inputs of an agent that needs only its instruction."""


class TaskData(FrozenModel):
    """The task of one agent. Each agent has a subtype with its name and its typed inputs."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    task_id: str
    run_id: str = Field(description="its run")
    step: str = Field(description="its step in the plan")
    agent: str = Field(description="the agent that may read it")
    created_at: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))
    instruction: str
    sample: int | None = Field(default=None, description="number of the sample, if the step runs several times")
    streams_claims: bool = Field(
        default=False, description="whether claims are published while they are written, because they answer the run"
    )
    wake: Wake | None = Field(default=None, description="events to which the agent reacts; null in a step of the plan")
    inputs: SerializeAsAny[BaseModel] = Field(default_factory=NoInputs)


@lru_cache(maxsize=512)  # creating a type takes a millisecond
def task_data_type(agent: str, inputs: type[BaseModel]) -> type[TaskData]:
    """Return the type of an agent's task data."""
    fields: dict[str, Any] = {"agent": (Literal[agent], agent), "inputs": (inputs, ...)}
    return create_model(f"{agent}TaskData", __base__=TaskData, **fields)


class TaskStorage:
    """Task data of a run by id, in memory. Thread-safe."""

    def __init__(self) -> None:
        self._tasks: dict[str, TaskData] = {}
        self._lock = threading.Lock()

    def store(self, task: TaskData) -> None:
        """Store the data. Raises ValueError if its id is in use."""
        with self._lock:
            if task.task_id in self._tasks:
                raise ValueError(f"task {task.task_id!r} already exists")
            self._tasks[task.task_id] = task

    def delete_run(self, run_id: str) -> None:
        """Delete all task data of a run."""
        with self._lock:
            self._tasks = {key: task for key, task in self._tasks.items() if task.run_id != run_id}

    def reader_for(self, agent: str) -> GetTaskData:
        """Return ``get_task_data`` for one agent. It raises TaskAccessDenied for other or unknown tasks."""

        def get_task_data(task_id: str) -> TaskData:
            with self._lock:
                task = self._tasks.get(task_id)
            if task is None:
                raise TaskAccessDenied(
                    f"There is no task {task_id!r}. It was never created, or its run has ended and its data is deleted."
                )
            if task.agent != agent:
                raise TaskAccessDenied(f"Task {task_id!r} is not {agent}'s task. Agents may read only their own tasks.")
            return task

        return get_task_data

    def __len__(self) -> int:
        return len(self._tasks)


class SubTask(FrozenModel):
    """The message that assigns a task to an agent. The agent reads the task data by its id."""

    sub_task_id: str
    parent_task_id: str = Field(description="the run")
    assigned_agent_role: str
    tools: tuple[str, ...] = Field(default=(), description="names of the tools that the agent may call")


class ErrorDetails(FrozenModel):
    """The reason why a task failed. ``ends_run`` is ``no`` if another plan could still succeed."""

    message: str
    type: str = ""
    ends_run: Literal["no", "failed", "budget"] = "no"


class TaskOutput(FrozenModel):
    """The result of an agent's step."""

    task: str = Field(default="", description="id of its task")
    update: ContextUpdate = ContextUpdate()
    reasoning: str = ""
    seconds: float = 0.0
    skipped: str = Field(default="", description="why it had nothing to do; empty if it ran")


class TaskResult(FrozenModel):
    """The message that reports the result of a task."""

    sub_task_id: str
    parent_task_id: str
    worker_agent_role: str
    status: Literal["COMPLETED", "FAILED"]
    result_data: TaskOutput | None = None
    error_details: ErrorDetails | None = None
