"""Choosing models in the page, and the three steps of a first start."""

from __future__ import annotations

import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from api.cli.ingest import run_ingest
from api.settings import MODELS_FILE
from multi_agent.llm.settings import EndpointSettings
from support.embedding_server import EmbeddingServer
from support.panel import Panel
from support.replies import Reply, Request, always, held_until
from support.viewer import COLD, QUESTION, OpenPage, Site, ask, violations
from support.waiting import LIMIT_S, until
from vectorstore.embedding.embedder import Embedder

GREEN = '{"colour": "green", "certain": true}'
KEY = "sk-never-shown-again"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[Site]:
    """A service that nobody has set up: no settings, no documents, and no Ollama on this machine."""
    site = Site(tmp_path_factory.mktemp("site") / "home", embedder)
    with site.endpoint:
        site.start(llm=EndpointSettings())
        yield site
        site.stop()


def choose(form: Locator, address: str, model: str = "scripted", provider: str = "openai") -> None:
    form.get_by_label("Provider").select_option(provider)
    form.get_by_label("Address").fill(address)
    form.get_by_label("Model", exact=True).fill(model)


def section(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def test_a_first_start_has_three_steps(open_page: OpenPage, site: Site, tmp_path: Path) -> None:
    site.responder = always(GREEN)
    page = open_page()
    setup = section(page, "Set-up")
    expect(setup.locator("li > .line strong")).to_have_text(["A language model", "Documents", "The first question"])
    expect(setup.locator(".badge").first).to_have_text("not reachable")
    expect(setup).to_contain_text("Start Ollama with `ollama serve`")
    assert violations(page) == []
    choose(setup, site.endpoint.url("openai"), "")
    setup.get_by_role("button", name="List models").click()
    setup.get_by_role("button", name="scripted", exact=True).click()
    setup.get_by_role("button", name="Try it").click()
    expect(setup).to_contain_text("The model works: ")
    setup.get_by_role("button", name="Use this model").click()
    expect(setup.locator(".badge").first).to_have_text("reachable")
    assert stat.S_IMODE((site.candor.settings.home / MODELS_FILE).stat().st_mode) == 0o600
    site.responder = Panel("-25 °C")
    (tmp_path / "pump.md").write_text(f"# The Borea 12\n\n{COLD}\n")
    run_ingest(site.candor, [tmp_path / "pump.md"], "pumps", progress=False)
    page.reload()
    ask(page)
    expect(page.locator(".live .badge").first).to_have_text("answered")
    expect(page.locator(".live .facts").first).to_contain_text("scripted")
    page.get_by_role("link", name="New conversation").click()
    expect(page.get_by_role("textbox", name="Question")).to_be_visible()
    expect(setup).to_have_count(0)


def test_a_model_that_does_not_answer_is_explained(open_page: OpenPage, site: Site) -> None:
    page = open_page("models")
    form = section(page, "Language model")
    choose(form, "http://127.0.0.1:9/v1")
    form.get_by_role("button", name="Try it").click()
    expect(form).to_contain_text("The model does not work yet: 1 check in")
    expect(form.locator(".remedy")).to_contain_text("Start the endpoint")
    form.get_by_role("button", name="List models").click()
    expect(form.get_by_role("alert")).to_contain_text("http://127.0.0.1:9/v1")
    for width in (390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []


def test_a_key_is_used_but_never_shown_again(open_page: OpenPage, site: Site) -> None:
    site.responder = always(GREEN)
    page = open_page("models")
    form = section(page, "Language model")
    choose(form, site.endpoint.url("openai"))
    form.get_by_label("API key").fill(KEY)
    form.get_by_role("button", name="Use this model").click()
    expect(page.get_by_text("Saved. The language model is now scripted.")).to_be_visible()
    expect(form.get_by_label("API key")).to_have_value("")
    expect(form.get_by_label("API key")).to_have_attribute("placeholder", "stored; not shown")
    form.get_by_role("button", name="Try it").click()
    expect(form).to_contain_text("The model works")
    assert site.endpoint.requests[-1].headers["Authorization"] == f"Bearer {KEY}"
    form.get_by_label("Address").fill(site.endpoint.url("openai").replace("127.0.0.1", "localhost"))
    before = len(site.endpoint.requests)
    form.get_by_role("button", name="Try it").click()
    until(lambda: len(site.endpoint.requests) > before)
    assert KEY not in str(site.endpoint.requests[-1].headers), "a key stays with its address"
    paths = ("v1/setup/models", "v1/audit", "v1/runs", "v1/setup/model")
    assert not [path for path in paths if KEY in httpx.get(site.url + path).text]
    home = site.candor.settings.home
    assert [file.name for file in home.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()] == [
        MODELS_FILE
    ]


def test_what_runs_keeps_its_model_and_the_next_question_uses_the_new_one(open_page: OpenPage, site: Site) -> None:
    resume = threading.Event()

    def hold(request: Request) -> Reply:
        return held_until(resume, Panel("-25 °C")(request))

    site.responder, first = hold, len(site.endpoint.requests)
    page = open_page()
    ask(page)
    until(lambda: len(site.endpoint.requests) > first)
    with httpx.Client(base_url=site.url, timeout=LIMIT_S) as http:
        url = site.endpoint.url("openai")
        chosen = http.put(
            "v1/setup/models/llm",
            json={"provider": "openai", "base_url": url, "model": "second", "context_window": 8192},
        )
        assert chosen.json()["llm"]["model"] == "second"
        refused = http.put("v1/setup/models/embedding", json={"provider": "openai", "model": "other"})
        assert refused.status_code == 409
    resume.set()
    expect(page.locator(".live .badge").first).to_have_text("answered")
    assert {request.model for request in site.endpoint.requests[first:]} == {"scripted"}
    site.responder, second = Panel("-25 °C"), len(site.endpoint.requests)
    ask(page, f"{QUESTION} Now.")
    page.get_by_role("button", name="Ask anyway").click()  # the scripted endpoint does not list it
    expect(page.locator(".live .badge").first).to_have_text("answered")
    assert {request.model for request in site.endpoint.requests[second:]} == {"second"}


def test_ollama_fetches_a_model(open_page: OpenPage, site: Site) -> None:
    page = open_page("models")
    form = section(page, "Language model")
    choose(form, site.endpoint.url("ollama"), "unknown", "ollama")
    form.get_by_role("button", name="Fetch it with Ollama").click()
    expect(form.get_by_role("alert")).to_contain_text("file does not exist")
    choose(form, site.endpoint.url("ollama"), "small", "ollama")
    form.get_by_role("button", name="Fetch it with Ollama").click()
    expect(form).to_contain_text("small is there. Try it.")


def test_another_embedding_model_and_a_reranker_are_used_at_once(
    open_page: OpenPage, site: Site, tmp_path: Path
) -> None:
    page = open_page("models")
    with EmbeddingServer() as server, httpx.Client(base_url=site.url, timeout=LIMIT_S) as http:
        form = section(page, "Embedding model")
        form.get_by_label("Provider").select_option("openai")
        form.get_by_label("Address").fill(f"{server.url}/v1")
        form.get_by_label("Name").fill("words")
        form.get_by_role("button", name="Try it").click()
        expect(form).to_contain_text("24 dimensions")
        form.get_by_role("button", name="Use this model").click()
        expect(page.get_by_text("Saved. The embedding model is now words.")).to_be_visible()
        old = http.post("v1/search", json={"query": "pump", "collection": "pumps"})
        assert "was embedded with 'all-MiniLM-L6-v2'" in old.json()["detail"]
        (tmp_path / "soup.txt").write_text("Boil the lentils for 20 minutes.\n")
        run_ingest(site.candor, [tmp_path / "soup.txt"], "soups", progress=False)
        assert http.post("v1/search", json={"query": "lentils", "collection": "soups"}).json()
        reranker = section(page, "Reranker")
        reranker.get_by_label("Provider").select_option("endpoint")
        reranker.get_by_label("Address").fill(f"{server.url}/v1")
        reranker.get_by_label("Name").fill("judge")
        reranker.get_by_role("button", name="Use this model").click()
        expect(page.get_by_text("Saved. The reranker is now judge.")).to_be_visible()
        assert http.post("v1/search", json={"query": "lentils", "collection": "soups", "rerank": True}).is_success
        assert [path for path, _, _ in server.requests if path.endswith("/rerank")]
        reranker = section(page, "Reranker")
        reranker.get_by_label("Provider").select_option("llm")
        expect(reranker.get_by_label("Name")).to_be_hidden()
        expect(reranker.get_by_label("Address")).to_be_hidden()
        reranker.get_by_role("button", name="Use this model").click()
        expect(page.get_by_text("Saved. The reranker is now the language model.")).to_be_visible()
        assert http.get("v1/setup/models").json()["rerank"]["provider"] == "llm"
        http.put("v1/setup/models/embedding", json={}).raise_for_status()
        assert http.post("v1/search", json={"query": "pump", "collection": "pumps"}).json()


def test_what_the_settings_fix_is_named_and_cannot_be_changed(
    open_page: OpenPage, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.stop()
    monkeypatch.setenv("CANDOR_LLM__MODEL", "of-the-operator")
    site.start(llm=EndpointSettings(model="of-the-operator"))
    page = open_page("models")
    form = section(page, "Language model")
    expect(form.get_by_label("Model", exact=True)).to_be_disabled()
    expect(form).to_contain_text("Set elsewhere, so not changed here: model by CANDOR_LLM__MODEL.")
    refused = httpx.put(f"{site.url}v1/setup/models/llm", json={"model": "mine"})
    assert refused.status_code == 422
    assert "CANDOR_LLM__MODEL sets `model`" in refused.json()["detail"]
