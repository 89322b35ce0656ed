"""The messages between the service and its research process.

They use two connections. The first carries tasks to the process and their progress back, in order. On the second the
process requests what only the service has: open collections and the embedding model. Large responses there do not
delay events on the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from api.workers.channel import RemoteError
from api.workers.contract import EvaluationTask, ResearchTask

Operation = Literal["index", "search", "around", "scan", "page_picture", "embed"]


@dataclass(frozen=True)
class StartTask:
    """Service: start or resume a task."""

    task: int
    spec: ResearchTask | EvaluationTask
    collection: str


@dataclass(frozen=True)
class CancelTask:
    """Service: end a task at once; with ``pausing``, leave it resumable."""

    task: int
    pausing: bool


@dataclass(frozen=True)
class Stop:
    """Service: exit. No task is running and none will follow."""


@dataclass(frozen=True)
class Ready:
    """Research process: it can receive tasks. The service sends none before."""


@dataclass(frozen=True)
class Progress:
    """Research process: an event of a run, or a row of an evaluation."""

    task: int
    item: Any


@dataclass(frozen=True)
class TaskEnded:
    """Research process: the last message about a task."""

    task: int
    result: Any = None
    error: RemoteError | None = None


@dataclass(frozen=True)
class ServiceRequest:
    """Research process: describe, search or read the task's collection, draw a page, or embed a query."""

    number: int
    task: int
    operation: Operation
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class ServiceResponse:
    """Service: the result of a request."""

    number: int
    result: Any = None
    error: RemoteError | None = None
