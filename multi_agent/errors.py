"""The errors of a run, with the person or component that must act on each.

AgentError                      base
├── LLMError                    the model's side
│   ├── LLMUnavailable          user: wait, or read the endpoint's log
│   │   └── LLMUnreachable      user: start the endpoint, or correct its address
│   ├── LLMTimeout              user: wait longer, or use a faster model
│   ├── LLMRateLimited          user: wait, or lower the parallelism
│   ├── LLMRefused              user: correct key, model name or permissions (4xx)
│   ├── InvalidResponse         user: use a model that follows a schema
│   ├── PromptTooLong           user: raise the context window, or narrow the question
│   └── RecordingMissing        user: record again, or use a live model
├── PictureUnavailable          user: ingest the document again, or set `vision` to 'off'
├── PlanError                   the model's plan is invalid after all retries
├── StepError                   see the message: the agent's author, or the cause it names
├── RunEnded                    see the message: every plan would fail the same way
├── ReferenceFailed             planner: a step refers to an output that does not exist
│   └── NothingFound            planner: a step refers to an output that is empty
├── BudgetReached               user: raise the budget, or use the partial answer
├── TaskAccessDenied            agent's author: it read a task that is not its own
├── QueryRefused                the model's SQL is invalid after all retries
├── UnknownAgent                caller: name a registered agent
├── NotKept                     user: name an existing agent, skill or memory
├── NameTaken                   user: choose another name, or edit the existing entry
├── KeptInFile                  user: edit the file that the message names
├── UnknownModel                user: add the endpoint to the settings, or name another
├── UnknownPlan                 user: name a saved plan
├── UnknownTool                 user: name an existing tool
├── NoDocumentMatches           caller: change the filter as the message says
├── ToolError                   model: reads the message as the result of its call
├── ToolServerFailed            user: correct `tools.mcp_servers`, or start the server
├── ApprovalClosed              user: the approval was decided, or its run has ended
├── ApprovalNotFound            user: name an existing approval
├── ContextViolation            agent's author: it wrote a field it does not declare
├── RunNotFound                 user: name an existing run
├── TableNotFound               user: name an existing table
├── TableError                  user: name what the message lists; of a model's value, the cell says it
├── RunUnderWay                 user: wait until the run has ended
└── RunExists                   user: the run is here already
"""

from __future__ import annotations

from collections.abc import Sequence

from base.errors import Explained
from multi_agent.model import ModelResponse, Usage


class AgentError(Explained):
    """Base of the errors of this package."""


class LLMError(AgentError):
    """A model call failed after all retries. Contains the usage and the exchanges of all attempts."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds to wait before the next request, as set by the endpoint."""
        self.usage = Usage()
        self.exchanges: tuple[ModelResponse, ...] = ()


class LLMUnavailable(LLMError):
    """The endpoint failed (5xx, broken connection) after all retries."""


class LLMUnreachable(LLMUnavailable):
    """No server answers at the endpoint's address."""


class LLMTimeout(LLMError):
    """The endpoint accepted the request but did not finish in time."""


class LLMRateLimited(LLMError):
    """The endpoint rejected the request because of its load (429) after all retries."""


class LLMRefused(LLMError):
    """The endpoint rejected the request, for example because of a wrong key or an unknown model."""


class InvalidResponse(LLMError):
    """The model's responses did not match the schema after all retries."""


class PromptTooLong(LLMError):
    """The prompt and the tokens reserved for its response exceed the model's context window. Nothing was sent."""


class RecordingMissing(LLMError):
    """A replay has no recorded response for this request."""


class PictureUnavailable(AgentError):
    """The picture of a page cannot be sent to the model because the file is missing, changed or damaged."""


class PlanError(AgentError):
    """The model made no valid plan after all retries, or a saved plan is invalid in this run."""

    def __init__(self, message: str, *, written: str = "", faults: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.written = written
        """The model's last plan as JSON. Empty for a saved plan."""
        self.faults = tuple(faults)


class UnknownAgent(AgentError):
    """No agent of that name is registered."""


class NotKept(AgentError):
    """No agent, skill or memory has that name."""


class NameTaken(AgentError):
    """The name of a new entry is in use."""


class KeptInFile(AgentError):
    """The entry is defined in a user's file, which Candor does not change."""


class UnknownModel(AgentError):
    """No model endpoint of that name is configured."""


class UnknownPlan(AgentError):
    """No plan is saved under that name."""


class UnknownTool(AgentError):
    """No tool of that name is registered."""


class NoDocumentMatches(AgentError):
    """No document of the collection meets the filter."""


class ToolError(AgentError):
    """A tool call failed. The model reads the message as the result of its call."""


class ToolServerFailed(AgentError):
    """An MCP server cannot be reached or started, or lacks a granted tool."""


class ApprovalClosed(AgentError):
    """No run waits for this decision."""


class ApprovalNotFound(AgentError):
    """No approval has that id."""

    def __init__(self, approval_id: str) -> None:
        super().__init__(f"There is no approval {approval_id!r}.")


class ContextViolation(AgentError):
    """An agent wrote a field of the context that it does not declare to write."""


class StepError(AgentError):
    """A step of the plan failed."""


class RunEnded(AgentError):
    """The model or the store failed in a step. Every other plan would fail the same way."""


class ReferenceFailed(AgentError):
    """A step refers to an output of a step that failed, was skipped or has no such field."""


class NothingFound(ReferenceFailed):
    """A step refers to an output that is empty because nothing, or more than one thing, was found."""


class BudgetReached(AgentError):
    """The run has used up its budget of model calls, tokens, seconds or cost."""


class TaskAccessDenied(AgentError):
    """An agent requested task data that does not exist or belongs to another agent."""


class QueryRefused(AgentError):
    """A query over the records is not a single SELECT, contains an error, or exceeds its limits."""


class RunNotFound(AgentError):
    """No run has that id."""


class RunUnderWay(AgentError):
    """The run has not ended and has no answer yet."""


class RunExists(AgentError):
    """A run with this id is stored already."""


class RunNotStored(AgentError):
    """The database cannot store an imported run."""


class TableNotFound(AgentError):
    """There is no table of that name."""


class TableError(AgentError):
    """A column, a document or a value does not fit the table. The message says what is possible."""
