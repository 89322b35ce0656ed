"""OpenAI-compatible routes: chat completions and models.

Errors have OpenAI's error format instead of problems, because OpenAI clients expect it.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Annotated, Any, get_args

from fastapi import Body, Depends, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from api.auth.permissions import ALL_COLLECTIONS, Right
from api.errors import ModelNotFound, ServiceEnding
from api.http.deps import CandorDep, CurrentCaller, PartsDep
from api.http.errors import problem_responses
from api.http.openai_chat import ChatCompletion, ChatError, ChatModel, ChatModels, ChatRequest, ErrorBody, Reply
from api.http.router import make_router
from api.http.sse import EVENT_STREAM, KEEP_ALIVE, stream_response
from api.jobs.research import Runs
from api.problems import EXPECTED, problem_of
from api.services.research.chat_models import chat_models
from api.services.research.event_text import progress
from multi_agent.settings.research import Source
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Answer
from vectorstore.models import names_in

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 503: "server_error"}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_NO_RETRY = {"x-should-retry": "false"}  # otherwise clients would retry, and each retry would start another run


def _error(status: int, message: str, *, param: str | None = None, headers: dict[str, str] | None = None) -> Response:
    body = _error_body(status, message, param).model_dump_json()
    return Response(body, status, headers=headers, media_type="application/json")


def _error_body(status: int, message: str, param: str | None = None) -> ChatError:
    param = "model" if status == 404 else param
    kind = _TYPES.get(status, "invalid_request_error")
    return ChatError(error=ErrorBody(message=message, type=kind, param=param, code=_CODES.get(status)))


class ChatRoute(APIRoute):
    """A route that returns errors in OpenAI's format."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()

        async def handle_errors(request: Request) -> Response:
            try:
                return await handle(request)
            except HTTPException as error:  # the body is not JSON
                return _error(error.status_code, str(error.detail), headers=dict(error.headers or {}))
            except RequestValidationError as error:
                fault = error.errors()[0]
                location = ".".join(map(str, fault["loc"][1:]))
                return _error(400, ": ".join(filter(None, (location, fault["msg"]))), param=location or None)
            except EXPECTED as error:
                problem = problem_of(error)
                code = 400 if problem.status == 422 else problem.status
                headers = dict(getattr(error, "headers", None) or {})
                return _error(code, f"{problem.detail} {problem.remedy}", headers=headers)

        return handle_errors


router = make_router(prefix="/v1", tags=["chat"], route_class=ChatRoute)


def _error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Document errors with these statuses in OpenAI's format, and errors of the middleware as problems."""
    responses = problem_responses(403)
    for status in statuses:
        body = _error_body(status, "What happened, to what, and what to do.")
        responses[status] = {
            "model": ChatError,
            "description": f"{body.error.type}, in the format of OpenAI's API.",
            "content": {"application/json": {"example": body.model_dump()}},
        }
    return responses


ModelNames = Callable[[Sequence[Source]], list[str]]
"""Returns the names of the models that the caller may use and that can answer from these sources."""


def _model_names(candor: CandorDep, caller: CurrentCaller) -> ModelNames:
    def names(sources: Sequence[Source]) -> list[str]:
        allowed = tuple(sources) or candor.settings.research.sources
        return chat_models(
            candor.collections, candor.agent_catalog.registry(), candor.tools, candor.settings, caller, allowed
        )

    return names


ModelNamesDep = Annotated[ModelNames, Depends(_model_names)]


@router.get("/models", responses=_error_responses(503))
def models(names: ModelNamesDep) -> ChatModels:
    """List the models that can answer: collections with documents, and agents that work alone over a collection."""
    return ChatModels(data=tuple(ChatModel(id=name) for name in names(())))


@router.get("/models/{model}", responses=_error_responses(404, 503))
def model(
    names: ModelNamesDep,
    model: Annotated[str, Path(description="A collection, or `collection:agent`.", examples=["papers"])],
) -> ChatModel:
    """Get one model."""
    if model not in names(()):
        raise ModelNotFound(model)
    return ChatModel(id=model)


def _is_known(body: ChatRequest, models: Sequence[str]) -> bool:
    """Return whether each collection of the model name, with its agent, is a model; for all, whether one is."""
    agent = body.model.removeprefix(body.collection)
    if body.collection == ALL_COLLECTIONS:
        return any(model.endswith(agent) for model in models)
    return all(f"{name}{agent}" in models for name in names_in(body.collection))


_EXAMPLE = {
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
    responses=_ANSWER | _error_responses(400, 404, 409, 413, 503),
    response_model=ChatCompletion,
)
async def chat(
    names: ModelNamesDep,
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    request: Request,
    body: Annotated[ChatRequest, Body(examples=[_EXAMPLE, _EXAMPLE | {"stream": True}])],
) -> Response:
    """Ask a collection as if it were a chat model. The answer cites its sources and links to the evidence.

    The question is the last message with the role `user`. Earlier messages of `user` and `assistant` complete it, so
    that "And his time?" becomes a question with a name. The answer to an unclear question is a question with numbered
    candidates, which the next message may choose from. With `stream=true`, the progress is sent as
    `reasoning_content`, followed by the text.
    """
    if not _is_known(body, names(get_args(Source))):  # all sources: a run without usable sources reports that
        raise ModelNotFound(body.model)
    collection = await asyncio.to_thread(candor.collections.resolve_for, caller, Right.READ, body.collection)
    run_id = await parts.runs.start(body.to_request(), collection, caller)
    reply = Reply(body, run_id, int(time.time()), str(request.base_url))
    if body.stream:
        return stream_response(_chunks(parts.runs, candor.trace, run_id, reply), _NO_RETRY)
    answer = await parts.runs.wait(run_id)
    if failure := _failure(answer):
        return _error(503, failure, headers=_NO_RETRY)
    run = await asyncio.to_thread(candor.trace.run, run_id)
    return Response(reply.completion(run, answer).model_dump_json(), media_type="application/json")


async def _chunks(runs: Runs, trace: Trace, run_id: str, reply: Reply) -> AsyncIterator[str]:
    """Yield the progress of the run, then its answer, as server-sent events."""
    for chunk in reply.first_chunks():
        yield _event(chunk)
    try:
        async for event in runs.follow(run_id, 0):
            if event is None:
                yield KEEP_ALIVE
            elif line := progress(event):
                yield _event(reply.progress_chunk(line))
        answer, run = await runs.wait(run_id), await asyncio.to_thread(trace.run, run_id)
        failure = _failure(answer)
    except ServiceEnding as ending:
        failure = f"{ending} The run {run_id} continues then."
    except EXPECTED as error:  # the response has begun, so that no handler can report it
        problem = problem_of(error)
        failure = f"{problem.detail} {problem.remedy}"
    if failure:
        yield _event(_error_body(503, failure).model_dump())
        return
    for chunk in reply.last_chunks(run, answer):
        yield _event(chunk)
    yield "data: [DONE]\n\n"


def _event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def _failure(answer: Answer) -> str:
    """Return why a run failed. Empty if it succeeded, even without an answer in the documents."""
    if answer.status.is_result:
        return ""
    return f"The run {answer.run_id} {answer.status.value}: {answer.reasoning}"
