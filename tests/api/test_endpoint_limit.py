"""A model's endpoint gets no more requests at once than is set, however many runs there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx

from api.bootstrap import Candor
from api.ingesting import run_ingest
from support.scripted_endpoint import ScriptedEndpoint
from support.service import SLOWLY, RunningService, follow, model

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
