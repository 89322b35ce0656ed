"""What can go wrong in a run, by who must act.

AgentError                      base
├── LLMError                    the model's side
│   ├── LLMUnavailable          the user waits, or looks into the endpoint's own log
│   │   └── LLMUnreachable      the user starts the endpoint, or corrects its address
│   ├── LLMTimeout              the user waits longer, or takes a faster model
│   ├── LLMRateLimited          the user waits, or lowers the parallelism
│   ├── LLMRefused              the user corrects key, model name or rights (4xx)
│   ├── InvalidResponse         the user takes a model that keeps to a schema
│   ├── PromptTooLong           the user raises the context window, or narrows the question
│   └── RecordingMissing        the user records anew, or asks a live model
├── PlanError                   the model's plan cannot be run, after re-asking
├── StepError                   the message says: the agent's author, or whoever the cause names
├── RunEnded                    the message says: what no other plan could avoid
├── ReferenceFailed             the plan's author: a step refers to what an earlier one did not give
│   └── NothingFound            the planner, or who asked: there is no one thing that the earlier step found
├── BudgetReached               the user allows more, or takes what is known so far
├── TaskAccessDenied            the author of an agent: it asked for a task that is not its own
├── QueryRefused                the model wrote SQL that cannot be run, after re-asking
├── UnknownAgent                the caller names an agent that is registered
├── NotKept                     the user names an agent, skill or memory that is there
├── NameTaken                   the user takes another name, or edits what has this one
├── KeptInFile                  the user edits the file that the message names
├── UnknownModel                the user describes that endpoint in the settings, or names another
├── UnknownPlan                 the user names a plan that is saved
├── UnknownTool                 the user grants a tool that there is
├── ToolError                   the model: what a call cannot do, and why; it is told, and goes on
├── ToolServerFailed            the user corrects `tools.mcp_servers`, or starts the server
├── ApprovalClosed              the person: it was decided already, or its run waits no more
├── ApprovalNotFound            the person names an approval that there is
├── ContextViolation            the author of an agent: it wrote a field it does not declare
├── RunNotFound                 the user names a run that exists
└── RunUnderWay                 the user waits until the run has ended
"""

from __future__ import annotations

from multi_agent.llm.llm import Exchange, Usage


class AgentError(Exception):
    """Base of the errors of this package; the message says what happened, to what, and what to do."""


class LLMError(AgentError):
    """A model call failed for good. What it used, and what the model said until then, is kept."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds that the endpoint asks to wait before it is asked again."""
        self.usage = Usage()
        self.exchanges: tuple[Exchange, ...] = ()


class LLMUnavailable(LLMError):
    """The endpoint fails on its side (5xx, broken connection), after all retries."""


class LLMUnreachable(LLMUnavailable):
    """Nothing answers at the endpoint's address."""


class LLMTimeout(LLMError):
    """The endpoint accepted the request and did not finish in time."""


class LLMRateLimited(LLMError):
    """The endpoint refused for load (429) after all retries."""


class LLMRefused(LLMError):
    """The endpoint refused the request itself: wrong key, unknown model, bad request."""


class InvalidResponse(LLMError):
    """The model's responses did not satisfy the schema, after re-asking."""


class PromptTooLong(LLMError):
    """The prompt and the room for its answer exceed the model's context window; nothing was sent."""


class RecordingMissing(LLMError):
    """A replay has no recorded response for this request."""


class PlanError(AgentError):
    """No valid plan, after re-asking with every fault named."""


class UnknownAgent(AgentError):
    """No agent of that name is registered."""


class NotKept(AgentError):
    """No agent, skill or memory of that name."""


class NameTaken(AgentError):
    """What is to be new has the name of another one."""


class KeptInFile(AgentError):
    """What is to be changed stands in a file of the user's, which nobody else changes."""


class UnknownModel(AgentError):
    """No model endpoint of that name is set."""


class UnknownPlan(AgentError):
    """No plan is saved under that name."""


class UnknownTool(AgentError):
    """No tool of that name is registered."""


class ToolError(AgentError):
    """A tool could not do what it was called for. The model is told the message as the result of its call."""


class ToolServerFailed(AgentError):
    """An MCP server cannot be reached or started, or lacks the tool that an agent was granted."""


class ApprovalClosed(AgentError):
    """Nobody waits for this decision (any more)."""


class ApprovalNotFound(AgentError):
    """No approval with that id."""

    def __init__(self, approval_id: str) -> None:
        super().__init__(f"There is no approval {approval_id!r}.")


class ContextViolation(AgentError):
    """An agent wrote a field of the context that it does not declare to write."""


class StepError(AgentError):
    """A step of the plan failed, and no revision of the plan came round it."""


class RunEnded(AgentError):
    """A step met what every plan would meet: the model or the store is at fault."""


class ReferenceFailed(AgentError):
    """A step refers to an output of a step that failed, was skipped, or has no such field."""


class NothingFound(ReferenceFailed):
    """A step refers to an output that is empty: what it builds on is not in the documents, or not one thing."""


class BudgetReached(AgentError):
    """A budget of the run is spent: model calls, tokens, seconds or cost."""


class TaskAccessDenied(AgentError):
    """An agent asked for task data that is not its own, or not there."""


class QueryRefused(AgentError):
    """A query over the records that cannot be run: not one SELECT, a fault in it, or over its limits."""


class RunNotFound(AgentError):
    """No run with that id."""


class RunUnderWay(AgentError):
    """The run has not ended, and has no answer yet."""
