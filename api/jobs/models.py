"""What a job is: its kind, states, specification and outcome, and the contract of the code that runs it."""

import asyncio
from enum import StrEnum
from typing import Any, Literal

from pydantic import AwareDatetime, Field, JsonValue

from base.models import FrozenModel


class JobKind(StrEnum):
    """The kinds of job. Each kind has its own queue."""

    RESEARCH = "research"
    INGEST = "ingest"
    EVALUATION = "evaluation"
    TABLE = "table"


class JobStatus(StrEnum):
    """The states of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether the status is final."""
        return self not in (JobStatus.WAITING, JobStatus.RUNNING)


class Job(FrozenModel):
    """A job and its current status."""

    id: str = Field(description="of a research job: the id of its run")
    kind: JobKind
    collection: str
    key: str = Field(description="id of the API key that submitted the job; empty for a local user without a key")
    status: JobStatus
    created_at: AwareDatetime
    started_at: AwareDatetime | None = Field(default=None, description="when it last started or resumed")
    ended_at: AwareDatetime | None = None
    progress: JsonValue = Field(default=None, description="progress; its fields depend on the kind of job")
    result: JsonValue = Field(default=None, description="result; its fields depend on the kind of job")
    error: str | None = Field(default=None, description="why it failed")
    waits_for: str | None = Field(default=None, description="why it waits, if not for the jobs before it")


class Priority(StrEnum):
    """Order among the waiting jobs of one API key. It does not affect the jobs of other keys."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"

    @property
    def rank(self) -> int:
        """Position in the order; jobs with the lowest rank run first."""
        return list(Priority).index(self)


class JobSpec(FrozenModel):
    """What to do, and for which API key. Stored as JSON in the queue, so field names must not change."""

    id: str
    kind: JobKind
    collection: str
    key: str
    content: str = Field(description="the request as JSON; its fields depend on the kind of job")
    note: str = Field(default="", description="extra data of the handler; ignored when two requests are compared")
    priority: Priority = Priority.NORMAL

    def same_request(self, other: "JobSpec") -> bool:
        """Return whether both specs make the same request."""
        return (self.kind, self.collection, self.content) == (other.kind, other.collection, other.content)


class Outcome(FrozenModel):
    """How a job ended. Stored as JSON as the result of its DBOS workflow."""

    status: Literal[JobStatus.DONE, JobStatus.FAILED, JobStatus.CANCELLED]
    result: JsonValue = None
    progress: JsonValue = None
    error: str | None = None


class JobState(FrozenModel):
    """The state of an active job, as its process stores it for the other processes."""

    started: bool = Field(description="false while it waits for a slot, or for what `waits_for` names")
    progress: JsonValue = None
    waits_for: str | None = None


class ActiveJob:
    """A job that runs in this process. Its handler sets ``progress``."""

    task: asyncio.Task[JsonValue]

    def __init__(self, spec: JobSpec, workflow: asyncio.Task[Any]) -> None:
        self.spec, self.workflow = spec, workflow
        self.progress: JsonValue = None
        self.started = False
        self.waits_for: str | None = None
        self.paused = False

    def is_paused(self) -> bool:
        """Return True if the job was stopped because its process stops; it resumes in this or another process."""
        return self.paused


class JobHandler:
    """Runs one kind of job."""

    async def run(self, job: ActiveJob) -> JsonValue:
        """Run or resume the job and return its result.

        Raises Explained or Refused with a message for the user, and JobMustWait if another try may succeed. On
        cancellation, stop at once; if ``job.is_paused()``, keep everything needed to resume.
        """
        raise NotImplementedError

    async def on_abort(self, spec: JobSpec, status: JobStatus, reason: str) -> None:
        """Clean up after a job that was cancelled before it started, or that failed.

        By default, there is nothing to do: what a handler stores is complete, and the job can go on with the rest.
        """
