"""Research questions over HTTP, and the outlines of reports."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Self

from fastapi import Body, Response
from pydantic import Field, model_validator

from api.auth.permissions import Caller, Right
from api.errors import Forbidden, ServiceEnding
from api.http.deps import CandorDep, CollectionsField, CurrentCaller, IdempotencyKey, PartsDep
from api.http.errors import MEDIA_TYPE, problem_response, problem_responses
from api.http.router import make_router
from api.http.routes.runs.runs import RunId
from api.http.sse import EVENT_STREAM, DescribedEvent, format_events, stream_response
from api.jobs.models import Priority
from api.jobs.research import Runs
from api.problems import failed_run
from api.services.research.conversation import collection_to_ask
from api.services.research.public_answer import PublicAnswer
from api.services.research.report import outline_of
from api.services.research.research import request_fields
from base.models import FrozenModel
from multi_agent.settings.research import Source
from multi_agent.values.answer import Answer, Status
from multi_agent.values.events import Event
from multi_agent.values.report import PlannedSection
from multi_agent.values.request import Request

router = make_router(prefix="/v1", tags=["research"])


class ResearchRequest(Request):
    """A question to a collection."""

    collection: CollectionsField
    wait: bool = Field(
        default=True, description="Wait for the answer. If false, respond at once with the id of the run."
    )
    stream: bool = Field(
        default=False, description="Respond with the events of the run as they happen, then an event `answer`."
    )

    priority: Priority = Field(default=Priority.NORMAL, description="Priority among your own waiting questions.")

    @model_validator(mode="after")
    def _one_way_to_answer(self) -> Self:
        if self.stream and not self.wait:
            raise ValueError("stream cannot be combined with wait=false")
        return self

    def to_request(self) -> Request:
        """Return the request to the panel. Its fields are already validated."""
        given = {name: value for name, value in self if name in self.model_fields_set}
        return Request.model_construct(**request_fields(given))


class Accepted(FrozenModel):
    """The run that was started or queued."""

    run_id: str


class Defaults(FrozenModel):
    """The default options of questions."""

    sources: tuple[Source, ...] = Field(description="Sources of answers, from the setting `research.sources`.")


_PUBLIC_FIELDS = {"collection", "question", "stream"}
_EXAMPLES = [
    {"collection": "papers", "question": "Which of these pumps works below -20 °C?"},
    {"question": "Which pump is the quietest?", "mode": "high", "budget": {"model_calls": 20}, "wait": False},
    {"question": "Which pump is the quietest?", "stream": True},
    {"question": "And its price?", "continues": "run_d65459f7e628"},
]


_FAILED = failed_run(
    Answer(
        run_id="run_d65459f7e628", status=Status.FAILED, mode="fast", question="Which pump is the quietest?",
        reasoning="No server answers at http://127.0.0.1:11434.",
    )
)  # fmt: skip


@router.post(
    "/research",
    responses={
        200: {
            "model": Answer | PublicAnswer,
            "description": "The answer. `status` states whether the documents contain one. With `stream=true`: the "
            "events of `GET /v1/runs/{run_id}/events`, then one of the type `answer`. A key with the right `ask` gets "
            "a `PublicAnswer`, and of events only their `type`.",
            "content": EVENT_STREAM,
        },
        502: {
            "description": "The run failed, for example because the model did not answer. `detail` is the reason, and "
            "`answer` the answer of the run with its id. With `stream=true`, the status is 200.",
            "content": {
                MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/FailedRun"}, "example": _FAILED.model_dump()}
            },
        },
        202: {"model": Accepted, "description": "With `wait=false`: the run was started or queued."},
        **problem_responses(404, 409, 422, 503),
    },
    response_model=Answer | PublicAnswer,
)
async def research(
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    body: Annotated[ResearchRequest, Body(examples=_EXAMPLES)],
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Research a question and answer it with evidence.

    The run continues if the connection closes, and `GET /v1/runs` lists it. If the documents do not contain the answer,
    the response has status 200 and `insufficient`. If the run fails, the response is a problem with status 502 that
    contains the answer of the run. A key with the right `ask` may send `question`, `collection` and `stream`.
    It asks the documents of its collection only, and also gets status 200 if the run fails.
    """
    request = _public_request(body) if caller.asks else body.to_request()
    right = Right.ASK if caller.asks else Right.READ
    named = await asyncio.to_thread(collection_to_ask, candor.trace, request, body.collection, caller)
    collection = await asyncio.to_thread(candor.collections.resolve_for, caller, right, named)
    run_id = await parts.runs.start(request, collection, caller, idempotency_key, body.priority)
    headers = {} if caller.asks else {"Location": f"/v1/runs/{run_id}"}
    if not body.wait:
        accepted = Accepted(run_id=run_id).model_dump_json()
        return Response(accepted, status_code=202, headers=headers, media_type="application/json")
    if body.stream:
        return stream_response(_events_and_answer(parts.runs, run_id, caller), headers)
    answer = await parts.runs.wait(run_id)
    if answer.status is Status.FAILED and not caller.asks:
        return problem_response(failed_run(answer), headers)
    return Response(_json_for(caller, answer), media_type="application/json")


@router.get("/research/defaults", responses=problem_responses(503))
def defaults(candor: CandorDep, caller: CurrentCaller) -> Defaults:
    """Get the default options of questions."""
    return Defaults(sources=candor.settings.research.sources)


@router.get("/reports/{run_id}/outline", responses=problem_responses(404, 422, 503))
def outline(candor: CandorDep, caller: CurrentCaller, run_id: RunId) -> list[PlannedSection]:
    """Get the outline of a report. A new report with these sections reuses the runs of those that were researched."""
    return list(outline_of(candor.trace, run_id, caller))


def _public_request(body: ResearchRequest) -> Request:
    """Return the request of a key that can only ask. Raises Forbidden for fields that such a key may not send."""
    if refused := body.model_fields_set - _PUBLIC_FIELDS:
        raise Forbidden(f"With this key, a question has no {min(refused)!r}, only {', '.join(sorted(_PUBLIC_FIELDS))}.")
    return body.to_request().model_copy(update={"sources": ("documents",)})


async def _events_and_answer(runs: Runs, run_id: str, caller: Caller) -> AsyncIterator[str]:
    """Yield the events, then the answer. If the service shuts down, the stream ends without an answer."""
    render = _type_of if caller.asks else DescribedEvent.json_of
    async for event in format_events(runs.follow(run_id, 0), render):
        yield event
    with suppress(ServiceEnding):
        answer = await runs.wait(run_id)
        yield f"event: answer\ndata: {_json_for(caller, answer)}\n\n"


def _type_of(event: Event) -> str:
    return f'{{"type": "{event.body.type}"}}'


def _json_for(caller: Caller, answer: Answer) -> str:
    return (PublicAnswer.of(answer) if caller.asks else answer).model_dump_json()
