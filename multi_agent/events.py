"""What can happen in a run, as typed immutable facts. The trace is the list of a run's events.

Who emits an event does not know who listens. ``Event`` is the stamped envelope; its ``body`` is one of the types
below, told apart by ``type``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from multi_agent.context import Claim, Evidence, Understanding
from multi_agent.llm.llm import Usage
from multi_agent.plan import Attempt, Plan, PlanExample
from multi_agent.remembered import Remembered
from multi_agent.request import Request
from vectorstore.models import FrozenModel


class RunStarted(FrozenModel):
    """A question came in."""

    type: Literal["run_started"] = "run_started"
    request: Request
    collection: str
    model: str
    examples: tuple[PlanExample, ...] = Field(default=(), description="plans that the planner was shown")
    remembered: Remembered = Field(default=Remembered(), description="what else the planner was told")


class RunResumed(FrozenModel):
    """The run goes on in another process: the one that had it was ended, or killed.

    What was done before is done again from here, in the same steps; every model call that had been finished is answered
    from the journal.
    """

    type: Literal["run_resumed"] = "run_resumed"
    times: int = Field(ge=1, description="how often it has been resumed by now")
    answered: int = Field(ge=0, description="model calls that the journal has an answer to")


class PlanRejected(FrozenModel):
    """The model's plan could not be run; it was given back with all its faults."""

    type: Literal["plan_rejected"] = "plan_rejected"
    plan: Plan
    faults: tuple[str, ...]


class PlanMade(FrozenModel):
    """The question was understood and a valid plan stands; its mode was chosen for ``mode_reason``."""

    type: Literal["plan_made"] = "plan_made"
    understanding: Understanding
    plan: Plan
    mode_reason: str


class AttemptEnded(FrozenModel):
    """A plan was run to its end: what failed, and what the answer lacks."""

    type: Literal["attempt_ended"] = "attempt_ended"
    attempt: Attempt
    key_findings: tuple[str, ...]


class PlanRevised(FrozenModel):
    """Another plan is tried, after what became of the ones before."""

    type: Literal["plan_revised"] = "plan_revised"
    attempt: int = Field(description="the number of the attempt that begins with it")
    diagnosis: str
    plan: Plan


class RevisionDeclined(FrozenModel):
    """No other plan is tried, though something is missing."""

    type: Literal["revision_declined"] = "revision_declined"
    reason: str


class StepStarted(FrozenModel):
    """An agent took its turn."""

    type: Literal["step_started"] = "step_started"
    agent: str
    instruction: str
    reads: tuple[str, ...]


class StepSkipped(FrozenModel):
    """The agent's ``should_activate`` declined its turn."""

    type: Literal["step_skipped"] = "step_skipped"
    agent: str
    reason: str


class StepFinished(FrozenModel):
    """An agent's turn ended; ``wrote`` holds the fields it changed, as JSON, chunks by reference."""

    type: Literal["step_finished"] = "step_finished"
    agent: str
    wrote: dict[str, Any]
    seconds: float


class StepFailed(FrozenModel):
    """An agent's turn ended in an error."""

    type: Literal["step_failed"] = "step_failed"
    agent: str
    error_type: str
    error: str


class StepRetried(FrozenModel):
    """An agent takes its turn again after a transient error."""

    type: Literal["step_retried"] = "step_retried"
    agent: str
    error: str


class ReasoningShared(FrozenModel):
    """An agent explained, to all others, what it did and why."""

    type: Literal["reasoning_shared"] = "reasoning_shared"
    agent: str
    reasoning: str


class ModelCalled(FrozenModel):
    """A model call ended with a valid response; ``key`` and ``occurrence`` find it in the journal."""

    type: Literal["model_called"] = "model_called"
    caller: str
    model: str
    key: str
    occurrence: int
    replayed: bool
    usage: Usage
    faults: tuple[str, ...] = Field(default=(), description="why earlier responses to it were not accepted")


class ModelFailed(FrozenModel):
    """A model call failed for good."""

    type: Literal["model_failed"] = "model_failed"
    caller: str
    model: str
    error_type: str
    error: str
    usage: Usage
    faults: tuple[str, ...] = ()


class Searched(FrozenModel):
    """The collection was searched, or scanned."""

    type: Literal["searched"] = "searched"
    method: Literal["search", "scan"]
    documents: tuple[str, ...] = Field(default=(), description="names of those alone that it was in; all, if none")
    queries: tuple[str, ...]
    chunks_found: int
    documents_found: int


class EvidenceRejected(FrozenModel):
    """A quote that is not in its passage; ``final`` when it was asked for again and dropped."""

    type: Literal["evidence_rejected"] = "evidence_rejected"
    quote: str
    passage: str
    reason: str
    final: bool


