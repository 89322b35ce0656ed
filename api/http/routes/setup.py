"""The models of the service: which are used, trials, and choosing others."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Body, Path, Response
from pydantic import Field

from api.http.deps import CandorDep, CurrentCaller, Owner, PartsDep
from api.http.errors import problem_responses
from api.http.router import make_router
from api.http.sse import EVENT_STREAM, stream_response
from api.jobs.models import JobStatus
from api.services.doctor import Trial
from api.services.models import (
    PullProgress,
    ShownModel,
    choose_model,
    offered_models,
    pull_model,
    shown_models,
    try_choice,
)
from api.settings import ModelChoice, ModelTable
from base.models import FrozenModel
from multi_agent.errors import RunUnderWay
from multi_agent.llm.probe import Check

router = make_router(prefix="/v1/setup", tags=["setup"])

Table = Annotated[ModelTable, Path(description="Which model.", examples=["llm"])]
Choice = Annotated[
    ModelChoice,
    Body(examples=[{"provider": "openai", "base_url": "https://api.example.com/v1", "model": "some-model"}]),
]
_PULL: dict[int | str, dict[str, Any]] = {
    200: {"model": PullProgress, "description": "The progress as a stream.", "content": EVENT_STREAM}
}


class ModelState(FrozenModel):
    """Whether the default model can be asked. Only owners get `checks`, because they name the endpoint."""

    model: str
    reachable: bool
    claim_hint: str = Field(description="why it checks no claims, and what to do; empty if it does")
    checks: tuple[Check, ...]


@router.get("/model", responses=problem_responses(503))
async def model(candor: CandorDep, caller: CurrentCaller) -> ModelState:
    """Check whether the endpoint of the default model responds and offers it. Sends no request to the model."""
    await asyncio.to_thread(candor.refresh)
    checks = await candor.doctor.check_model()
    shown = checks if caller.is_admin else ()
    reachable, hint = all(check.ok for check in checks), candor.doctor.claim_hint
    return ModelState(model=candor.settings.llm.model, reachable=reachable, claim_hint=hint, checks=shown)


@router.get("/models", responses=problem_responses(503))
async def models(candor: CandorDep, caller: Owner) -> dict[ModelTable, ShownModel]:
    """Get the language model, the embedding model and the reranker, without their keys. Only owners may call this."""
    return shown_models(candor.settings)


@router.put("/models/{table}", responses=problem_responses(409, 422, 503))
async def choose(
    candor: CandorDep, parts: PartsDep, caller: Owner, table: Table, choice: Choice
) -> dict[ModelTable, ShownModel]:
    """Choose a model. The next question or ingest uses it; what runs keeps its model.

    A collection can only be searched with the embedding model that it was ingested with, so another embedding model
    can only be chosen while nothing runs. Only owners may call this.
    """
    before = candor.settings.store.embedding
    running = await parts.jobs.list(None, [JobStatus.RUNNING], None, 1, lambda _: True)
    if table == "embedding" and running:
        raise RunUnderWay("A question or an ingest uses the embedding model now. Choose another one when it has ended.")
    await asyncio.to_thread(choose_model, candor.settings, table, choice)
    await asyncio.to_thread(candor.refresh)
    if candor.settings.store.embedding != before:
        parts.searches.use(candor.settings.store.embedding)
    return shown_models(candor.settings)


@router.post("/models/{table}/trial", responses=problem_responses(422, 503))
async def try_model(candor: CandorDep, caller: Owner, table: Table, choice: Choice) -> Trial:
    """Send test requests to a model before you choose it. Takes seconds to minutes. Only owners may call this."""
    return await try_choice(candor.doctor, table, choice)


@router.post("/models/{table}/offered", responses=problem_responses(422, 503))
async def offered(candor: CandorDep, caller: Owner, table: Table, choice: Choice) -> list[str]:
    """Get the names of the models that an endpoint offers. Only owners may call this."""
    return await offered_models(candor.settings, table, choice)


@router.post("/models/{table}/pull", responses=_PULL | problem_responses(422, 503), response_class=Response)
async def pull(candor: CandorDep, caller: Owner, table: Table, choice: Choice) -> Response:
    """Let Ollama fetch a model, and follow its progress. Ollama stops when you disconnect. For owners."""

    async def lines(progress: AsyncIterator[PullProgress]) -> AsyncIterator[str]:
        async for each in progress:
            yield f"data: {each.model_dump_json()}\n\n"

    return stream_response(lines(pull_model(candor.settings, table, choice)))
