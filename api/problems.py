"""Maps errors to problems (RFC 9457) with an HTTP status, a title and a remedy.

``http/errors.py`` sends problems over HTTP. MCP tools return them as text.
"""

from pydantic import Field
from sqlalchemy.exc import SQLAlchemyError

from api import errors as own
from base.models import FrozenModel
from ingest import errors as ingest
from multi_agent import errors as agents
from multi_agent.evaluation.errors import EvaluationNotFound
from multi_agent.values.answer import Answer
from vectorstore import errors as store


class Problem(FrozenModel):
    """The reason why a request failed."""

    type: str = Field(description="The kind of problem, as a URN.")
    title: str = Field(description="The kind of problem, in words.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What happened, and to what.")
    remedy: str = Field(description="What to do.")


# Subclasses come before their base classes.
PROBLEMS: tuple[tuple[type[Exception], int, str, str], ...] = (
    (store.CollectionNotFound, 404, "No such collection", "GET /v1/collections lists the collections."),
    (own.CollectionNotNamed, 422, "Collection not named", "Send `collection`. GET /v1/collections lists the names."),
    (own.InBin, 409, "In the bin", "GET /v1/bin lists the bin. POST /v1/bin/{entry}/restore restores an entry."),
    (ingest.DocumentNotFound, 404, "No such document", "GET /v1/documents?collection=NAME lists the documents."),
    (EvaluationNotFound, 404, "No such evaluation", "GET /v1/evaluations lists the evaluations."),
    (agents.TableNotFound, 404, "No such table", "GET /v1/tables lists the tables."),
    (agents.RunNotFound, 404, "No such run", "GET /v1/runs lists the runs."),
    (own.EvidenceNotFound, 404, "No such evidence", "GET /v1/runs/RUN returns the answer with its evidence."),
    (own.FileNotThere, 404, "No such file", "GET /v1/runs/RUN/files lists the run's files."),
    (agents.ApprovalNotFound, 404, "No such approval", "GET /v1/approvals lists the open approvals."),
    (agents.ApprovalClosed, 409, "Decided already", "The run's events contain the decision."),
    (own.SourceNotFound, 404, "No such source", "GET /v1/sources?collection=NAME lists the sources."),
    (own.JobDamaged, 404, "Damaged job", "Send the request of the job again."),
    (own.JobNotFound, 404, "No such job", "GET /v1/jobs lists the jobs."),
    (own.KeyReused, 409, "Idempotency key used before", "Send a new Idempotency-Key with a new request."),
    (own.ModelNotFound, 404, "No such model", "GET /v1/models lists the models."),
    (own.KeyNotFound, 404, "No such key", "GET /v1/keys lists the keys."),
    (own.SignInFailed, 401, "Not signed in", "Try again, or ask an owner for a new invitation."),
    (own.Unauthorized, 401, "Key needed",
     "Send `Authorization: Bearer KEY`. An owner creates keys with POST /v1/keys. Through a proxy, local users need "
     "one, too."),
    (own.UserNotFound, 404, "No such user", "GET /v1/users and /v1/groups list users and groups."),
    (own.TooManyAttempts, 429, "Too many attempts", "Try again after the number of seconds in the header Retry-After."),
    (own.LimitReached, 429, "Limit reached", "Try again after the number of seconds in the header Retry-After."),
    (agents.NotKept, 404, "No such entry", "GET /v1/agents, /v1/skills, /v1/memories or /v1/plans lists the entries."),
    (agents.NameTaken, 409, "Name taken", "Choose another name, or replace the existing entry with PUT."),
    (agents.KeptInFile, 409, "Kept in a file", "Edit the file that the detail names."),
    (own.Forbidden, 403, "Not allowed",
     "Use a key, or sign in as a user, with this right. GET /v1/me lists your rights."),
    (store.ForeignCollection, 409, "Collection of another database",
     "Use the service of the database that the collection belongs to, or another collection name."),
    (store.RecordsLost, 503, "Records lost", "Restore a backup, or drop the collection and ingest again."),
    (store.PassagesLost, 503, "Passages lost",
     "POST /v1/collections/{collection}/ingest with `retry_failed` restores them."),
    (store.CollectionLocked, 409, "Collection in use", "Stop the process that the detail names, then try again."),
    (store.CollectionMismatch, 409, "Collection made otherwise", "Follow the instructions in the detail, then retry."),
    (ingest.IngestUnderWay, 409, "Collection being changed",
     "Try again when the process that the detail names has ended."),
    (own.NotOurs, 409, "Run of another process", "Cancel it in that process."),
    (agents.RunExists, 409, "Run exists", "GET /v1/runs/{run_id} returns it."),
    (agents.RunUnderWay, 409, "Run under way",
     "Try again when the run has ended. GET /v1/runs/{run_id}/events follows it."),
    (own.ServiceEnding, 503, "Service ending", "Try again when the service has restarted."),
    (own.WorkerUnavailable, 503, "Worker unavailable", "Read the service's log, and try again when the process runs."),
    (agents.LLMError, 503, "Model unavailable", "Follow the instructions in the detail, then retry."),
    (store.StoreError, 503, "Store unavailable", "Try again later. GET /readyz shows an owner which check fails."),
    (ingest.LedgerUnavailable, 503, "Database unavailable", "Try again later. GET /readyz shows an owner the fault."),
    (SQLAlchemyError, 503, "Database unavailable", "Try again later. GET /readyz shows an owner the fault."),
    (own.HomeError, 503, "Data folder unavailable", "Try again later. GET /readyz shows an owner the fault."),
    (own.UploadTooLarge, 413, "Upload too large", "Send less at once, or raise the limit that the detail names."),
    (own.RangeNotThere, 416, "No such bytes", "Request bytes within the file, for example `Range: bytes=0-1023`."),
    (own.OriginalGone, 410, "File gone or changed", "GET /v1/documents/{document}/text returns the parsed text."),
    (ingest.PageNotShown, 404, "No such page", "GET /v1/documents/{document}/text returns the document as text."),
    (ingest.AmbiguousDocument, 422, "More than one document", "Send the document's full id."),
    (own.UsageError, 422, "Wrong input", "Correct the request as the detail says."),
    (agents.AgentError, 422, "Wrong input", "Correct the request as the detail says."),
    (ingest.IngestError, 422, "Wrong input", "Correct the request as the detail says."),
)  # fmt: skip

