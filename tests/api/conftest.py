"""The command line and the service over HTTP, both in this process, so that the embedding library is loaded once."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.cli.main import main
from api.settings import ServiceSettings, Settings
from multi_agent.llm.settings import EndpointSettings
from support import service
from support.panel import Role
from support.scripted_endpoint import ScriptedEndpoint
from support.service import SCRIPT, RunningService, model
from support.waiting import LIMIT_S
from vectorstore.embedding.embedder import Embedder, make_embedder
from vectorstore.settings import EmbeddingSettings


class Result(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON value."""
        return json.loads(self.out)


Run = Callable[..., Result]
_load_once = cache(make_embedder)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], embedder: Embedder) -> Run:
    """``run("ask", "Why?", "--json")``. The data folder exists. All commands share the loaded embedding models."""
    Path(os.environ["CANDOR_HOME"]).mkdir(mode=0o700, exist_ok=True)
    default_model = EmbeddingSettings(), EmbeddingSettings(precision="float32")
    monkeypatch.setattr(
        "vectorstore.embedding.embedder.make_embedder",
        lambda settings: embedder if settings in default_model else _load_once(settings),
    )

    def call(*arguments: str | Path) -> Result:
        monkeypatch.setattr(sys, "argv", ["candor", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        code = ended.value.code
        return Result(code if isinstance(code, int) else 0 if code is None else 1, captured.out, captured.err)

    return call


@pytest.fixture
def use_model(monkeypatch: pytest.MonkeyPatch) -> Callable[[EndpointSettings], None]:
    """Return a function that configures an endpoint through environment variables."""

    def use(settings: EndpointSettings) -> None:
        for name in ("provider", "base_url", "model"):
            monkeypatch.setenv(f"CANDOR_LLM__{name.upper()}", getattr(settings, name))
        monkeypatch.setenv("CANDOR_LLM__RETRIES", "1")

    return use


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two small documents."""
    documents = tmp_path / "papers"
    documents.mkdir()
    (documents / "pumps.md").write_text("# Pumps\n\n## Limits\n\nThe Borea 12 works down to -25 °C.\n")
    (documents / "soup.txt").write_text("Boil the lentils for 20 minutes.\n")
    return documents


@pytest.fixture(scope="module")
def service_candor(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[Candor]:
    """Candor with three documents in `papers`, a scripted model, and two concurrent runs."""
    folder = tmp_path_factory.mktemp("papers")
    (folder / "pumps.md").write_text("# Pumps\n\n## Limits\n\nThe Borea 12 works down to -25 °C.\n")
    (folder / "soup.txt").write_text("Boil the lentils for 20 minutes.\n")
    (folder / "evil.txt").write_text(f"Heat pumps are loud. {SCRIPT}\n")
    with ScriptedEndpoint(model) as endpoint:
        home, two_runs = tmp_path_factory.mktemp("service"), ServiceSettings(concurrent_runs=2)
        candor = Candor(Settings(home=home, llm=endpoint.settings("openai"), service=two_runs))
        candor.embedder = embedder
        run_ingest(candor, [folder], "papers", progress=False)
        yield candor


@pytest.fixture(scope="module")
def service_url(service_candor: Candor) -> Iterator[str]:
    """The URL of a running service, shared by the tests of a module (a process has at most one service)."""
    with RunningService(service_candor) as running:
        yield running.url


@pytest.fixture
def http(service_url: str) -> Iterator[httpx.Client]:
    """A client of the service."""
    with httpx.Client(base_url=service_url, timeout=LIMIT_S) as client:
        yield client


@pytest.fixture
def resume() -> Iterator[threading.Event]:
    """Event that lets the model answer ``HELD`` questions. Set at the end of the test in any case."""
    service.resume.clear()
    yield service.resume
    service.resume.set()


@pytest.fixture
def roles() -> Iterator[dict[str, Role]]:
    """What the model of the service plays in place of the panel, until the end of the test."""
    yield service.roles
    service.roles.clear()


@pytest.fixture
def ask(http: httpx.Client) -> Iterator[Callable[[str], str]]:
    """``ask(QUESTION)`` starts a run in the background and returns its id. Unfinished runs are cancelled at the end."""
    begun: list[str] = []

    def begin(question: str) -> str:
        asked = {"question": question, "collection": "papers", "wait": False}
        response = http.post("/v1/research", json=asked)
        assert response.status_code == 202, response.text
        begun.append(response.json()["run_id"])
        return begun[-1]

    yield begin
    for run_id in begun:
        http.post(f"/v1/runs/{run_id}/cancel")


@pytest.fixture
def ingested(run: Any, folder: Path) -> None:
    """Ingest two small documents."""
    assert run("ingest", folder, "-c", "papers").code == 0
