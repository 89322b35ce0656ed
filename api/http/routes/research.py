"""Asking questions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Self

from fastapi import APIRouter, Body, Response
from pydantic import Field, model_validator

from api.auth.permissions import Right
from api.errors import ServiceEnding
from api.http.deps import CurrentCaller, IdempotencyKey, Served, Service
from api.http.errors import problems
from api.http.sse import EVENT_STREAM, stream, told
from api.jobs.models import Priority
from multi_agent.answer import Answer
from multi_agent.request import Request
from vectorstore.models import FrozenModel

router = APIRouter(prefix="/v1", tags=["research"])


class ResearchRequest(Request):
    """A question to a collection."""

    collection: str | None = Field(default=None, description="not needed if there is just one")
    wait: bool = Field(
        default=True, description="answer with the result when it is there; else at once with the id of the run"
    )
    stream: bool = Field(
        default=False, description="answer with the run's events as they happen, and with `answer` as the last one"
    )

    priority: Priority = Field(
        default=Priority.NORMAL, description="which of your own questions comes first, as long as they wait"
    )

    @model_validator(mode="after")
    def _one_way_to_answer(self) -> Self:
        if self.stream and not self.wait:
            raise ValueError("a run is streamed (stream) or left to itself (wait=false), not both")
        return self

    def asked(self) -> Request:
        """What the panel is asked; an agent that is named is asked directly."""
        mode = "direct" if self.agent and self.mode == "auto" else self.mode
        return Request(**{**{name: getattr(self, name) for name in Request.model_fields}, "mode": mode})


class Accepted(FrozenModel):
    """The run that was begun, or waits for its turn."""

    run_id: str


_EXAMPLES = [
    {"collection": "papers", "question": "Which of these pumps works below -20 °C?"},
    {"question": "Which pump is the quietest?", "mode": "high", "budget": {"model_calls": 20}, "wait": False},
    {"question": "Which pump is the quietest?", "stream": True},
]


@router.post(
    "/research",
    responses={
        200: {
            "model": Answer,
            "description": "The answer; `status` tells whether there is one, and why not. With `stream=true`: the "
            "events of `GET /v1/runs/{run_id}/events`, then one of the type `answer`.",
            "content": EVENT_STREAM,
        },
        202: {"model": Accepted, "description": "With `wait=false`: the run has been taken on."},
        **problems(404, 409, 422, 503),
    },
    response_model=Answer,
)
async def research(
    service: Served,
    caller: CurrentCaller,
    wanted: Annotated[ResearchRequest, Body(examples=_EXAMPLES)],
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Research a question and answer it with evidence.

    The run does not end with the connection: whoever goes away finds it under `GET /v1/runs`. A run that fails is an
    answer, too, with status `failed` and the reason; what keeps it from starting is a problem.
    """
    collection = await asyncio.to_thread(service.collection, caller, Right.READ, wanted.collection)
    run_id = await service.runs.start(wanted.asked(), collection, caller, idempotency_key, wanted.priority)
    where = {"Location": f"/v1/runs/{run_id}"}
    if not wanted.wait:
        accepted = Accepted(run_id=run_id).model_dump_json()
        return Response(accepted, status_code=202, headers=where, media_type="application/json")
    if wanted.stream:
        return stream(_with_answer(service, run_id), where)
    answer = await service.runs.wait(run_id)
    return Response(answer.model_dump_json(), media_type="application/json")


async def _with_answer(service: Service, run_id: str) -> AsyncIterator[str]:
    """The events, and the answer as the last of them. Without it, the service ends, and the run goes on later."""
    async for event in told(service.runs.follow(run_id, 0)):
        yield event
    with suppress(ServiceEnding):
        answer = await service.runs.wait(run_id)
        yield f"event: answer\ndata: {answer.model_dump_json()}\n\n"
