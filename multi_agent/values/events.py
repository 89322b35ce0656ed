"""The events of a run as immutable values. The trace of a run is the list of its events.

``Event`` is the envelope. Its ``body`` is one of the types in this module and in ``evidence_events.py``, distinguished
by ``type``. Publishers do not depend on their subscribers.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from base.models import FrozenModel
from multi_agent.model import FinishReason, Usage
from multi_agent.values.answer import Vote
from multi_agent.values.context import AgentMessage, Understanding
from multi_agent.values.evidence_events import (
    ClaimChecked,
    ClaimDrafted,
    ContradictionFound,
    DraftWithdrawn,
    EvidenceRejected,
    ItemRead,
    MissingReported,
    Searched,
)
from multi_agent.values.plan import Attempt, Plan, PlanExample
from multi_agent.values.request import Remembered, Request


class RunStarted(FrozenModel):
    """A run started with a question."""

    type: Literal["run_started"] = "run_started"
    request: Request
    collection: str
    model: str
    examples: tuple[PlanExample, ...] = Field(default=(), description="plans shown to the planner")
    remembered: Remembered = Field(
        default=Remembered(), description="preferences, conversation, notes and tool use that apply to the question"
    )
    today: str = Field(default="", description="the date of the run for terms such as 'last year', as an ISO date")
    triage: dict[str, Any] | None = Field(
        default=None, description="response of Triage in the run that asked back, which a chosen candidate goes on with"
    )


class RunResumed(FrozenModel):
    """The run was resumed after its process had stopped.

    It starts again from the beginning, and the journal answers every model call that had finished.
    """

    type: Literal["run_resumed"] = "run_resumed"
    times: int = Field(ge=1, description="number of times that it was resumed, including this one")
    answered: int = Field(ge=0, description="model calls that the journal can answer")


class QuestionCompleted(FrozenModel):
    """A follow-up question was completed from the conversation. The run researches ``question``."""

    type: Literal["question_completed"] = "question_completed"
    asked: str = Field(description="the question in the person's words")
    question: str = Field(description="the question with the missing details from the conversation")
    added: tuple[str, ...] = Field(default=(), description="its words that are not the person's own")
    left_out: tuple[str, ...] = Field(default=(), description="added names that no passage has; no search uses them")
    unresolved: bool = Field(default=False, description="whether the conversation does not say what is meant")


class PlanRejected(FrozenModel):
    """The model's plan was invalid. The model gets all its faults."""

    type: Literal["plan_rejected"] = "plan_rejected"
    plan: Plan
    faults: tuple[str, ...]


class PromptShortened(FrozenModel):
    """A prompt was shortened because it did not fit into the context window of the model."""

    type: Literal["prompt_shortened"] = "prompt_shortened"
    caller: str
    left_out: tuple[str, ...] = Field(description="what was left out of the prompt")


class PlanMade(FrozenModel):
    """The question was understood and a valid plan made."""

    type: Literal["plan_made"] = "plan_made"
    understanding: Understanding
    plan: Plan
    mode_reason: str = Field(default="", description="only in older runs: reason for the mode")


class AttemptEnded(FrozenModel):
    """A plan ended, with failed steps and missing parts of the answer if there are any."""

    type: Literal["attempt_ended"] = "attempt_ended"
    attempt: Attempt
    key_findings: tuple[str, ...]


class PlanRevised(FrozenModel):
    """A revised plan starts."""

    type: Literal["plan_revised"] = "plan_revised"
    attempt: int = Field(description="the number of the attempt that it starts")
    diagnosis: str
    plan: Plan


class RevisionDeclined(FrozenModel):
    """No other plan is tried although something is missing."""

    type: Literal["revision_declined"] = "revision_declined"
    reason: str


class WokenBy(FrozenModel):
    """The event that woke an agent."""

    event: str = Field(description="its type")
    agent: str = Field(description="the agent that published it")
    step: str


class StepStarted(FrozenModel):
    """An agent started its task."""

    type: Literal["step_started"] = "step_started"
    agent: str
    instruction: str
    reads: tuple[str, ...]
    task: str = Field(default="", description="id of its task; empty in older runs")
    inputs: dict[str, Any] = Field(default={}, description="its inputs, with references resolved")
    tools: tuple[str, ...] = Field(default=(), description="tools that it may call")
    woken_by: WokenBy | None = Field(default=None, description="event to which it reacts; null for a step of the plan")
    heard: tuple[AgentMessage, ...] = Field(default=(), description="reports of other agents in its prompt")


class StepSkipped(FrozenModel):
    """The step did not start because its agent had nothing to do or a step that it needs had no output."""

    type: Literal["step_skipped"] = "step_skipped"
    agent: str
    reason: str
    task: str = Field(default="", description="id of its task; empty in older runs")


class StepFinished(FrozenModel):
    """An agent finished its step. ``wrote`` contains the changed fields as JSON, with chunks without text."""

    type: Literal["step_finished"] = "step_finished"
    agent: str
    wrote: dict[str, Any]
    seconds: float
    task: str = Field(default="", description="id of its task; empty in older runs")


class StepFailed(FrozenModel):
    """A step of an agent ended with an error, or could not start."""

    type: Literal["step_failed"] = "step_failed"
    agent: str
    error_type: str
    error: str
    task: str = Field(default="", description="id of its task; empty if it was not started, and in older runs")


class StepRetried(FrozenModel):
    """A step is retried after a transient error."""

    type: Literal["step_retried"] = "step_retried"
    agent: str
    error: str


