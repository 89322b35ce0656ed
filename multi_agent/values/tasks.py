"""Tasks of agents, their storage, and the messages between executor and worker.

The executor of a run creates and deletes task data. An agent reads the data of its own tasks by id:

    task = kit.get_task_data(task_id)
    task.inputs.method

Messages refer to tasks by id.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, SerializeAsAny, create_model

from base.models import FrozenModel
from multi_agent.errors import TaskAccessDenied
from multi_agent.values.context import ContextUpdate
from multi_agent.values.listening import Wake

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
    """Task data by id, in memory. Thread-safe."""

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
