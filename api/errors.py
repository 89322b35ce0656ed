"""Errors of the ``api`` package. ``problems.py`` maps the errors of all packages to HTTP statuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from base.counts import count
from base.errors import Explained

if TYPE_CHECKING:
    from pydantic import ValidationError


class UsageError(Explained):
    """The request or command is invalid. The command line exits with code 2."""


class CollectionNotNamed(UsageError):
    """The request names no collection, and there is not exactly one."""


class InBin(UsageError):
    """The collection is in the bin."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The collection {name!r} is in the bin.")
        self.command = f"`candor bin restore {name}` restores it, `candor bin empty {name}` removes it permanently."


class SettingsError(UsageError):
    """A setting is unknown or invalid. The message names the setting and its source."""


class UploadTooLarge(UsageError):
    """The upload exceeds a limit of the settings."""


class OriginalGone(Exception):
    """The file of a document was deleted or changed after it was ingested."""


class HomeError(Exception):
    """The data folder or its database cannot be used."""


class ServiceEnding(Exception):
    """The service is shutting down and accepts no new work."""

    def __init__(self) -> None:
        super().__init__("The service is shutting down and accepts no new work. Try again when it has restarted.")


class WorkerUnavailable(Exception):
    """The process that runs questions and evaluations cannot start. The message says how it ended."""


class JobNotFound(Exception):
    """No job has this id."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"There is no job {job_id!r}.")


class JobDamaged(JobNotFound):
    """The record of a job in the database cannot be read."""

    def __init__(self, job_id: str) -> None:
        Exception.__init__(self, f"The record of job {job_id!r} is damaged. Send its request again.")


class JobFailed(Explained):
    """A job failed for the reason in the message."""


class JobMustWait(Exception):
    """A job cannot run yet, for the reason in the message. It is tried again."""


class KeyReused(Exception):
    """An idempotency key was sent again with a different request."""


class Refused(Exception):
    """A request was rejected. ``headers`` are headers of the response."""

    headers: Mapping[str, str] = {}


class RangeNotThere(Refused):
    """The Range header asks for bytes that the file does not have, or is malformed."""

    def __init__(self, asked: str, size: int) -> None:
        super().__init__(f"The header Range asks for {asked!r}; the file has {size} bytes, from 0 to {size - 1}.")
        self.headers = {"Content-Range": f"bytes */{size}"}


class Unauthorized(Refused):
    """The request has no valid key or session. The message hides whether a key is wrong, expired or revoked."""

    headers: Mapping[str, str] = {"WWW-Authenticate": 'Bearer realm="candor"'}

    def __init__(self, reason: str = "No valid key was sent: it is missing, wrong, expired or revoked.") -> None:
        super().__init__(reason)


class SignInFailed(Unauthorized):
    """A sign-in was refused. The message hides whether there is such a user."""


class LimitReached(Refused):
    """The key has reached its daily limit."""

    def __init__(self, what: str, again_in_s: int) -> None:
        super().__init__(f"This key has reached its limit of {what}. The limit resets at midnight UTC.")
        self.headers = {"Retry-After": str(again_in_s)}


class TooManyQuestions(LimitReached):
    """An address has asked too many questions with a key that can only ask."""

    def __init__(self, most: int, again_in_s: int) -> None:
        Refused.__init__(self, f"This address has asked {most} questions within a minute, which is the limit.")
        self.headers = {"Retry-After": str(again_in_s)}


class TooManyAttempts(Refused):
    """Too many sign-ins failed."""

    def __init__(self, again_in_s: int) -> None:
        super().__init__("Too many sign-ins with this name or from this address have failed.")
        self.headers = {"Retry-After": str(again_in_s)}


class UserNotFound(UsageError):
    """No user or group has this id or name."""


class KeyNotFound(Exception):
    """No key has this id."""


class Forbidden(Exception):
    """The caller is known but lacks the required right."""


class ModelNotFound(Exception):
    """A chat client named a model that matches no collection or agent that the caller may read."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no model {name!r}.")


class SourceNotFound(UsageError):
    """The collection has no source of that name."""


class FileNotThere(Exception):
    """The run has no file of this name."""


class EvidenceNotFound(UsageError):
    """The answer has no evidence of this number, or its text was not kept with the run."""


class NotOurs(Explained):
    """Only the process that owns the run or job can do this."""


def error_message(error: Exception) -> str:
    """Return the message of an error. For SQLAlchemy errors, omit the SQL statement."""
    cause = getattr(error, "orig", None)
    if cause is None or (hasattr(cause, "sqlstate") and not hasattr(error, "statement")):  # ``DatabaseFailed``
        return str(error)
    message = " ".join(str(cause).split()).rstrip(".")
    return (
        f"The database cannot be used: {message}. Check that it runs, is writable and has free space; restore a backup "
        "(`candor restore`) if it is damaged. CANDOR_DATABASE_URL names the database; without it, it is candor.db in "
        "the data folder."
    )


def command_message(error: Exception) -> str:
    """Return the message of an error with its remedy on the command line."""
    remedy = error.command if isinstance(error, Explained) else ""
    return " ".join(filter(None, (error_message(error), remedy)))


@contextmanager
def usage_errors(problem: str) -> Iterator[None]:
    """Replace a pydantic ValidationError by a UsageError that states the problem and the faults."""
    from pydantic import ValidationError

    try:
        yield
    except ValidationError as error:
        raise UsageError(f"{problem}: {fault_list(error)}.") from error


def fault_list(error: ValidationError) -> str:
    """Return the faults of a pydantic validation as "location: message", separated by semicolons."""
    errors = error.errors()
    # A list whose items are invalid also counts as too short. Only the items are to blame.
    inner = {each["loc"][:-1] for each in errors if each["loc"]}
    faults = (
        (".".join(map(str, each["loc"])), _message(each))
        for each in errors
        if each["type"] != "too_short" or each["loc"] not in inner
    )
    return "; ".join(": ".join(filter(None, fault)) for fault in faults)


def _message(fault: Mapping[str, Any]) -> str:
    if fault["type"] == "too_short":
        return f"needs at least {count(fault['ctx']['min_length'], 'item')}"
    return str(fault["msg"]).removeprefix("Value error, ")
