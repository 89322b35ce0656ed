"""The language model as the reranker of searches: command line, REST, Python, and the choice of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.services.documents.search import timed_search
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.research import ResearchSettings
from support.replies import Reply, Request
from support.service import RunningService
from support.waiting import LIMIT_S
from vectorstore.errors import RerankError
from vectorstore.settings import RerankSettings

Serve = Callable[..., EndpointSettings]
QUERY = "How long do lentils cook?"
AWAY = EndpointSettings(provider="ollama", base_url="http://127.0.0.1:9", model="none", retries=0)
LLM = ResearchSettings(rerank=RerankSettings(provider="llm"))


def pumps_first(request: Request) -> Reply | str:
    lines = [line for line in request.prompt.splitlines() if line.startswith("[")]
    return json.dumps({"numbers": [number for number, line in enumerate(lines, 1) if "Borea" in line]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "pumps.md").write_text("# Borea 12\n\nIt works down to -25 °C.\n")
    (folder / "soup.txt").write_text("Cook the lentils for 20 minutes.")
    return folder


def test_the_command_line(
    run: Callable, folder: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = serve(pumps_first)
    for name, value in {"PROVIDER": "openai", "BASE_URL": str(model.base_url), "MODEL": model.model}.items():
        monkeypatch.setenv(f"CANDOR_LLM__{name}", value)
    assert run("ingest", folder, "-c", "papers").code == 0
    chosen = run("models", "use", "rerank", "--provider", "llm")
    assert "The rerank model is now llm (llm)." in chosen.out + chosen.err
    assert run("search", QUERY).out.startswith("1. soup.txt")
    ranked = run("search", QUERY, "--rerank")
    assert ranked.out.startswith("1. pumps.md")
    assert "· rerank " in ranked.err
    monkeypatch.setenv("CANDOR_LLM__BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("CANDOR_LLM__RETRIES", "0")
    failed = run("search", QUERY, "--rerank")
    assert failed.code == 1
    assert "http://127.0.0.1:9" in failed.err


def test_rest(make_candor: Callable[..., Candor], folder: Path, serve: Serve) -> None:
    candor = make_candor(llm=serve(pumps_first), research=LLM)
    run_ingest(candor, [folder], "papers", progress=False)
    body = {"query": QUERY, "collection": "papers", "rerank": True}
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        ranked = http.post("/v1/search", json=body)
        assert [passage["name"] for passage in ranked.json()] == ["pumps.md", "soup.txt"]
        assert ranked.headers["Server-Timing"].startswith("rerank;dur=")
    away = make_candor(llm=AWAY, research=LLM)
    with RunningService(away) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        failed = http.post("/v1/search", json=body)
        assert failed.status_code == 503
        assert "127.0.0.1:9" in failed.json()["detail"]


def test_it_can_be_tried(make_candor: Callable[..., Candor], serve: Serve) -> None:
    works = make_candor(llm=serve(lambda _: '{"numbers": [2, 1]}'), research=LLM).doctor
    [check] = asyncio.run(works.try_model("rerank")).checks
    assert (check.ok, check.detail) == (True, "llm: scores 0.5 and 1")
    [failed] = asyncio.run(make_candor(llm=AWAY, research=LLM).doctor.try_model("rerank")).checks
    assert not failed.ok
    assert "127.0.0.1:9" in failed.remedy


def test_what_the_model_could_not_read_is_said(make_candor: Callable[..., Candor], folder: Path, serve: Serve) -> None:
    one = LLM.model_copy(update={"rerank": RerankSettings(provider="llm", candidates=1)})
    candor = make_candor(llm=serve(pumps_first), research=one)
    run_ingest(candor, [folder], "papers", progress=False)
    found = timed_search(candor.collections, "papers", QUERY, 2, reranker=candor.reranker)
    assert [hit.chunk.name for hit in found.hits] == ["soup.txt", "pumps.md"]
    assert found.note.startswith("The model read the first 1 of 2 passages; the others follow in their order.")


def test_agents_do_not_ask_the_model_of_searches(make_candor: Callable[..., Candor], folder: Path) -> None:
    candor = make_candor(llm=AWAY, research=LLM)
    run_ingest(candor, [folder], "papers", progress=False)
    with candor.collections.open_library("papers") as library:
        assert library.index()["reranker"] == "llm"
        assert library.search([QUERY], 2)[0].chunk.name == "soup.txt"
    with pytest.raises(RerankError, match=r"127\.0\.0\.1:9"):
        timed_search(candor.collections, "papers", QUERY, 2, reranker=candor.reranker)


def test_a_name_or_an_address_is_refused() -> None:
    with pytest.raises(ValueError, match="leave out model and base_url"):
        RerankSettings(provider="llm", model="other")
