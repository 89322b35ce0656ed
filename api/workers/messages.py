"""The messages between the service and its research process: tasks to the process, their progress back in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from api.workers.channel import RemoteError
from api.workers.contract import EvaluationTask, ResearchTask


@dataclass(frozen=True)
class StartTask:
    """Message of the service to start or resume a task."""

    task: int
    spec: ResearchTask | EvaluationTask
    collection: str


@dataclass(frozen=True)
class CancelTask:
    """Message of the service to end a task at once. With ``pausing``, the task can be resumed."""

    task: int
    pausing: bool


@dataclass(frozen=True)
class Stop:
    """Message of the service to exit. No task is running and none will follow."""


@dataclass(frozen=True)
class Ready:
    """Message of the research process that it can receive tasks. The service sends no task before."""


@dataclass(frozen=True)
class Progress:
    """Message of the research process with an event of a run or a row of an evaluation."""

    task: int
    item: Any


@dataclass(frozen=True)
class TaskEnded:
    """The last message of the research process about a task."""

    task: int
    result: Any = None
    error: RemoteError | None = None
