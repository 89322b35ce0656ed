"""A model's endpoint gets no more requests at once than is set, however many runs there are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import httpx

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.llm import Message
from support.scripted_endpoint import ScriptedEndpoint, delayed
from support.service import SLOWLY, RunningService, follow, model
from vectorstore.models import FrozenModel

RUNS, PARALLEL = 6, 2


def test_all_runs_of_the_service_share_one_limit(make_candor: Callable[..., Candor], folder: Path) -> None:
    with ScriptedEndpoint(model) as endpoint:
        candor = make_candor(llm=endpoint.settings("openai", parallel=PARALLEL), service={"runs": RUNS})
        run_ingest(candor, [folder], "papers", progress=False)
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=60) as http:
            begun = [
                http.post("/v1/research", json={"question": f"{SLOWLY} ({number})", "wait": False}).json()["run_id"]
                for number in range(RUNS)
            ]
            ends = [follow(http, run_id)[-1]["body"] for run_id in begun]
    assert [end["status"] for end in ends] == ["answered"] * RUNS
    assert endpoint.peak == PARALLEL


class Word(FrozenModel):
    """What the model answers."""

    word: str


async def test_whoever_works_on_the_same_home_folder_shares_it_too(make_candor: Callable[..., Candor]) -> None:
    """As evaluations do beside questions, and `candor ask` beside the service."""
    with ScriptedEndpoint(lambda _: delayed('{"word": "yes"}', 0.1)) as endpoint:
        settings = endpoint.settings("openai", parallel=PARALLEL)
        candor = make_candor(llm=settings, llms={"same": settings})
        first, second = candor.models(), candor.models()
        llms = [first.default, second.default, second.get("same")]
        await asyncio.gather(*(llm.complete([Message.user("?")], Word) for llm in llms * 3))
    assert (len(endpoint.requests), endpoint.peak) == (9, PARALLEL)
