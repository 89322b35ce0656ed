"""Asking questions."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Body, Response
from pydantic import Field

from api.problems import problems
from api.service import Served
from multi_agent.answer import Answer
from multi_agent.request import Request
from vectorstore.models import Value

router = APIRouter(prefix="/v1", tags=["research"])


class ResearchRequest(Request):
    """A question to a collection."""

    collection: str | None = Field(default=None, description="not needed if there is just one")
    wait: bool = Field(
        default=True, description="answer with the result when it is there; else at once with the id of the run"
    )

    def asked(self) -> Request:
        """What the panel is asked; an agent that is named is asked directly."""
        mode = "direct" if self.agent and self.mode == "auto" else self.mode
        return Request(**{**{name: getattr(self, name) for name in Request.model_fields}, "mode": mode})


class Accepted(Value):
    """The run that was begun, or waits for its turn."""

    run_id: str


_EXAMPLES = [
    {"collection": "papers", "question": "Which of these pumps works below -20 °C?"},
    {"question": "Which pump is the quietest?", "mode": "high", "budget": {"model_calls": 20}, "wait": False},
]


@router.post(
    "/research",
    responses={
        200: {"model": Answer, "description": "The answer; `status` tells whether there is one, and why not."},
        202: {"model": Accepted, "description": "With `wait=false`: the run has been taken on."},
        **problems(404, 409, 422, 503),
    },
    response_model=Answer,
)
async def research(service: Served, wanted: Annotated[ResearchRequest, Body(examples=_EXAMPLES)]) -> Response:
    """Research a question and answer it with evidence.

    The run does not end with the connection: whoever goes away finds it under `GET /v1/runs`. A run that fails is an
    answer, too, with status `failed` and the reason; what keeps it from starting is a problem.
    """
    collection = await asyncio.to_thread(service.candor.collection_name, wanted.collection)
    run_id = await service.runs.start(wanted.asked(), collection)
    if not wanted.wait:
        accepted = Accepted(run_id=run_id).model_dump_json()
        where = {"Location": f"/v1/runs/{run_id}"}
        return Response(accepted, status_code=202, headers=where, media_type="application/json")
    answer = await service.runs.wait(run_id)
    return Response(answer.model_dump_json(), media_type="application/json")
