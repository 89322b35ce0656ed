"""Questions that do not say what they mean are asked back, over every interface, and the choice goes on."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client
from openai import OpenAI

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.research import ResearchSettings
from support.museums import CITY, CITY_CAFE, DOCUMENTS, MARITIME, MARITIME_POOL, UNCLEAR, WHICH, ZOO, Museums, full
from support.panel import COMPLETION, READING, TRIAGE
from support.service import RunningService
from support.waiting import LIMIT_S

Serve = Callable[[Museums], httpx.Client]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    museums = tmp_path / "museums"
    museums.mkdir()
    for name, text in DOCUMENTS.items():
        (museums / name).write_text(text, encoding="utf-8")
    return museums


@pytest.fixture
def served(make_candor: Callable[..., Candor], folder: Path, serve: Callable[..., EndpointSettings]) -> Iterator[Serve]:
    """Serve the museums with a model."""
    opened: list[Any] = []

    def serve_with(model: Museums) -> httpx.Client:
        made = make_candor(llm=serve(model), research=ResearchSettings(plan_examples=0))
        run_ingest(made, [folder], "museums", progress=False)
        service = RunningService(made)
        opened.append(service)
        client = httpx.Client(base_url=service.__enter__().url, timeout=LIMIT_S)
        opened.append(client.__enter__())
        return client

    yield serve_with
    for each in reversed(opened):
        each.__exit__(None, None, None)


def searches(http: httpx.Client, run: dict[str, Any]) -> list[str]:
    """Return the queries of a run whose searches found passages."""
    events = http.get(f"/v1/runs/{run['run_id']}/events?follow=false").json()
    return [query for each in events if each["body"]["type"] == "searched" for query in each["body"]["queries"]]


def ask(http: httpx.Client, question: str, **more: Any) -> dict[str, Any]:
    response = http.post("/v1/research", json={"question": question, **more})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


@pytest.mark.parametrize("role", [TRIAGE, READING])
def test_an_unclear_question_is_asked_back_with_quotes_and_the_choice_goes_on(served: Serve, role: str) -> None:
    model = Museums(role, CITY, MARITIME)
    http = served(model)
    asked = ask(http, UNCLEAR)
    assert asked["status"] == "needs_clarification"
    assert asked["clarification"] == {
        "question": WHICH,
        "candidates": [
            {"name": CITY, "question": full(CITY), "document": "city.md", "quote": CITY_CAFE},
            {"name": MARITIME, "question": full(MARITIME), "document": "harbour.md", "quote": MARITIME_POOL},
        ],
    }
    assert asked["answer"] == f"1. {CITY} [1]\n2. {MARITIME} [2]"
    assert (asked["summary"]["documents"]["read"], asked["coverage"]["chunks_considered"]) == (2, 2)
    assert [each["quote"] for each in asked["evidence"]] == [CITY_CAFE, MARITIME_POOL]
    assert model.roles == ([TRIAGE] if role == TRIAGE else [TRIAGE, READING]), "no call more than those made anyway"
    assert http.get("/v1/runs", params={"status": "needs_clarification"}).json()[0]["run_id"] == asked["run_id"]
    model.prompts.clear()
    chosen = ask(http, full(MARITIME), continues=asked["run_id"], complete=True)
    assert (chosen["status"], chosen["short"]) == ("answered", MARITIME_POOL)
    assert model.roles == [READING], "the choice goes on after Triage"
    assert not {*searches(http, asked)} & {*searches(http, chosen)}, "nothing is searched twice"
    assert searches(http, chosen) == [full(MARITIME), *(["museum amenities"] if role == TRIAGE else [])]


@pytest.mark.parametrize("role", [TRIAGE, READING])
def test_with_fewer_than_two_candidates_in_the_passages_nobody_is_asked(served: Serve, role: str) -> None:
    asked = ask(served(Museums(role, CITY, ZOO)), UNCLEAR, mode="fast")
    assert asked["clarification"] is None
    assert asked["status"] == ("answered" if role == TRIAGE else "insufficient")


def test_a_follow_up_that_the_conversation_does_not_settle_is_asked_back(served: Serve) -> None:
    model = Museums(COMPLETION, CITY, MARITIME)
    http = served(model)
    said = [{"question": "Are there museums?", "answer": "Yes, two. (From: city.md, harbour.md)"}]
    asked = ask(http, UNCLEAR, conversation=said)
    assert (asked["status"], asked["clarification"]["question"]) == ("needs_clarification", WHICH)
    assert (asked["mode"], asked["completed_question"]) == ("", ""), "neither was chosen or changed"
    assert model.roles == [COMPLETION]
    events = [each["body"] for each in http.get(f"/v1/runs/{asked['run_id']}/events?follow=false").json()]
    [completed] = [each for each in events if each["type"] == "question_completed"]
    assert (completed["unresolved"], completed["added"]) == (True, [])


def test_what_the_completion_adds_is_marked_and_left_out_where_it_finds_nothing(served: Serve) -> None:
    """The Reader decides: the person did not write the name, so that no passage has it refuses nothing."""
    completed = "Which facilities does Zephyron have?"
    model = Museums("")
    model.completed = completed
    http = served(model)
    said = [{"question": "Who built Zephyron?", "answer": "The city."}]
    answer = ask(http, "Which facilities does it have?", conversation=said)
    assert (answer["completed_question"], answer["added"]) == (completed, ["Zephyron"])
    assert searches(http, answer)[-2:] == ["Which facilities does have?", "Which facilities does it have?"]
    [prompt] = [prompt for role, prompt in model.prompts if role == READING]
    assert "The question below was completed from it. Words added: Zephyron." in prompt
    events = [each["body"] for each in http.get(f"/v1/runs/{answer['run_id']}/events?follow=false").json()]
    [told] = [each for each in events if each["type"] == "question_completed"]
    assert (told["added"], told["left_out"]) == (["Zephyron"], ["Zephyron"])


def test_a_live_question_is_refused_after_triage(served: Serve) -> None:
    model = Museums("")
    model.live = True
    answer = ask(served(model), "How is the weather right now?")
    assert (answer["status"], model.roles) == ("insufficient", [TRIAGE])
    assert "Stored documents cannot know it" in answer["reasoning"]


def test_documents_without_a_title_are_listed_with_their_words(served: Serve, folder: Path) -> None:
    (folder / "untitled.txt").write_text("the harbour was dug by hand in 1871, over nine winters.\n", encoding="utf-8")
    model = Museums("")
    ask(served(model), "Who dug the harbour by hand?")
    assert "- untitled.txt, with “the harbour was dug by hand in 1871" in dict(model.prompts)[TRIAGE]


def test_a_session_remembers_what_was_asked_back(served: Serve) -> None:
    model = Museums(READING, CITY, MARITIME)
    http = served(model)
    ask(http, UNCLEAR, session="monday")
    chosen = ask(http, "the second one", session="monday")
    assert (chosen["completed_question"], chosen["short"]) == (full(MARITIME), MARITIME_POOL)
    [prompt] = [prompt for role, prompt in model.prompts if role == COMPLETION]
    assert f"Answer: {WHICH} 1. {CITY} 2. {MARITIME} (From: city.md, harbour.md)" in prompt


def test_a_chat_client_reads_the_candidates_and_answers_in_its_next_message(served: Serve) -> None:
    http = served(Museums(READING, CITY, MARITIME))
    with OpenAI(base_url=f"{http.base_url}/v1", api_key="local") as client:
        said: list[Any] = [{"role": "user", "content": UNCLEAR}]
        first = client.chat.completions.create(model="museums", messages=said)
        text = first.choices[0].message.content or ""
        said += [{"role": "assistant", "content": text}, {"role": "user", "content": "2"}]
        second = client.chat.completions.create(model="museums", messages=said)
    assert text.startswith(f"{WHICH}\n\n1. {CITY} [1]\n2. {MARITIME} [2]\n\nSources:\n[1] city.md")
    assert (first.model_extra or {})["candor"]["status"] == "needs_clarification"
    for each in (first, second):
        run = http.get(f"/v1/runs/{each.id.removeprefix('chatcmpl-')}").json()["answer"]
        assert each.usage
        assert each.usage.prompt_tokens == run["usage"]["prompt_tokens"] > 0
        assert (run["mode"], run["usage"]["model_calls"]) == ("fast", 2 if each is first else 3)
    cited = first.choices[0].message.annotations[0].url_citation
    assert text[cited.start_index : cited.end_index + 1] == "[1]"
    assert MARITIME_POOL in (second.choices[0].message.content or "")


def test_an_export_shows_what_was_asked_back(served: Serve) -> None:
    http = served(Museums(READING, CITY, MARITIME))
    run_id = ask(http, UNCLEAR)["run_id"]
    text = http.get(f"/v1/runs/{run_id}/export", params={"format": "md"}).text
    assert "**Needs clarification · 2 candidates in the documents**" in text
    assert f"1. {CITY} [1]\n2. {MARITIME} [2]" in text
    assert f"## Asked back\n\n{WHICH}" in text


async def test_an_mcp_client_gets_the_candidates(served: Serve) -> None:
    http = await asyncio.to_thread(served, Museums(READING, CITY, MARITIME))
    async with Client(f"{http.base_url}/mcp") as client:
        result = (await client.call_tool("research", {"question": UNCLEAR, "mode": "fast"})).structured_content
    assert (result["status"], result["clarification"]["question"]) == ("needs_clarification", WHICH)
    assert [each["question"] for each in result["clarification"]["candidates"]] == [full(CITY), full(MARITIME)]


class Terminal(io.StringIO):
    """Standard input of a person at a terminal."""

    def isatty(self) -> bool:
        return True


class TestCommandLine:
    @pytest.fixture(autouse=True)
    def model(self, run: Callable, folder: Path, serve: Callable, use_model: Callable) -> Museums:
        model = Museums(READING, CITY, MARITIME)
        use_model(serve(model))
        assert run("ingest", folder, "--collection", "museums").code == 0
        return model

    def test_a_person_at_a_terminal_chooses_by_number(
        self, run: Callable, model: Museums, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "stdin", Terminal("9\n2\n"))
        asked = run("ask", UNCLEAR)
        assert asked.code == 0
        assert "Needs clarification · 2 candidates in the documents" in asked.out
        assert (
            asked.out.index(WHICH)
            < asked.out.index(f"1. {CITY} [1]")
            < asked.out.index(f"It says so: {MARITIME_POOL} [1]")
        )
        assert asked.err.count("Which one, 1 to 2?") == 2, "9 is no candidate"
        assert model.roles == [TRIAGE, READING, READING]

    def test_enter_ends_without_a_choice(self, run: Callable, model: Museums, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", Terminal("\n"))
        assert run("ask", UNCLEAR).code == 0
        assert model.roles == [TRIAGE, READING]

    def test_without_a_terminal_the_next_commands_are_printed(
        self, run: Callable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        asked = run("ask", UNCLEAR)
        assert f"1. {CITY} [1]" in asked.out
        assert f"Go on: candor ask '{full(CITY)}' --continues run_" in asked.err
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        assert run("ask", UNCLEAR, "--quiet").out == f"{WHICH}\n1. {CITY} [1]\n2. {MARITIME} [2]\n"
        assert json.loads(run("ask", UNCLEAR, "--json").out)["status"] == "needs_clarification"

    def test_a_chat_takes_a_number_or_words(
        self, run: Callable, model: Museums, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{UNCLEAR}\n1\n"))
        chat = run("chat")
        assert f"It says so: {CITY_CAFE} [1]" in chat.out
        assert model.roles == [TRIAGE, READING, READING]
