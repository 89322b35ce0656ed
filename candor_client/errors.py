"""The errors of the client, named by who must act. A message says what happened, to what, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from candor_client.answer import Answer
from candor_client.models import Job, Problem


class CandorError(Exception):
    """The base of all errors of the client. Itself: the response has another form than the client knows."""


class Unreachable(CandorError):
    """The service did not answer, or stopped in the middle of a response."""


class Refused(CandorError):
    """The service answered with a problem."""

    def __init__(self, problem: Problem, headers: httpx.Headers) -> None:
        super().__init__(f"{problem.title}: {problem.detail} {problem.remedy}")
        self.problem, self.headers = problem, headers


class NotAllowed(Refused):
    """The key is missing, unknown, or lacks a right."""


class NotFound(Refused):
    """There is nothing of that name, or the key may not read it."""


class LimitReached(Refused):
    """Too much for now. The header ``Retry-After`` has the seconds to wait."""


class RunFailed(CandorError):
    """The research of a question failed, for example because its model did not respond."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"The run {answer.run_id} failed: {answer.reasoning} Ask again for a new run.")
        self.answer = answer


class JobFailed(CandorError):
    """An ingest or a fill of a table failed or was cancelled."""

    def __init__(self, job: Job) -> None:
        reason = job.error or "It was cancelled. Start it again to do the rest."
        super().__init__(f"The {job.kind} job {job.id} over {job.collection!r} did not finish: {reason}")
        self.job = job


_KINDS = {401: NotAllowed, 403: NotAllowed, 404: NotFound, 429: LimitReached}


def checked(response: httpx.Response) -> httpx.Response:
    """Return a response whose body was read. Raises Refused, or CandorError if no Candor answered."""
    if response.is_success:
        return response
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError as error:  # from a proxy, or from another program
        raise CandorError(
            f"{response.url} answered with status {response.status_code}, but not as Candor does: "
            f"{response.text[:200]!r}. Check the address, and the proxies on the way."
        ) from error
    raise _KINDS.get(response.status_code, Refused)(problem, response.headers)


T = TypeVar("T")


def parsed(kind: type[T], data: bytes) -> T:
    """Return JSON as a model. Raises CandorError."""
    try:
        return TypeAdapter(kind).validate_json(data)
    except ValidationError as error:
        fault = error.errors()[0]
        raise CandorError(
            f"Cannot read {kind}: {fault['msg']} at {fault['loc']}. Use the client of the service's version."
        ) from None  # it lists every fault of every entry


@contextmanager
def reaching(url: httpx.URL) -> Iterator[None]:
    """Raise errors of the connection as Unreachable."""
    try:
        yield
    except httpx.TransportError as error:
        reason = str(error) or type(error).__name__
        raise Unreachable(
            f"No answer from {url}: {reason}. Check the address, and that `candor serve` runs there."
        ) from error
