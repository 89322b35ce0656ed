"""Tables over REST: created, filled as jobs, edited, exported, deleted."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.auth.keys import KeyRequest
from api.auth.permissions import Limits, Right
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import ServiceSettings
from multi_agent.llm.settings import EndpointSettings
from support.panel import sentences_of
from support.replies import Reply, Request, held_until
from support.service import RunningService
from support.waiting import LIMIT_S, until

COLUMNS = [{"name": "Limit", "question": "Lowest temperature", "type": "number", "unit": "°C"}]


class Model:
    """A model that fills the row of a document about pumps. It waits with that about soup."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.go_on = threading.Event()

    def __call__(self, request: Request) -> Reply | str:
        self.requests.append(request)
        at = sentences_of(request, 1, "-25 °C")
        found = "-25 °C" in request.prompt
        answer = {"column": 1, "sentences": at if found else [], "values": ["-25"] if found else [], "reason": ""}
        text = json.dumps({"answers": [answer]})
        return text if found else held_until(self.go_on, text)


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    yield made
    made.go_on.set()


@pytest.fixture
def candor(
    make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder: Path, model: Model
) -> Candor:
    candor = make_candor(llm=serve(model), service=ServiceSettings(research_process=False))
    run_ingest(candor, [folder], "papers", progress=False)
    return candor


@pytest.fixture
def client(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as opened:
        assert opened.post("/v1/tables", json={"name": "t", "columns": COLUMNS}).status_code == 201
        yield opened


def cells(client: httpx.Client) -> dict[str, dict[str, Any]]:
    """Return the cells of each row by the name of its document."""
    return {row["name"]: row["cells"] for row in client.get("/v1/tables/t").json()["rows"]}


def status(client: httpx.Client, job: dict[str, Any]) -> str:
    found: str = client.get(f"/v1/jobs/{job['id']}").json()["status"]
    return found


def test_cells_arrive_while_the_job_runs_and_another_fill_goes_on(client: httpx.Client, model: Model) -> None:
    assert client.post("/v1/tables/t/estimate", json={}).json()["calls"] == 2
    job = client.post("/v1/tables/t/fill", json={}).json()
    until(lambda: cells(client)["pumps.md"])
    assert client.get(f"/v1/jobs/{job['id']}").json()["kind"] == "table"
    assert client.post("/v1/tables/t/fill", json={}).status_code == 422, "it is being filled"
    assert client.delete("/v1/tables/t").status_code == 422
    client.post(f"/v1/jobs/{job['id']}/cancel")
    until(lambda: status(client, job) == "cancelled")
    assert cells(client)["soup.txt"] == {}
    model.go_on.set()
    again = client.post("/v1/tables/t/fill", json={}).json()
    until(lambda: status(client, again) == "done")
    ended = client.get(f"/v1/jobs/{again['id']}").json()
    assert (ended["result"]["calls"], ended["result"]["found"]) == (1, 0)
    assert cells(client)["pumps.md"]["Limit"]["value"] == -25
    assert cells(client)["soup.txt"]["Limit"]["status"] == "empty"


def test_of_several_fills_at_once_one_starts(client: httpx.Client) -> None:
    with ThreadPoolExecutor(6) as threads:
        asked = [threads.submit(client.post, "/v1/tables/t/fill", json={"redo": at % 2 == 0}) for at in range(6)]
    refused = [each.result().json()["detail"] for each in asked if each.result().status_code != 202]
    assert refused
    assert all("is active as job" in each for each in refused)


def test_a_fill_of_a_collection_in_the_bin_says_so(candor: Candor, model: Model) -> None:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        client.post("/v1/tables", json={"name": "t", "columns": COLUMNS})
        job = client.post("/v1/tables/t/fill", json={}).json()
        until(lambda: len(model.requests) == 2)
    candor.bin.delete_collection("papers")
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        until(lambda: status(client, job) == "failed")
        assert client.get(f"/v1/jobs/{job['id']}").json()["error"] == "The collection 'papers' is in the bin."


def test_a_fill_goes_on_after_a_restart(candor: Candor, model: Model) -> None:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        client.post("/v1/tables", json={"name": "t", "columns": COLUMNS})
        job = client.post("/v1/tables/t/fill", json={"redo": True}).json()
        until(lambda: cells(client)["pumps.md"] and len(model.requests) == 2)
    model.go_on.set()
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        until(lambda: status(client, job) == "done")
        assert cells(client)["soup.txt"]["Limit"]["status"] == "empty"
    asked = [("pumps" if "-25" in request.prompt else "soup") for request in model.requests]
    assert sorted(asked) == ["pumps", "soup", "soup"], "only the call in progress is asked again"


def test_a_fill_ends_with_its_table(client: httpx.Client, candor: Candor, model: Model) -> None:
    job = client.post("/v1/tables/t/fill", json={}).json()
    until(lambda: len(model.requests) == 2)
    candor.tables.store.delete("t")  # as a command does
    model.go_on.set()
    until(lambda: status(client, job) == "failed")
    assert client.get(f"/v1/jobs/{job['id']}").json()["error"] == "There is no table 't'."


def test_a_table_is_edited_extended_exported_and_deleted(client: httpx.Client) -> None:
    edit = {"document": "soup.txt", "column": "Limit", "value": "4"}
    assert client.put("/v1/tables/t/cells", json=edit).json()["by"] == "person"
    assert client.put("/v1/tables/t/cells", json={**edit, "value": None}).json()["status"] == "empty"
    assert client.put("/v1/tables/t/cells", json={**edit, "value": "warm"}).status_code == 422
    more = {"columns": [{"name": "Firm", "question": "Who makes it?"}]}
    assert len(client.post("/v1/tables/t/columns", json=more).json()["columns"]) == 2
    assert client.post("/v1/tables/t/columns", json=more).status_code == 422, "the name is taken"
    assert client.post("/v1/tables", json={"name": "t", "columns": COLUMNS}).status_code == 409
    for form in ("csv", "xlsx", "md", "json"):
        assert "soup.txt" in client.get("/v1/tables/t/export", params={"format": form}).text or form == "xlsx"
    assert [each["name"] for each in client.get("/v1/tables").json()] == ["t"]
    assert client.delete("/v1/tables/t").status_code == 204
    assert client.get("/v1/tables/t").status_code == 404


def test_the_tokens_count_for_the_key_and_stop_at_its_limit(candor: Candor, model: Model) -> None:
    model.go_on.set()
    rights = {"papers": Right.READ}
    made = candor.keys.add(KeyRequest(name="x", rights=rights, limits=Limits(tokens_per_day=100)))
    headers = {"Authorization": f"Bearer {made.secret}"}
    with (
        RunningService(candor) as service,
        httpx.Client(base_url=service.url, timeout=LIMIT_S, headers=headers) as client,
    ):
        client.post("/v1/tables", json={"name": "t", "columns": COLUMNS})
        job = client.post("/v1/tables/t/fill", json={}).json()
        until(lambda: status(client, job) in ("done", "failed"))
        assert client.post("/v1/tables/t/fill", json={"redo": True}).status_code == 429