class ReasoningShared(FrozenModel):
    """An agent explained what it did and why."""

    type: Literal["reasoning_shared"] = "reasoning_shared"
    agent: str
    reasoning: str


class ModelAsked(FrozenModel):
    """A request that the journal did not answer is about to be sent to a model.

    Clients count the elapsed time from the event's time. The expected figures depend on the machine.
    """

    type: Literal["model_asked"] = "model_asked"
    caller: str
    model: str
    prompt_tokens: int = Field(ge=0, description="estimated tokens of the prompt, usually too high")
    expected_seconds: float | None = Field(
        default=None, description="duration expected from earlier calls; null before the first call of the model"
    )
    tokens_per_second: float | None = Field(
        default=None,
        description="completion tokens per second of earlier calls, including the time to read their prompts",
    )
    key: str = Field(default="", description="hash of the request; empty in older runs")


class ModelCalled(FrozenModel):
    """A model call succeeded. ``key`` and ``occurrence`` identify it in the journal."""

    type: Literal["model_called"] = "model_called"
    caller: str
    model: str
    key: str
    occurrence: int
    replayed: bool
    usage: Usage
    faults: tuple[str, ...] = Field(default=(), description="why earlier responses were rejected")
    finish_reason: FinishReason = Field(
        default="", description="why the model stopped; `cut` if Candor stopped it; empty in older runs"
    )
    response_model: str = Field(
        default="", description="name of the model in the reply of the endpoint; empty if it sent none"
    )


class ModelFailed(FrozenModel):
    """A model call failed after all retries."""

    type: Literal["model_failed"] = "model_failed"
    caller: str
    model: str
    error_type: str
    error: str
    usage: Usage
    faults: tuple[str, ...] = ()
    key: str = Field(default="", description="hash of the request; empty in older runs")


class ResponseRepaired(FrozenModel):
    """A fault in a model's response was repaired."""

    type: Literal["response_repaired"] = "response_repaired"
    caller: str
    repairs: tuple[str, ...]


class QueryRan(FrozenModel):
    """A query over the extracted records ran or was rejected."""

    type: Literal["computed"] = "computed"
    purpose: str
    sql: str
    rows: int = Field(description="number of rows kept")
    seconds: float
    error: str = Field(default="", description="why it was rejected; empty if it ran")


class ToolCalled(FrozenModel):
    """An agent called a tool. ``key`` and ``occurrence`` connect the call with its result."""

    type: Literal["tool_called"] = "tool_called"
    agent: str
    tool: str
    arguments: dict[str, Any]
    why: str
    key: str
    occurrence: int


class ToolReturned(FrozenModel):
    """A tool call ended. The trace stores the full result with the tool calls of the run."""

    type: Literal["tool_returned"] = "tool_returned"
    agent: str
    tool: str
    key: str
    occurrence: int
    seconds: float = Field(description="duration of the call, including the wait for approval")
    result: str = Field(description="the beginning of its text")
    passages: int = Field(description="number of document passages returned")
    error: str = Field(default="", description="why it failed; empty if it succeeded")
    replayed: bool = Field(default=False, description="answered by the stored result of the same call")


class ApprovalRequested(FrozenModel):
    """A dangerous tool call waits for approval."""

    type: Literal["approval_requested"] = "approval_requested"
    approval_id: str
    agent: str
    tool: str
    arguments: dict[str, Any]
    reason: str = Field(description="reason for the call, in the model's words")


class ApprovalDecided(FrozenModel):
    """A dangerous tool call was approved, edited or refused, or timed out."""

    type: Literal["approval_decided"] = "approval_decided"
    approval_id: str
    decision: Literal["approved", "edited", "refused", "timed_out"]
    arguments: dict[str, Any] = Field(description="the arguments of the call, if it was approved")
    by: str = Field(description="name of the person who decided; empty after a timeout")


class Voted(Vote):
    """Several answers to one question were compared and one was chosen."""

    type: Literal["voted"] = "voted"


class RunFinished(FrozenModel):
    """The run reached its terminal state."""

    type: Literal["run_finished"] = "run_finished"
    status: Literal["answered", "partial", "needs_clarification", "insufficient", "failed", "cancelled"]
    reason: str
    usage: Usage


Body = Annotated[
    RunStarted
    | RunResumed
    | QuestionCompleted
    | PlanRejected
    | PromptShortened
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
    | ModelAsked
    | ModelCalled
    | ModelFailed
    | ResponseRepaired
    | Searched
    | ItemRead
    | MissingReported
    | ContradictionFound
    | EvidenceRejected
    | ClaimDrafted
    | DraftWithdrawn
    | ClaimChecked
    | QueryRan
    | ToolCalled
    | ToolReturned
    | ApprovalRequested
    | ApprovalDecided
    | Voted
    | RunFinished,
    Field(discriminator="type"),
]


Level = Literal["supervisor", "planner", "worker", "tool"]


class Event(FrozenModel):
    """An event of a run. Events are numbered from 1 without gaps in the order of publication."""

    run_id: str
    number: int = Field(ge=1)
    at: datetime
    step: str = Field(default="", description="id of its step; empty for the run itself")
    level: Level | None = Field(default=None, description="who acts; null in older runs")
    parent: int = Field(default=0, description="number of the event that it belongs to; 0 for none, and in older runs")
    body: Body


def started_in(events: Iterable[Event]) -> RunStarted | None:
    """Return the first event of a run, which has its initial state. None if the run ended before it started."""
    return next((event.body for event in events if isinstance(event.body, RunStarted)), None)
