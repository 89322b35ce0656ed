"""Answers from the web and from tools, on the command line and over REST: search, pages, downloads, figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.services.catalog.agents import AgentChanges
from multi_agent.agents.forum_researcher import on_platforms
from multi_agent.catalog.entries import Skill
from multi_agent.errors import ToolError
from support.browser import NO_CHROMIUM, find_chromium
from support.handyman import TURN, Terminal, calls
from support.internet import NOISE, OPINION, WEIGHT, ToolModel, enable_all, search, small_web, tools_for
from support.panel import PLANNER, READING, REVISION, SYNTHESIS, TRIAGE, give_up, planned, role_of, step, synthesis
from support.scripted_endpoint import ScriptedEndpoint
from support.service import RunningService
from support.waiting import LIMIT_S, until
from support.web import Web

Run = Callable[..., Any]
Ask = Callable[..., dict[str, Any]]
LOUD = "How loud is it?"
QUESTION = "Search the web for the weight of the Borea 12."
pytestmark = pytest.mark.skipif(not find_chromium(), reason=NO_CHROMIUM)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    with small_web(tmp_path) as started:
        yield started


@pytest.fixture
def model() -> ToolModel:
    return ToolModel()


@pytest.fixture
def endpoint(model: ToolModel) -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(model) as started:
        yield started


@pytest.fixture
def candor(
    make_candor: Callable[..., Candor], folder: Path, web: Web, endpoint: ScriptedEndpoint,
    monkeypatch: pytest.MonkeyPatch,
) -> Candor:  # fmt: skip
    """Candor with the agents enabled. The command line gets the same settings from a file."""
    tools = tools_for(web)
    for name, value in tools.model_dump(exclude_unset=True, mode="json").items():
        monkeypatch.setenv(f"CANDOR_TOOLS__{name.upper()}", str(value))
    made = make_candor(llm=endpoint.settings("openai"), tools=tools)
    for name, value in (("provider", "openai"), ("base_url", endpoint.url("openai")), ("model", "scripted")):
        monkeypatch.setenv(f"CANDOR_LLM__{name.upper()}", value)
    run_ingest(made, [folder], "papers", progress=False)
    enable_all(made)
    return made


@pytest.fixture(params=["rest", "cli"])
def ask(request: pytest.FixtureRequest, candor: Candor) -> Iterator[Ask]:
    """Yield ``ask(QUESTION, sources=["web"])``, which returns the answer: over REST or with the CLI.

    The REST variant starts the service before the ``run`` fixture captures the output of the process.
    """
    if request.param == "cli":
        run = request.getfixturevalue("run")

        def on_the_command_line(question: str, sources: list[str], **options: str) -> dict[str, Any]:
            flags = [part for name, value in options.items() for part in (f"--{name}", value)]
            home = candor.settings.home
            result = run("ask", question, "--sources", ",".join(sources), *flags, "--json", "--home", home)
            assert result.out, result.err
            return result.json

        yield on_the_command_line
        return
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:

        def over_rest(question: str, sources: list[str], **options: Any) -> dict[str, Any]:
            response = http.post("/v1/research", json={"question": question, "sources": sources, **options})
            assert response.status_code == 200, response.text
            return response.json()

        yield over_rest


def test_search_the_web_goes_straight_to_the_web_agent(
    ask: Ask, web: Web, model: ToolModel, endpoint: ScriptedEndpoint, candor: Candor, run: Run
) -> None:
    model.turns = [calls(search("Borea 12 weight")), calls(("read_web_page", {"url": web.url("/app")}))]
    model.quote = "120 kg"
    answer = ask(QUESTION, ["documents", "web"])
    assert (answer["status"], answer["mode"]) == ("answered", "fast")
    [quote] = answer["evidence"]
    assert quote["quote"] == WEIGHT
    assert (quote["origin"]["kind"], quote["origin"]["url"]) == ("web", web.url("/app"))
    assert web.asked[0].startswith("/search?q=Borea+12+weight&format=json&categories=general")
    assert [role_of(each) for each in endpoint.requests] == [TRIAGE, TURN, TURN, TURN, READING]
    shown = run("show", answer["run_id"], "1", "--home", candor.settings.home).out
    assert WEIGHT in shown
    assert web.url("/app") in shown


def test_forums_are_searched_within_the_time_of_the_task(ask: Ask, web: Web, model: ToolModel) -> None:
    model.turns = [
        calls(("web_search", {"query": "Borea frost"})),
        calls(("read_web_page", {"url": web.url("/thread")})),
    ]
    model.quote = OPINION
    answer = ask("Does it freeze?", ["web"], agent="ForumResearcher")
    assert answer["status"] == "answered"
    assert [each["quote"] for each in answer["evidence"]] == [f"anna: {OPINION}"]
    assert web.asked[0] == "/search?q=Borea+frost&format=json&categories=social+media&time_range=year"


@pytest.mark.parametrize(("platforms", "is_read"), [(["reddit"], False), ([], True)])
def test_only_pages_of_the_platforms_are_read(
    ask: Ask, web: Web, model: ToolModel, endpoint: ScriptedEndpoint, platforms: list[str], is_read: bool
) -> None:
    inputs = {"question": "Does it freeze?", "platforms": platforms, "max_posts": 5, "time_range": "year"}
    forums = step("forums", "ForumResearcher", inputs=inputs)
    model.answers[PLANNER] = json.dumps(planned(forums, step("answer", "Synthesizer")))
    model.answers[REVISION] = json.dumps(give_up())
    model.answers[SYNTHESIS] = json.dumps(synthesis([], sufficient=False))
    model.turns = [calls(("web_search", {"query": "frost"})), calls(("read_web_page", {"url": web.url("/thread")}))]
    model.quote = OPINION
    answer = ask("Does it freeze?", ["web"], mode="high")
    assert ("/thread" in web.asked) == is_read
    refused = [each for each in endpoint.requests if "is not on reddit.com" in each.prompt]
    assert bool(refused) != is_read, "the agent learns why"
    assert answer["summary"]["web_pages"]["read"] == int(is_read)


def test_the_sites_of_platforms_include_their_subdomains() -> None:
    for url in ("https://www.reddit.com/r/pumps", "https://news.ycombinator.com/item?id=1"):
        assert on_platforms(("reddit", "hackernews"), SimpleNamespace(url=url)).url == url
    for url in ("https://notreddit.com/pumps", "http://[reddit.com/"):
        with pytest.raises(ToolError, match=r"is not on reddit\.com or news\.ycombinator\.com"):
            on_platforms(("reddit", "hackernews"), SimpleNamespace(url=url))


def test_figures_of_tools_are_evidence(ask: Ask, model: ToolModel) -> None:
    model.turns = [calls(
        ("convert_units", {"value": "264.55", "unit": "pound", "into": "kg"}),
        ("dates", {"operation": "difference", "date": "2026-01-01", "until": "2026-03-01"}),
    )]  # fmt: skip
    claims = [{"sentences": [1], "text": "264.55 pounds are 119.9978615 kg."},
              {"sentences": [2], "text": "From 2026-01-01 to 2026-03-01 it is 59 days."}]  # fmt: skip
    model.answers[READING] = json.dumps(synthesis(claims, sufficient=True, short="119.9978615 kg; 59 days"))
    answer = ask("How heavy are 264.55 pounds, and how many days are January and February?", ["tools"], agent="Utility")
    assert answer["status"] == "answered", answer["reasoning"]
    assert [each["origin"]["tool"] for each in answer["evidence"]] == ["convert_units", "dates"]
    assert all(claim["supported"] for claim in answer["claims"])


@pytest.mark.parametrize(
    ("figure", "status", "mark"), [("397.8", "answered", "[1]"), ("398.7", "insufficient", "[unsupported]")]
)
def test_an_answer_rests_on_a_planned_calculation(
    ask: Ask, model: ToolModel, figure: str, status: str, mark: str
) -> None:
    question, claim = "What is 17 % of 2340?", f"17 % of 2340 is {figure}."
    count = step("count", "Utility", inputs={"question": question})
    model.answers[PLANNER] = json.dumps(planned(count, step("answer", "Synthesizer")))
    model.turns, model.quote = [calls(("calculator", {"expression": "2340 * 0.17"}))], "397.8"
    written = [{"evidence": [1], "text": claim}]
    model.answers[SYNTHESIS] = json.dumps(synthesis(written, sufficient=True, short=figure))
    answer = ask(question, ["documents", "tools"], mode="high")
    assert (answer["status"], answer["mode"], answer["answer"]) == (status, "high", f"{claim} {mark}")
    [quote] = answer["evidence"]
    calculated = {"kind": "tool", "tool": "calculator", "arguments": {"expression": "2340 * 0.17"}}
    assert (quote["quote"], quote["origin"]) == ("397.8", calculated)
    assert answer["summary"]["tools"] == {"calculator": {"calls": 1, "failed": 0}}
    assert answer["summary"]["steps"]["Utility"] == answer["summary"]["steps"]["Synthesizer"] == {"completed": 1}


def test_an_agent_reads_no_more_pages_than_its_task_allows(
    candor: Candor, web: Web, model: ToolModel, endpoint: ScriptedEndpoint
) -> None:
    model.turns = [calls(("read_web_page", {"url": web.url("/thread")}), ("read_web_page", {"url": web.url("/app")}))]
    model.quote = OPINION
    inputs = {"question": "Does it freeze?", "max_sources": 1, "source_types": ["news"], "related_queries": ["frost"]}
    model.answers[PLANNER] = json.dumps(planned(step("look", "WebResearcher", inputs=inputs)))
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        asked = {"question": f"Does it freeze? See {web.url('/thread')}.", "sources": ["web"], "mode": "high"}
        answer = http.post("/v1/research", json=asked).json()
    assert answer["status"] == "answered", answer["reasoning"]
    [first, second, *_] = [each for each in endpoint.requests if role_of(each) == TURN]
    assert "- news: reports of newspapers and agencies" in first.prompt
    assert "official: pages" not in first.prompt
    assert "Suggested searches:\n- frost" in first.prompt
    assert "You may read 1 pages at most." in first.prompt
    assert first.schema is not None
    assert '"general"' not in json.dumps(first.schema), "the search knows only the types of the task"
    assert "read_web_page was called for 1, which is all that this task allows." in second.prompt
    assert "/app" not in web.asked


@pytest.fixture
def downloading(candor: Candor, web: Web, model: ToolModel) -> tuple[str, str, list[int]]:
    """A WebResearcher that downloads a PDF and reads it. Returns its quote, with address and pages."""
    tools = ("download_file", "read_download")
    candor.agent_catalog.add_skill(Skill(name="downloads", instructions="Download PDFs.", tools=tools))
    candor.agents.change("WebResearcher", AgentChanges(skills=("downloads",)))
    download = ("download_file", {"url": web.url("/noise.pdf"), "name": "noise.pdf"})
    model.turns, model.quote = [calls(download), calls(("read_download", {"name": "noise.pdf"}))], "38 decibels"
    return NOISE, web.url("/noise.pdf"), [2]


def test_a_downloaded_file_is_quoted_under_its_address(candor: Candor, downloading: tuple[Any, ...]) -> None:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        asked = {"question": LOUD, "agent": "WebResearcher", "sources": ["web"], "wait": False}
        run_id = http.post("/v1/research", json=asked).json()["run_id"]
        until(lambda: http.get("/v1/approvals", params={"run_id": run_id}).json())
        [waiting] = http.get("/v1/approvals").json()
        http.post(f"/v1/approvals/{waiting['approval_id']}", json={"decision": "approved"})
        until(lambda: http.get(f"/v1/runs/{run_id}").json()["answer"])
        [quote] = http.get(f"/v1/runs/{run_id}").json()["answer"]["evidence"]
        assert (quote["quote"], quote["origin"]["url"], quote["pages"]) == downloading
        files = http.get(f"/v1/runs/{run_id}/files").json()
        assert [(each["name"], each["url"]) for each in files] == [("noise.pdf", downloading[1])]
        kept = http.post(f"/v1/runs/{run_id}/files/noise.pdf/ingest")
        until(lambda: http.get(kept.headers["location"]).json()["status"] == "done")
        document = http.get("/v1/documents/noise.pdf", params={"collection": kept.json()["collection"]}).json()
        assert (document["state"], document["metadata"]["url"]) == ("indexed", downloading[1])


def test_candor_ask_downloads_a_file_after_approval(
    candor: Candor, downloading: tuple[Any, ...], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    asked = ("ask", LOUD, "--agent", "WebResearcher", "--sources", "web", "--json", "--home", candor.settings.home)
    told = run(*asked)
    [quote] = told.json["evidence"]
    assert (quote["quote"], quote["origin"]["url"], quote["pages"]) == downloading
    assert "WebResearcher wants to call download_file" in told.err


def test_without_a_search_engine_the_run_says_what_to_set(
    candor: Candor, run: Run, model: ToolModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDOR_TOOLS__WEB_SEARCH", "off")
    home = candor.settings.home
    result = run("ask", QUESTION, "--agent", "WebResearcher", "--sources", "web", "--json", "--home", home)
    assert result.json["status"] == "failed"
    assert "WebResearcher read nothing. web_search: No search engine is set" in json.dumps(result.json)


def test_the_agents_are_off_until_a_person_enables_them(make_candor: Callable[..., Candor], run: Run) -> None:
    home = make_candor().settings.home
    listed = {each["name"]: each["enabled"] for each in run("agents", "--json", "--home", home).json}
    off = {name for name, enabled in listed.items() if not enabled}
    assert off == {"WebResearcher", "ForumResearcher", "Utility"}
    assert run("agents", "enable", "Utility", "--home", home).code == 0
    assert run("agents", "give", "WebResearcher", "--no-skills", "--home", home).code == 0
    listed = {each["name"]: each["enabled"] for each in run("agents", "--json", "--home", home).json}
    assert (listed["Utility"], listed["WebResearcher"]) == (True, False)
