"""Questions in several parts: each has its verdict, and an answer to some of them is partial."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from openai import OpenAI

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.research import ResearchSettings
from support.museums import CITY_CAFE, DOCUMENTS, MARITIME_POOL
from support.panel import READING, REVISION, TRIAGE, Panel, fast, pointing, role_of, synthesis
from support.replies import Reply, Request
from support.service import RunningService
from support.waiting import LIMIT_S

QUESTION = "What do the city museum and the maritime museum have, and how full is the pool now?"
CITY, POOL, NOW = "what the city museum has", "what the maritime museum has", "how full the pool is now"


class InParts:
    """A responder that answers the first two parts. ``verdict`` is that of the third."""

    def __init__(self, verdict: str = "not_in_documents", *, claims: int = 2) -> None:
        self.roles: list[str] = []
        self._verdict, self._claims = verdict, claims

    def __call__(self, request: Request) -> Reply | str:
        role = role_of(request)
        self.roles.append(role)
        if role == TRIAGE:
            return fast(request)
        return self._read(request) if role == READING else Panel()(request)

    def _read(self, request: Request) -> Reply | str:
        quotes = [("city.md", CITY_CAFE), ("harbour.md", MARITIME_POOL)][: self._claims]
        claims = [{"text": quote, "quotes": [{"passage": name, "quote": quote}]} for name, quote in quotes]
        parts = [
            {"part": CITY, "claims": [1], "verdict": "answered"},
            {"part": POOL, "claims": [2], "verdict": "answered"},
            {"part": NOW, "claims": [], "verdict": self._verdict},
        ]
        sufficient = self._verdict == "answered"
        return pointing(request, json.dumps({**synthesis(claims, sufficient=sufficient), "parts": parts}))


@pytest.fixture
def ask(
    make_candor: Callable[..., Candor], tmp_path_factory: pytest.TempPathFactory, serve: Callable[..., EndpointSettings]
) -> Iterator[Callable[[InParts], tuple[dict[str, Any], httpx.Client]]]:
    """Ask a model in parts, and return the answer with a client of the service."""
    folder, opened = tmp_path_factory.mktemp("museums"), []
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")

    def ask_model(model: InParts) -> tuple[dict[str, Any], httpx.Client]:
        made = make_candor(llm=serve(model), research=ResearchSettings(plan_examples=0))
        run_ingest(made, [folder], "museums", progress=False)
        service = RunningService(made)
        opened.append(service)
        client = httpx.Client(base_url=service.__enter__().url, timeout=LIMIT_S)
        response = client.post("/v1/research", json={"question": QUESTION})
        assert response.status_code == 200, response.text
        return response.json(), client

    yield ask_model
    for service in opened:
        service.__exit__(None, None, None)


def test_two_of_three_parts_are_a_partial_answer_that_no_plan_completes(ask: Callable) -> None:
    model = InParts()
    answer, http = ask(model)
    assert (answer["status"], answer["nearest"]) == ("partial", None)
    assert answer["parts"] == [
        {"part": CITY, "verdict": "answered"},
        {"part": POOL, "verdict": "answered"},
        {"part": NOW, "verdict": "not_in_documents"},
    ]
    assert [claim["supported"] for claim in answer["claims"]] == [True, True]
    assert answer["confidence"] > 0
    assert model.roles == [TRIAGE, READING], "no document can know what is so today"
    text = http.get(f"/v1/runs/{answer['run_id']}/export", params={"format": "md"}).text
    assert "**Partial: 2 of 3 parts answered · Word for word**" in text
    assert f"## Parts\n\n- {CITY}: answered\n- {POOL}: answered\n- {NOW}: not in documents" in text
    with OpenAI(base_url=f"{http.base_url}/v1", api_key="local") as client:
        said: list[Any] = [{"role": "user", "content": QUESTION}]
        completion = client.chat.completions.create(model="museums", messages=said)
        chat = completion.choices[0].message.content or ""
    assert (completion.model_extra or {})["candor"]["status"] == "partial"
    assert completion.usage
    assert completion.usage.prompt_tokens == answer["usage"]["prompt_tokens"]
    assert f"Partial: 2 of 3 parts answered.\n- {CITY}: answered" in chat


def test_a_part_that_was_only_not_found_is_worth_another_plan(ask: Callable) -> None:
    model = InParts("not_found")
    answer, _ = ask(model)
    assert answer["status"] == "partial"
    assert model.roles == [TRIAGE, READING, REVISION]


def test_a_part_without_a_claim_is_not_answered_whatever_the_model_says(ask: Callable) -> None:
    answer, _ = ask(InParts("answered", claims=1))
    assert answer["status"] == "partial"
    assert [each["verdict"] for each in answer["parts"]] == ["answered", "not_found", "not_found"]


def test_the_command_line_shows_the_parts(
    run: Callable, tmp_path: Any, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(InParts()))
    for name, text in DOCUMENTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert run("ingest", tmp_path, "--collection", "museums").code == 0
    shown = run("ask", QUESTION, "--collection", "museums")
    assert shown.code == 0
    assert shown.out.startswith("Partial: 2 of 3 parts answered · Word for word")
    assert f"{NOW}: not in documents" in shown.out
