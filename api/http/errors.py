"""Errors as the service tells them: application/problem+json (RFC 9457), with what to do."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from api.errors import (
    FileNotThere,
    Forbidden,
    HomeError,
    JobNotFound,
    KeyNotFound,
    KeyReused,
    LimitReached,
    ModelNotFound,
    NotOurs,
    OriginalGone,
    RangeNotThere,
    Refused,
    ServiceEnding,
    Unauthorized,
    UploadTooLarge,
    UsageError,
    in_words,
)
from ingest.errors import (
    AmbiguousDocument,
    DocumentNotFound,
    IngestError,
    IngestUnderWay,
    LedgerUnavailable,
    PageNotShown,
)
from multi_agent.errors import (
    AgentError,
    ApprovalClosed,
    ApprovalNotFound,
    KeptInFile,
    LLMError,
    NameTaken,
    NotKept,
    RunNotFound,
    RunUnderWay,
)
from multi_agent.evaluation.errors import EvaluationNotFound
from vectorstore.errors import CollectionLocked, CollectionMismatch, CollectionNotFound, StoreError
from vectorstore.models import FrozenModel

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"


class Problem(FrozenModel):
    """Why a request was not served."""

    type: str = Field(description="which kind of problem, as a URN")
    title: str = Field(description="the kind in words")
    status: int = Field(description="the HTTP status")
    detail: str = Field(description="what happened, to what")
    remedy: str = Field(description="what to do")


_AS_IT_SAYS = "Do what the detail says, then ask again."

# By class, the most special first.
_KINDS: tuple[tuple[type[Exception], int, str, str], ...] = (
    (CollectionNotFound, 404, "No such collection", "GET /v1/collections lists those there are."),
    (DocumentNotFound, 404, "No such document", "GET /v1/documents?collection=NAME lists those there are."),
    (EvaluationNotFound, 404, "No such evaluation", "GET /v1/evaluations lists those there are."),
    (RunNotFound, 404, "No such run", "GET /v1/runs lists those there are."),
    (FileNotThere, 404, "No such file", "GET /v1/runs/RUN/files lists those there are."),
    (ApprovalNotFound, 404, "No such approval", "GET /v1/approvals lists those that are open."),
    (ApprovalClosed, 409, "Decided already", "The run's events tell what was decided."),
    (JobNotFound, 404, "No such job", "GET /v1/jobs lists those there are."),
    (KeyReused, 409, "Idempotency key used before", "Send a new Idempotency-Key with a new request."),
    (ModelNotFound, 404, "No such model", "GET /v1/models lists those there are."),
    (KeyNotFound, 404, "No such key", "GET /v1/keys lists those there are."),
    (Unauthorized, 401, "Key needed", "Send `Authorization: Bearer KEY`; `candor keys add` makes keys."),
    (LimitReached, 429, "Limit reached", "Ask again after the seconds that the header Retry-After gives."),
    (NotKept, 404, "No such entry", "GET /v1/agents, /v1/skills or /v1/memories lists those there are."),
    (NameTaken, 409, "Name taken", "Take another name, or change what has this one (PUT)."),
    (KeptInFile, 409, "Kept in a file", "Edit the file that the detail names."),
    (Forbidden, 403, "Not allowed", "Use a key that has this right; `candor keys` lists and makes keys."),
    (CollectionLocked, 409, "Collection in use", "End the process that the detail names, then ask again."),
    (CollectionMismatch, 409, "Collection made otherwise", _AS_IT_SAYS),
    (IngestUnderWay, 409, "Collection being changed", "Ask again when the process that the detail names has ended."),
    (NotOurs, 409, "Another process's run", "End it there."),
    (RunUnderWay, 409, "Run under way", "Ask again when the run has ended; GET /v1/runs/{run_id}/events tells when."),
    (ServiceEnding, 503, "Service ending", "Ask again when it has been started."),
    (LLMError, 503, "Model unavailable", "`candor doctor` checks the endpoint and the model."),
    (StoreError, 503, "Store unavailable", "`candor doctor` checks the store and the embedding model."),
    (LedgerUnavailable, 503, "Database unavailable", "`candor doctor` checks the database."),
    (SQLAlchemyError, 503, "Database unavailable", "`candor doctor` checks the database."),
    (HomeError, 503, "Data folder unavailable", "`candor doctor` checks the data folder."),
    (UploadTooLarge, 413, "Upload too large", "Send less at once, or raise the limit that the detail names."),
    (
        RangeNotThere,
        416,
        "No such bytes",
        "Ask for bytes that the file has, such as `Range: bytes=0-1023`, or for all.",
    ),
    (OriginalGone, 410, "File gone or changed", "GET /v1/documents/{document}/text has what was read of it."),
    (PageNotShown, 404, "No such page", "GET /v1/documents/{document}/text has the document as text."),
    (AmbiguousDocument, 422, "More than one document", "Name the document by its whole id."),
    (UsageError, 422, "Wrong input", "Correct the request as the detail says."),
    (AgentError, 422, "Wrong input", "Correct the request as the detail says."),
    (IngestError, 422, "Wrong input", "Correct the request as the detail says."),
)

EXPECTED = tuple(kind for kind, *_ in _KINDS)
"""What can be told as a problem; any other error is a defect."""


def problem_of(error: Exception) -> Problem:
    """How an error of Candor is told. Raises the error itself if it is a defect."""
    for kind, status, title, remedy in _KINDS:
        if isinstance(error, kind):
            return Problem(type=_urn(title), title=title, status=status, detail=_told(error) or title, remedy=remedy)
    raise error


def _told(error: Exception) -> str:
    """Its message; which other collections there are is not for everybody."""
    return str(CollectionNotFound(error.name)) if isinstance(error, CollectionNotFound) else in_words(error)


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None) -> Response:
    """The problem as it goes out."""
    return Response(problem.model_dump_json(), problem.status, headers=headers, media_type=MEDIA_TYPE)


def tell_problems(app: FastAPI, headers: dict[str, str]) -> None:
    """Let every error go out as a problem; ``headers`` go with that of a defect, which passes by all middleware."""

    async def expected(_: Request, error: Exception) -> Response:
        return problem_response(problem_of(error), error.headers if isinstance(error, Refused) else None)

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError | WebSocketRequestValidationError)
        return problem_response(_wrong_input(error))

    async def http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == HTTPStatus.BAD_REQUEST:  # FastAPI's word for a body that is no text
            return problem_response(_unreadable(str(error.detail)))
        if error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return problem_response(problem_of(UploadTooLarge(error.detail)), error.headers)
        remedy = "GET /openapi.json describes every route."
        title = HTTPStatus(error.status_code).phrase
        told = Problem(type=_urn(title), title=title, status=error.status_code, detail=str(error.detail), remedy=remedy)
        return problem_response(told, dict(error.headers or {}))

    async def defect(_: Request, error: Exception) -> Response:
        told = Problem(
            type="urn:candor:defect", title="A defect in Candor", status=500, detail=type(error).__name__,
            remedy="Report it, with what the service wrote to its standard error.",
        )  # fmt: skip
        return problem_response(told, headers)

    for kind, *_ in _KINDS:
        app.add_exception_handler(kind, expected)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(WebSocketRequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, defect)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For OpenAPI: the statuses of problems that a route may answer with, each with an example."""
    return {status: _documented(status) for status in sorted({*statuses, 401, 403, 421, 429})}