class ClaimDrafted(FrozenModel):
    """A claim of an answer that is still being written, checked as the finished answer will be.

    It stands until the answer is there, or it is withdrawn, or the agent's turn fails or is taken again.
    """

    type: Literal["claim_drafted"] = "claim_drafted"
    agent: str
    claim: Claim
    evidence: tuple[Evidence, ...] = Field(description="what it stands on, by numbers that may be others in the answer")
    dropped: tuple[str, ...] = Field(default=(), description="its quotes that do not stand in their passages")
    layout: Literal["prose", "list", "numbered_list"] = Field(default="prose", description="how the claims are set")
    short: str = Field(default="", description="the bare answer, if it was written before")


class DraftWithdrawn(FrozenModel):
    """The claims told so far do not hold: the model's response broke off or was not accepted, and is written anew."""

    type: Literal["draft_withdrawn"] = "draft_withdrawn"
    agent: str
    claims: int = Field(description="how many were told")


class Computed(FrozenModel):
    """A query over the extracted records ran, or was refused."""

    type: Literal["computed"] = "computed"
    purpose: str
    sql: str
    rows: int = Field(description="how many it gave, as far as they are kept")
    seconds: float
    error: str = Field(default="", description="why it was refused; empty if it ran")


class ToolCalled(FrozenModel):
    """An agent called a tool; ``key`` and ``occurrence`` tie the call to what came of it."""

    type: Literal["tool_called"] = "tool_called"
    agent: str
    tool: str
    arguments: dict[str, Any]
    why: str
    key: str
    occurrence: int


class ToolReturned(FrozenModel):
    """A call of a tool ended. The whole result is in the trace, with the tool calls of the run."""

    type: Literal["tool_returned"] = "tool_returned"
    agent: str
    tool: str
    key: str
    occurrence: int
    seconds: float = Field(description="since it was called, with the time that a person took to approve it")
    result: str = Field(description="how its text begins")
    passages: int = Field(description="passages of documents that it gave")
    error: str = Field(default="", description="why it gave nothing; empty if it did")
    replayed: bool = Field(default=False, description="answered by what is known of the same call, made before")


class ApprovalRequested(FrozenModel):
    """A dangerous call waits for a person."""

    type: Literal["approval_requested"] = "approval_requested"
    approval_id: str
    agent: str
    tool: str
    arguments: dict[str, Any]
    reason: str = Field(description="why the agent wants it, in the model's words")


class ApprovalDecided(FrozenModel):
    """A person decided on a dangerous call, or nobody did in time."""

    type: Literal["approval_decided"] = "approval_decided"
    approval_id: str
    decision: Literal["approved", "edited", "refused", "timed_out"]
    arguments: dict[str, Any] = Field(description="as they are used, if they are")
    by: str = Field(description="who decided; empty if nobody did")


class VoteGroup(FrozenModel):
    """Answers that are the same, and whose they are."""

    answer: str = Field(description="in short")
    voters: tuple[str, ...]
    weight: float = Field(description="of all its voters; their number where votes have no weight")


class Voted(FrozenModel):
    """Several answers to one question were compared, and one of them taken."""

    type: Literal["voted"] = "voted"
    groups: tuple[VoteGroup, ...] = Field(description="what was answered; the first is what was taken")
    share: float = Field(description="of all weight, what the answer that was taken has")
    method: Literal["weighted", "majority"]
    tie: str = Field(default="", description="how a tie was broken; empty if there was none")


class RunFinished(FrozenModel):
    """The run reached its terminal state."""

    type: Literal["run_finished"] = "run_finished"
    status: Literal["answered", "insufficient", "failed", "cancelled"]
    reason: str
    usage: Usage


Body = Annotated[
    RunStarted
    | RunResumed
    | PlanRejected
    | PlanMade
    | AttemptEnded
    | PlanRevised
    | RevisionDeclined
    | StepStarted
    | StepRetried
    | StepSkipped
    | StepFinished
    | StepFailed
    | ReasoningShared
    | ModelCalled
    | ModelFailed
    | Searched
    | EvidenceRejected
    | ClaimDrafted
    | DraftWithdrawn
    | Computed
    | ToolCalled
    | ToolReturned
    | ApprovalRequested
    | ApprovalDecided
    | Voted
    | RunFinished,
    Field(discriminator="type"),
]


class Event(FrozenModel):
    """One fact about a run. Numbers run from 1 without gaps, in the order in which things happened."""

    run_id: str
    number: int = Field(ge=1)
    at: datetime
    step: str = Field(default="", description="id of the step it belongs to; empty for the run itself")
    body: Body