EXPECTED = tuple(kind for kind, *_ in PROBLEMS)
"""Errors that are reported as problems. Any other error is a bug."""


def problem_of(error: Exception) -> Problem:
    """Return the problem for an error. Raises the error itself if it is a bug."""
    for kind, status, title, remedy in PROBLEMS:
        if isinstance(error, kind):
            detail = own.error_message(error) or title
            return Problem(type=urn(title), title=title, status=status, detail=detail, remedy=remedy)
    raise error


def invalid_input(detail: str) -> Problem:
    """Return the problem for a request that does not match its schema."""
    remedy = "Correct the request. GET /openapi.json describes it."
    return Problem(type=urn("Wrong input"), title="Wrong input", status=422, detail=detail, remedy=remedy)


class FailedRun(Problem):
    """A failed run with its answer, which contains the passages that it read and the step that failed."""

    answer: Answer


def failed_run(answer: Answer) -> FailedRun:
    """Return the problem for a run that ended as failed."""
    return FailedRun(
        type=urn("Run failed"), title="Run failed", status=502, detail=answer.reasoning, answer=answer,
        remedy=f"GET /v1/runs/{answer.run_id}/events shows where it failed. Send the question again for a new run.",
    )  # fmt: skip


def urn(title: str) -> str:
    """Return the URN of a kind of problem."""
    return f"urn:candor:{title.lower().replace(' ', '-')}"
