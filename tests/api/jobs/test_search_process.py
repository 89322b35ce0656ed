"""The search process of a service is killed during searches, an ingest and a run. Nothing is lost."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import Settings
from support.panel import SYNTHESIS, Panel, role_of
from support.processes import live_children
from support.replies import Reply, Request
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, ServiceProcess, follow
from support.waiting import LIMIT_S, until
from vectorstore.settings import VectorStoreSettings

FILES = 60
SEARCH_EVERY_S = 0.05


class Model:
    """Plays the panel. The first call of a run waits until ``go_on`` is set, so the searches of the run follow."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.asked = threading.Event()
        self._panel = Panel("-25 °C")

    def __call__(self, request: Request) -> Reply | str:
        if role_of(request) != SYNTHESIS:
            self.asked.set()
            self.go_on.wait(LIMIT_S)
        return self._panel(request)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def service(make_candor: Callable[..., Candor], model: Model, folder: Path) -> Iterator[ServiceProcess]:
    """The service in its own process, with two documents in ``papers``."""
    with ScriptedEndpoint(model) as endpoint:
        candor = make_candor(llm=endpoint.settings("openai"))
        run_ingest(candor, [folder], "papers", progress=False)
        llm = candor.settings.llm
        with ServiceProcess(
            candor.settings.home,
            CANDOR_LLM__PROVIDER="openai", CANDOR_LLM__BASE_URL=llm.base_url or "", CANDOR_LLM__MODEL=llm.model,
            CANDOR_SERVICE__INGEST_ROOTS='["/"]',
        ) as running:  # fmt: skip
            yield running


def search_process(service: ServiceProcess) -> psutil.Process:
    """Return the search process, once it runs."""
    found: list[psutil.Process] = []

    def find() -> bool:
        found[:] = live_children("vectorstore.remote.process", service.process.pid)
        return bool(found)

    until(find)
    return found[0]


def kill(service: ServiceProcess) -> None:
    """Kill the search process and wait for the next one."""
    killed = search_process(service)
    killed.kill()
    until(lambda: search_process(service) != killed)


def test_nothing_is_lost(service: ServiceProcess, model: Model, folder: Path, tmp_path: Path) -> None:
    http, ended, statuses = service.http, threading.Event(), list[int]()

    def search() -> None:
        while not ended.wait(SEARCH_EVERY_S):
            found = http.post("/v1/search", json={"query": "heat pump", "collection": "papers"})
            statuses.append(found.status_code)

    more = tmp_path / "more"
    more.mkdir()
    for number in range(FILES):
        (more / f"note {number}.md").write_text(f"Note {number} is about pump {number}, which is {number} m high.\n")
    with ThreadPoolExecutor() as threads, contextlib.ExitStack() as ends:
        ends.callback(ended.set)  # also after a failed assertion, so that the threads end
        searches = [threads.submit(search) for _ in range(2)]
        run_id = http.post("/v1/research", json={"question": QUESTION, "wait": False, "collection": "papers"})
        run_id = run_id.json()["run_id"]
        job = http.post("/v1/collections/papers/ingest", json={"paths": [str(more)]}).json()["id"]
        assert model.asked.wait(LIMIT_S)
        kill(service)
        model.go_on.set()
        kill(service)
        until(lambda: http.get(f"/v1/jobs/{job}").json()["status"] not in ("queued", "running"))
        assert http.get(f"/v1/jobs/{job}").json()["status"] == "done"
        assert follow(http, run_id)[-1]["body"]["status"] == "answered"
    for each in searches:
        each.result()
    assert set(statuses) == {200}
    listed = http.get("/v1/documents", params={"collection": "papers"}).json()
    assert len(listed) == FILES + 2
    found = http.post("/v1/search", json={"query": "pump", "collection": "papers", "limit": 1000}).json()
    assert {each["name"] for each in found} == {each["name"] for each in listed}
    until(lambda: http.get("/readyz").status_code == 200)
    assert "candor_search_process_resident_memory_bytes" in http.get("/metrics").text


def test_it_embeds_the_queries_for_a_qdrant_server(tmp_path: Path) -> None:
    store = VectorStoreSettings(url="http://127.0.0.1:1")
    candor = Candor(Settings(home=tmp_path, store=store), search_process=True)
    with candor.make_search_process():
        queries = candor.collections.load_embedder()
        assert queries, "the Retriever embeds"
        assert queries.embed_query("heat")[0].shape == (384,)
        assert candor.embed_query("heat").shape == (384,)
    assert Candor(Settings(home=tmp_path), search_process=True).collections.load_embedder() is None