def _documented(status: int) -> dict[str, Any]:
    titles = dict.fromkeys(title for _, its, title, _ in _KINDS if its == status)
    description = ". ".join(titles) or "The Host header does not name this machine"
    schema = {"$ref": "#/components/schemas/Problem"}
    example = Problem(
        type=_urn(next(iter(titles), "Wrong host")),
        title=next(iter(titles), "Not addressed to this machine"),
        status=status,
        detail="What happened, to what.",
        remedy=next((remedy for _, its, _, remedy in _KINDS if its == status), "Use 127.0.0.1 or localhost."),
    )
    content = {MEDIA_TYPE: {"schema": schema, "example": example.model_dump()}}
    return {"description": f"{description}.", "content": content}


def _unreadable(detail: str) -> Problem:
    """As a body that is text, and no JSON, is told."""
    remedy = "Correct the request; GET /openapi.json describes it."
    return Problem(type=_urn("Wrong input"), title="Wrong input", status=422, detail=detail, remedy=remedy)


def _wrong_input(error: RequestValidationError | WebSocketRequestValidationError) -> Problem:
    faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
    return Problem(
        type=_urn("Wrong input"),
        title="Wrong input",
        status=422,
        detail=f"{faults}.",
        remedy="Correct the request; GET /openapi.json describes it.",
    )


def _urn(title: str) -> str:
    return f"urn:candor:{title.lower().replace(' ', '-').replace(chr(39), '')}"
