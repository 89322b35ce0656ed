"""What the service and its research process say to each other.

There are two connections. On the first, the service hands out tasks and takes them back, and is told what happens in
them, in order. On the second, the research process asks for what only the service has, its open collections and the
embedding model, and is answered: an answer of some megabytes keeps no event waiting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from api.workers.channel import RemoteError
from api.workers.contract import EvaluationJobSpec, Research


@dataclass(frozen=True)
class Begin:
    """Service: do this, or go on with it."""

    task: int
    order: Research | EvaluationJobSpec
    collection: str


@dataclass(frozen=True)
class Cancel:
    """Service: end the task at once; ``rests`` says that it is to go on later."""

    task: int
    rests: bool


@dataclass(frozen=True)
class Stop:
    """Service: nothing is under way, and nothing more will come."""


@dataclass(frozen=True)
class Ready:
    """Research process: it can work. Before, nothing is said to it: nobody would listen."""


@dataclass(frozen=True)
class Told:
    """Research process: an event of a run, or a row of an evaluation."""

    task: int
    what: Any


@dataclass(frozen=True)
class Ended:
    """Research process: the last that is told of a task."""

    task: int
    result: Any = None
    error: RemoteError | None = None


@dataclass(frozen=True)
class Ask:
    """Research process: search or scan the task's collection, or embed a question, with these arguments."""

    number: int
    task: int
    what: Literal["search", "scan", "embed"]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Reply:
    """Service: what came of it."""

    number: int
    result: Any = None
    error: RemoteError | None = None
