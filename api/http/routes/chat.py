"""The routes that clients of OpenAI's API ask: chat completions, and the models there are.

Their errors have OpenAI's shape, which such clients read, and not that of a problem.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from api.auth.permissions import Caller, Right
from api.errors import ModelNotFound, ServiceEnding
from api.http.deps import CurrentCaller, Served, Service
from api.http.errors import EXPECTED, problem_of, problems
from api.http.openai_chat import ChatCompletion, ChatError, ChatModel, ChatModels, ChatRequest, ErrorBody, Reply
from api.http.sse import EVENT_STREAM, KEEP_ALIVE, stream
from api.services.progress import progress
from multi_agent.answer import Answer, Status
from multi_agent.orchestrator.direct import can_be_asked

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 503: "server_error"}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_ONCE = {"x-should-retry": "false"}  # clients would else ask again, and begin another run each time


def _error(status: int, message: str, *, param: str | None = None, headers: dict[str, str] | None = None) -> Response:
    body = _body(status, message, param).model_dump_json()
    return Response(body, status, headers=headers, media_type="application/json")


def _body(status: int, message: str, param: str | None = None) -> ChatError:
    param = "model" if status == 404 else param
    kind = _TYPES.get(status, "invalid_request_error")
    return ChatError(error=ErrorBody(message=message, type=kind, param=param, code=_CODES.get(status)))


class ChatRoute(APIRoute):
    """A route whose errors are told as OpenAI's API tells them."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def told(request: Request) -> Response:
            try:
                return await handle(request)
            except HTTPException as error:  # what is not even JSON
                return _error(error.status_code, str(error.detail), headers=dict(error.headers or {}))
            except RequestValidationError as error:
                fault = error.errors()[0]
                place = ".".join(map(str, fault["loc"][1:]))
                return _error(400, f"{place}: {fault['msg']}", param=place or None)
            except EXPECTED as error:
                problem = problem_of(error)
                code = 400 if problem.status == 422 else problem.status
                headers = dict(getattr(error, "headers", None) or {})
                return _error(code, f"{problem.detail} {problem.remedy}", headers=headers)

        return told


router = APIRouter(prefix="/v1", tags=["chat"], route_class=ChatRoute)


def _errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For OpenAPI: these errors in OpenAI's shape, and those of the house as problems."""
    told = problems(403)
    for status in statuses:
        body = _body(status, "What happened, to what, and what to do.")
        content = {"application/json": {"schema": ChatError.model_json_schema(), "example": body.model_dump()}}
        told[status] = {"description": f"{body.error.type}, as OpenAI's API tells it.", "content": content}
    return told


@router.get("/models", responses=_errors(503))
def models(service: Served, caller: CurrentCaller) -> ChatModels:
    """What can be asked as a model: every collection, and every agent that can be asked alone, over each."""
    return ChatModels(data=tuple(map(_model, _names(service, caller))))


@router.get("/models/{model}", responses=_errors(404, 503))
def model(
    service: Served,
    caller: CurrentCaller,
    model: Annotated[str, Path(description="A collection, or `collection:agent`.", examples=["papers"])],
) -> ChatModel:
    """One model, if it can be asked."""
    if model not in _names(service, caller):
        raise ModelNotFound(model)
    return _model(model)


_ASKED = {
    "model": "papers",
    "messages": [{"role": "user", "content": "Which of these pumps works below -20 °C?"}],
}
_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "model": ChatCompletion,
        "description": "The answer.",
        "content": EVENT_STREAM,
    }
}


@router.post(
    "/chat/completions",
    responses=_ANSWER | _errors(400, 404, 409, 413, 503),
    response_model=ChatCompletion,
)
async def chat(
    service: Served,
    caller: CurrentCaller,
    request: Request,
    wanted: Annotated[ChatRequest, Body(examples=[_ASKED, _ASKED | {"stream": True}])],
) -> Response:
    """Ask a collection as if it were a chat model: the answer cites its sources, and links to the evidence.

    The question is the last message of the user; earlier messages are not read. With `stream=true`, the panel's
    progress comes as `reasoning_content`, then the text.
    """
    known = await asyncio.to_thread(_names, service, caller)
    if wanted.model not in known:
        raise ModelNotFound(wanted.model)
    caller.require(Right.READ, wanted.collection)
    run_id = await service.runs.start(wanted.asked(), wanted.collection, caller)
    reply = Reply(wanted, run_id, int(time.time()), str(request.base_url))
    if wanted.stream:
        return stream(_chunks(service, run_id, reply), _ONCE)
    answer = await service.runs.wait(run_id)
    if reason := _why_none(answer):
        return _error(503, reason, headers=_ONCE)
    run = await asyncio.to_thread(service.candor.trace.run, run_id)
    return Response(reply.whole(run, answer).model_dump_json(), media_type="application/json")


async def _chunks(service: Service, run_id: str, reply: Reply) -> AsyncIterator[str]:
    """As server-sent events: the progress of the run, then its answer."""
    for chunk in reply.begins():
        yield _sent(chunk)
    async for event in service.runs.follow(run_id, 0):
        if event is None:
            yield KEEP_ALIVE
        elif told := progress(event):
            yield _sent(reply.chunk({"reasoning_content": f"{told}\n"}))
    try:
        answer = await service.runs.wait(run_id)
    except ServiceEnding as ending:
        yield _sent(_body(503, f"{ending} The run {run_id} goes on then.").model_dump())
        return
    if reason := _why_none(answer):
        yield _sent(_body(503, reason).model_dump())
        return
    run = await asyncio.to_thread(service.candor.trace.run, run_id)
    for chunk in reply.ends(run, answer):
        yield _sent(chunk)
    yield "data: [DONE]\n\n"


def _sent(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def _names(service: Service, caller: Caller) -> list[str]:
    """The models that the caller may ask."""
    candor = service.candor
    agents = [registered.card.name for registered in candor.registry if can_be_asked(registered.card)]
    readable = [spec.collection for spec in candor.collections() if caller.may(Right.READ, spec.collection)]
    return [name for collection in readable for name in (collection, *(f"{collection}:{agent}" for agent in agents))]


def _model(name: str) -> ChatModel:
    return ChatModel(id=name)


def _why_none(answer: Answer) -> str:
    """Why a run has no answer; empty if it has one, be it that the documents hold none."""
    if answer.status in (Status.ANSWERED, Status.INSUFFICIENT):
        return ""
    return f"The run {answer.run_id} {answer.status.value}: {answer.reasoning}"
