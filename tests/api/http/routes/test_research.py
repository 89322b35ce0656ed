"""What a script sees of `POST /v1/research`."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from support.panel import PLANNER, READING, SYNTHESIS, TRIAGE, Role, fast, planned, reading, step, synthesis, triage
from support.replies import always
from support.service import QUESTION, REFUSED

Ingest = Callable[[str, dict[str, str]], None]
CASES = Path(__file__).parents[2] / "cases"
FEE = "The yearly maintenance fee is {} EUR, payable in January."
WEIGHT = "The pump weighs 40 kg without oil."
HOURS = "Opening hours of the library in winter:\n\nMon.\n7:30 a.m.\nto\n5 p.m.\n"


def test_a_failed_run_has_a_status_that_a_script_sees(http: httpx.Client) -> None:
    response = http.post("/v1/research", json={"question": REFUSED, "collection": "papers"})
    assert (response.status_code, response.headers["content-type"]) == (502, "application/problem+json")
    problem = response.json()
    assert problem["type"] == "urn:candor:run-failed"
    assert "rejected the request (HTTP 400" in problem["detail"]
    assert problem["answer"]["status"] == "failed"
    assert problem["answer"]["run_id"] in problem["remedy"]
    assert response.headers["Location"] == f"/v1/runs/{problem['answer']['run_id']}"


@pytest.mark.parametrize("header", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_json_without_its_header_gets_an_error_that_names_it(http: httpx.Client, header: str) -> None:
    body = f'{{"question": "{QUESTION}"}}'
    for path in ("/v1/research", "/v1/chat/completions"):
        response = http.post(path, content=body, headers={"Content-Type": header} if header else {})
        assert response.status_code in (400, 422)
        assert "Send `Content-Type: application/json`" in response.text


def test_a_body_of_another_json_type_is_read(http: httpx.Client) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    response = http.post("/v1/search", content='{"query": "pumps", "collection": "papers"}', headers=headers)
    assert response.status_code == 200


@pytest.fixture
def ingest(service_candor: Candor, tmp_path: Path) -> Ingest:
    """Return a function that reads texts into a collection while the service runs."""

    def read(collection: str, texts: dict[str, str]) -> None:
        for name, text in texts.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        run_ingest(service_candor, [tmp_path], collection, progress=False)

    return read


def citing(document: str, text: str) -> Role:
    """Return a Reader that claims a sentence of a document in its own words."""
    claim = {"text": text, "quotes": [{"passage": document, "quote": text}]}
    return lambda _: json.dumps(synthesis([claim], sufficient=True))


def research(http: httpx.Client, question: str, collection: str = "papers", mode: str = "auto") -> dict[str, Any]:
    asked = {"question": question, "collection": collection, "mode": mode}
    response = http.post("/v1/research", json=asked)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def callers(http: httpx.Client, answer: dict[str, Any]) -> list[str]:
    """Return who called the model, in order."""
    events = [each["body"] for each in http.get(f"/v1/runs/{answer['run_id']}/events?follow=false").json()]
    return [each["caller"] for each in events if each["type"] == "model_called"]


def reading_prompt(http: httpx.Client, answer: dict[str, Any]) -> str:
    calls = http.get(f"/v1/runs/{answer['run_id']}/journal").json()
    return next(each["messages"][-1]["content"] for each in calls if each["caller"] == "Reader")


def test_no_reader_is_asked_about_a_name_that_no_passage_has(http: httpx.Client, roles: dict[str, Role]) -> None:
    wordings = ["Zephyron lowest temperature", "limits of the Zephyron"]
    roles[TRIAGE] = lambda request: json.dumps(triage(request, queries=wordings))
    answer = research(http, "How cold may the Zephyron get?")
    assert (answer["status"], callers(http, answer)) == ("insufficient", ["Triage"])
    assert answer["reasoning"] == "Two searches found no passage with Zephyron, so no model was asked."


@pytest.mark.parametrize(
    "said",
    [{"off_topic": True, "search": ["cup winner"]}, {"ask_back": {"question": "Which?", "candidates": []}}],
    ids=["off topic", "unnamed"],
)
def test_no_other_plan_is_asked_for_where_none_can_help(
    http: httpx.Client, roles: dict[str, Role], said: dict[str, Any]
) -> None:
    roles[TRIAGE] = fast
    roles[READING] = lambda _: json.dumps({**synthesis([], sufficient=False), **said})
    answer = research(http, "Who won the cup?")
    assert (answer["status"], callers(http, answer)) == ("insufficient", ["Triage", "Reader"])


def test_of_several_versions_the_others_are_named_with_their_dates(
    http: httpx.Client, roles: dict[str, Role], ingest: Ingest, tmp_path: Path
) -> None:
    for each in (CASES / "53-versions").glob("*.docx"):
        shutil.copy(each, tmp_path)
    ingest("contracts", {})
    roles[READING] = citing("contract_v1.docx", FEE.format("12,000"))
    answer = research(http, "What is the yearly maintenance fee of the Norvik contract?", "contracts", "fast")
    newest = "saved 2024-05-20, a newer version of contract_v1.docx and contract_v2.docx"
    assert f"=== contract_final.docx (Service contract Norvik), {newest}\n" in reading_prompt(http, answer)
    others = [other for _, other in answer["contradictions"]]
    assert f"“{FEE.format('14,250')}” (contract_final.docx, {newest})" in others


def test_a_quote_that_moved_is_located_and_one_that_is_gone_is_said_to_be_gone(
    http: httpx.Client, roles: dict[str, Role], ingest: Ingest
) -> None:
    manual = "Pump manual.\n\n{}\n\nIt is painted green.\n"
    ingest("manual", {"pump.txt": manual.format(WEIGHT)})
    roles[READING] = citing("pump.txt", WEIGHT)
    evidence = f"/v1/runs/{research(http, 'What does the pump weigh?', 'manual', 'fast')['run_id']}/evidence"
    assert [each["state"] for each in http.get(evidence).json()] == ["found"]
    ingest("manual", {"pump.txt": manual.format(f"New: read this first.\n\n{WEIGHT}")})
    [moved] = http.get(evidence).json()
    start, end = (moved["quote"][each] - moved["start"] for each in ("start", "end"))
    assert (moved["state"], moved["text"][start:end]) == ("moved", WEIGHT)
    ingest("manual", {"pump.txt": manual.format(WEIGHT.replace("40", "140"))})
    assert [each["state"] for each in http.get(evidence).json()] == ["changed"]


def test_a_row_of_words_is_one_sentence(http: httpx.Client, roles: dict[str, Role], ingest: Ingest) -> None:
    ingest("hours", {"library.txt": HOURS})
    roles[READING] = citing("library.txt", "Mon. 7:30 a.m. to 5 p.m.")
    answer = research(http, "When does the library open on Mondays?", "hours", "fast")
    assert "] Mon. 7:30 a.m. to 5 p.m.\n" in reading_prompt(http, answer)
    assert answer["status"] == "answered"
    assert [" ".join(each["quote"].split()) for each in answer["evidence"]] == ["Mon. 7:30 a.m. to 5 p.m."]


@pytest.mark.parametrize(
    ("question", "lookup", "claim"),
    [
        ("Which text files are there?", {"sql": "SELECT name FROM documents WHERE type = 'txt'"}, "evil.txt, soup.txt"),
        ("Which documents mention Borea?", {"words": ["Borea"]}, "1 document mentions Borea."),
        ("Does any document mention asbestos?", {"words": ["asbestos"]}, "No document mentions asbestos."),
        ("What are the headings of pumps.md?", {"documents": ["pumps.md"], "pages": []}, "Pumps and Limits"),
    ],
)
def test_questions_about_the_collection_itself_take_two_calls(
    http: httpx.Client, roles: dict[str, Role], question: str, lookup: dict[str, Any], claim: str
) -> None:
    roles[TRIAGE] = lambda request: json.dumps(triage(request, lookup=lookup))
    claims = [{"evidence": [], "computations": [1], "text": claim}]
    roles[SYNTHESIS] = lambda _: json.dumps(synthesis(claims, sufficient=True))
    answer = research(http, question)
    assert (answer["status"], answer["claims"][0]["verdict"]) == ("answered", "supported")
    assert callers(http, answer) == ["Triage", "Synthesizer"]
    asked = {"model": "papers", "messages": [{"role": "user", "content": question}]}
    chat = http.post("/v1/chat/completions", json=asked).json()
    assert "\n[C1] " in (text := chat["choices"][0]["message"]["content"])
    assert re.search(r" · From (the catalogue|a search|the structure) of ", text), "what was searched"
    assert chat["usage"]["prompt_tokens"] == answer["usage"]["prompt_tokens"]


def test_a_plan_without_steps_is_one_reader(http: httpx.Client, roles: dict[str, Role]) -> None:
    roles[PLANNER] = always(json.dumps(planned()))
    answer = research(http, QUESTION, mode="high")
    assert (answer["status"], callers(http, answer)) == ("answered", ["Planner", "Reader"])


def test_a_final_step_of_the_planner_writes_the_answer(http: httpx.Client, roles: dict[str, Role]) -> None:
    last = {**reading("cold", QUESTION), "final": True}
    roles[PLANNER] = always(json.dumps(planned(reading("other", "How cold may it get?"), last)))
    answer = research(http, QUESTION, mode="high")
    assert (answer["status"], callers(http, answer)) == ("answered", ["Planner", "Reader", "Reader"])


@pytest.mark.parametrize("listed", ["gaps", "conflicts"])
def test_an_analysis_of_findings_is_a_step_of_any_plan(http: httpx.Client, roles: dict[str, Role], listed: str) -> None:
    inputs = {"focus": "Do they agree?", "sources": ["one", "other"], "analysis_types": [listed]}
    steps = reading("one", QUESTION), reading("other", "How cold?"), step("compare", "FindingsAnalyst", inputs=inputs)
    roles[PLANNER] = always(json.dumps(planned(*steps, step("answer", "Synthesizer"))))
    gap = {"kind": "gap", "one": [], "other": [], "text": "What the pump costs."}
    roles["FindingsAnalysis"] = always(json.dumps({"points": [gap]}))
    answer = research(http, QUESTION, mode="high")
    assert (answer["status"], answer["summary"]["steps"]["FindingsAnalyst"]) == ("answered", {"completed": 1})
    calls = http.get(f"/v1/runs/{answer['run_id']}/journal").json()
    shown = {each["caller"]: each["messages"][-1]["content"] for each in calls}
    assert ("Gap: What the pump costs." in shown["Synthesizer"]) == (listed == "gaps")
