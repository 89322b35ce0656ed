"""Problem responses: exception handlers for the application, and their documentation in OpenAPI."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from api.errors import Refused, UploadTooLarge
from api.problems import PROBLEMS, Problem, invalid_input, problem_of, urn

MEDIA_TYPE = "application/problem+json"
_FAULTS_SHOWN = 20
_OWN_FAULTS = (401, 403, 404, 422, 429)  # faults of the request, whose details name nothing of the service


def problem_response(problem: Problem, headers: Mapping[str, str] | None = None, *, public: bool = False) -> Response:
    """Return a problem as an HTTP response. To the ``public``, a fault of the service has no details."""
    if public and problem.status not in _OWN_FAULTS:
        problem = problem.model_copy(update={"detail": "No answer is possible now.", "remedy": "Try again later."})
    return Response(problem.model_dump_json(), problem.status, headers=headers, media_type=MEDIA_TYPE)


def add_exception_handlers(app: FastAPI, headers: dict[str, str]) -> None:
    """Respond to every error with a problem. ``headers`` are added to status 500, which bypasses the middleware."""

    async def expected(request: Request, error: Exception) -> Response:
        caller = getattr(request.state, "caller", None)
        headers = error.headers if isinstance(error, Refused) else None
        return problem_response(problem_of(error), headers, public=bool(caller and caller.asks))

    async def invalid(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError | WebSocketRequestValidationError)
        found = error.errors()
        faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found[:_FAULTS_SHOWN])
        more = f"; and {len(found) - _FAULTS_SHOWN:,} more" if len(found) > _FAULTS_SHOWN else ""
        return problem_response(invalid_input(f"{faults}{more}."))

    async def http(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == HTTPStatus.BAD_REQUEST:  # FastAPI's status for a body that is not JSON
            return problem_response(invalid_input(str(error.detail)))
        if error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return problem_response(problem_of(UploadTooLarge(error.detail)), error.headers)
        title, remedy = HTTPStatus(error.status_code).phrase, "GET /openapi.json describes every route."
        problem = Problem(
            type=urn(title), title=title, status=error.status_code, detail=str(error.detail), remedy=remedy
        )
        return problem_response(problem, dict(error.headers or {}))

    async def bug(_: Request, error: Exception) -> Response:
        problem = Problem(
            type="urn:candor:defect", title="A defect in Candor", status=500, detail=type(error).__name__,
            remedy="Report it, with the standard error output of the service.",
        )  # fmt: skip
        return problem_response(problem, headers)

    for kind, *_ in PROBLEMS:
        app.add_exception_handler(kind, expected)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(WebSocketRequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, bug)


def problem_responses(*statuses: int, anonymous: bool = False) -> dict[int | str, dict[str, Any]]:
    """Document the problems that a route can answer with, for its ``responses``.

    Adds the statuses that the middleware can answer with on every route, or on those for ``anonymous`` clients.
    """
    of_middleware = {403, 421} if anonymous else {401, 403, 421, 429}
    return {status: _documented(status) for status in sorted({*statuses, *of_middleware})}


def _documented(status: int) -> dict[str, Any]:
    titles = dict.fromkeys(title for _, its, title, _ in PROBLEMS if its == status)
    description = ". ".join(titles) or "The Host header does not name this machine"
    schema = {"$ref": "#/components/schemas/Problem"}
    example = Problem(
        type=urn(next(iter(titles), "Wrong host")),
        title=next(iter(titles), "Not addressed to this machine"),
        status=status,
        detail="What happened, and to what.",
        remedy=next((remedy for _, its, _, remedy in PROBLEMS if its == status), "Use 127.0.0.1 or localhost."),
    )
    content = {MEDIA_TYPE: {"schema": schema, "example": example.model_dump()}}
    return {"description": f"{description}.", "content": content}
