"""What the roof itself can refuse."""

from __future__ import annotations

from collections.abc import Mapping


class UsageError(Exception):
    """The caller asked for something that cannot be: exit code 2."""


class SettingsError(UsageError):
    """A setting is unknown or has a wrong value; the message names it and where it stands."""


class UploadTooLarge(UsageError):
    """More was uploaded than the settings allow."""


class OriginalGone(Exception):
    """The file of a document is not there any more, or not as it was ingested."""


class HomeError(Exception):
    """The home folder or its database cannot be used."""


class ServiceEnding(Exception):
    """The service is being ended and takes on nothing new."""

    def __init__(self) -> None:
        super().__init__("The service is being ended and takes on nothing new. Ask again when it has been started.")


class JobNotFound(Exception):
    """There is no such job."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"There is no job {job_id!r}.")


class ResearchLost(Exception):
    """The process that researches ended while something was under way in it."""


class JobFailed(Exception):
    """A job cannot be done, for a reason that the person is told; no defect."""


class KeyReused(Exception):
    """An idempotency key came again with another request."""


class Refused(Exception):
    """The request is not served; ``headers`` go out with the refusal."""

    headers: Mapping[str, str] = {}


class RangeNotThere(Refused):
    """Bytes of a file were asked for that it does not have, or in words that are none for bytes."""

    def __init__(self, asked: str, size: int) -> None:
        super().__init__(f"The header Range asks for {asked!r}; the file has {size} bytes, from 0 to {size - 1}.")
        self.headers = {"Content-Range": f"bytes */{size}"}


class Unauthorized(Refused):
    """No valid key was sent where one is needed. Says of no key why it is not valid: a stranger is told nothing."""

    headers: Mapping[str, str] = {"WWW-Authenticate": 'Bearer realm="candor"'}

    def __init__(self) -> None:
        super().__init__("No valid key was sent; it is wrong, has expired or was revoked, or there was none.")


class LimitReached(Refused):
    """The key has taken what it may take today."""

    def __init__(self, what: str, again_in_s: int) -> None:
        super().__init__(f"This key has reached its limit of {what}, which counts from midnight UTC.")
        self.headers = {"Retry-After": str(again_in_s)}


class KeyNotFound(Exception):
    """There is no key with that id."""


class Forbidden(Exception):
    """The caller is known and lacks the right."""


class ModelNotFound(Exception):
    """A chat client names a model that stands for no collection or agent, or for none that it may read."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no model {name!r}.")


class FileNotThere(Exception):
    """No file of that name among those of a run."""


class NotOurs(Exception):
    """What is asked for can be done only by the process that a run belongs to."""


def in_words(error: Exception) -> str:
    """The message; the database's own, where SQLAlchemy wraps it in links and statements."""
    cause = getattr(error, "orig", None)
    if cause is None:
        return str(error)
    told = " ".join(str(cause).split()).rstrip(".")
    return (
        f"The database cannot be used: {told}. Check that it runs, or that its disk has room and may be written to; "
        "CANDOR_DATABASE_URL names it, without one it is candor.db in the home folder."
    )
