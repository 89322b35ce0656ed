"""All runs share the limit on concurrent requests to a model endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import httpx

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import ServiceSettings
from base.models import FrozenModel
from multi_agent.model import Message
from support.replies import always, delayed, held_until_together
from support.scripted_endpoint import ScriptedEndpoint
from support.service import SLOWLY, RunningService, follow, model
from support.waiting import LIMIT_S

RUNS, PARALLEL = 6, 2


def test_all_runs_of_the_service_share_one_limit(make_candor: Callable[..., Candor], folder: Path) -> None:
    with ScriptedEndpoint(held_until_together(PARALLEL, model)) as endpoint:
        service = ServiceSettings(concurrent_runs=RUNS, research_process=True)
        candor = make_candor(llm=endpoint.settings("openai", parallel=PARALLEL), service=service)
        run_ingest(candor, [folder], "papers", progress=False)
        with RunningService(candor) as running, httpx.Client(base_url=running.url, timeout=LIMIT_S) as http:
            run_ids = [
                http.post("/v1/research", json={"question": f"{SLOWLY} ({number})", "wait": False}).json()["run_id"]
                for number in range(RUNS)
            ]
            ends = [follow(http, run_id)[-1]["body"] for run_id in run_ids]
    assert [end["status"] for end in ends] == ["answered"] * RUNS
    assert endpoint.peak == PARALLEL


class Word(FrozenModel):
    """The response of the model."""

    word: str


async def test_processes_on_one_home_folder_share_the_limit(make_candor: Callable[..., Candor]) -> None:
    """For example an evaluation and a question, or `candor ask` and the service."""
    with ScriptedEndpoint(held_until_together(PARALLEL, always(delayed('{"word": "yes"}', 0.1)))) as endpoint:
        settings = endpoint.settings("openai", parallel=PARALLEL)
        candor = make_candor(llm=settings, llms={"same": settings})
        first, second = candor.panel.models(), candor.panel.models()
        llms = [first.default, second.default, second.get("same")]
        await asyncio.gather(*(llm.complete([Message.user("?")], Word) for llm in llms * 3))
    assert (len(endpoint.requests), endpoint.peak) == (9, PARALLEL)
