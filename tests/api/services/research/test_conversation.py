"""Follow-up questions over every interface: Candor researches only the completed question."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import OpenAI

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.research import ResearchSettings
from multi_agent.values import request as requests
from support.marathon import COMPLETED, DOCUMENT, FOLLOW_UP, TIME, WHO, WINNER, Marathon
from support.panel import (
    COMPLETION,
    PLANNER,
    READING,
    REVISION,
    SYNTHESIS,
    TRIAGE,
    Panel,
    planned,
    reading,
    revised,
    role_of,
    step,
    synthesis,
)
from support.replies import Reply, Request, hang
from support.service import RunningService
from support.waiting import LIMIT_S

READ_THE_CONVERSATION = {COMPLETION, READING}
WITH_PREFERENCE = {PLANNER, REVISION}


@pytest.fixture
def model() -> Marathon:
    return Marathon()


@pytest.fixture
def races(tmp_path: Path) -> Path:
    folder = tmp_path / "races"
    folder.mkdir()
    (folder / "marathon.md").write_text(DOCUMENT)
    return folder


@pytest.fixture
def candor(
    make_candor: Callable[..., Candor], races: Path, model: Marathon, serve: Callable[..., EndpointSettings]
) -> Candor:
    made = make_candor(llm=serve(model), research=ResearchSettings(plan_examples=0))
    run_ingest(made, [races], "races", progress=False)
    return made


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def ask(http: httpx.Client, question: str, **more: Any) -> dict[str, Any]:
    response = http.post("/v1/research", json={"question": question, **more})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def events_of(http: httpx.Client, run_id: str) -> list[dict[str, Any]]:
    return [each["body"] for each in http.get(f"/v1/runs/{run_id}/events?follow=false").json()]


class TestRest:
    def test_a_session_completes_its_next_question(self, http: httpx.Client, model: Marathon) -> None:
        first = ask(http, WHO, session="monday")
        assert (first["status"], first["completed_question"]) == ("answered", "")
        assert model.roles_that_saw("The conversation, oldest first") == set(), "no call without an earlier turn"
        second = ask(http, FOLLOW_UP, session="monday")
        assert (second["status"], second["short"]) == ("answered", TIME)
        assert (second["question"], second["completed_question"]) == (FOLLOW_UP, COMPLETED)
        bodies = events_of(http, second["run_id"])
        [completed] = [each for each in bodies if each["type"] == "question_completed"]
        assert (completed["asked"], completed["question"]) == (FOLLOW_UP, COMPLETED)
        callers = [each["caller"] for each in bodies if each["type"] == "model_called"]
        assert callers == ["Conversation", "Triage", "Reader"]
        assert "Ben" in completed["added"]
        assert "time" not in completed["added"], "it is the person's own word"
        assert model.roles_that_saw(FOLLOW_UP) == READ_THE_CONVERSATION
        [said] = [prompt for role, prompt in model.prompts if role == COMPLETION]
        assert "(From: marathon.md)" in said
        assert "The answers are from:\n- marathon.md (Vinterholm)" in said
        assert said.count(WINNER) == 1
        assert "the" not in completed["added"], "only words that say what it is about"
        [read] = [prompt for role, prompt in model.prompts if role == READING and FOLLOW_UP in prompt]
        assert f"“{WHO}”" in read
        assert WINNER in read.partition("What was said before")[2]

    def test_a_session_carries_nothing_into_another_collection(
        self, http: httpx.Client, candor: Candor, tmp_path: Path
    ) -> None:
        (other := tmp_path / "letters").mkdir()
        (other / "letter.md").write_text("Nothing happened.")
        run_ingest(candor, [other], "letters", progress=False)
        ask(http, WHO, session="monday", collection="races")
        elsewhere = ask(http, FOLLOW_UP, session="monday", collection="letters")
        for part in ("/conversation", "/events?follow=false", "/journal"):
            assert "Ben Adler" not in http.get(f"/v1/runs/{elsewhere['run_id']}{part}").text, part
        assert ask(http, FOLLOW_UP, session="monday", collection="races")["completed_question"] == COMPLETED

    def test_a_caller_can_bring_the_conversation(self, http: httpx.Client) -> None:
        brought = [{"question": WHO, "answer": "Ben Adler."}]
        assert ask(http, FOLLOW_UP, conversation=brought)["completed_question"] == COMPLETED
        assert ask(http, FOLLOW_UP)["status"] == "insufficient", "nobody knows whose time"
        refused = http.post("/v1/research", json={"question": FOLLOW_UP, "conversation": brought * 7})
        assert (refused.status_code, "at most 6 items" in refused.text) == (422, True)

    def test_a_question_continues_a_run_that_was_asked_without_a_session(
        self, http: httpx.Client, model: Marathon
    ) -> None:
        first = ask(http, WHO)
        second = ask(http, FOLLOW_UP, continues=first["run_id"])
        assert (second["completed_question"], second["short"]) == (COMPLETED, TIME)
        third = ask(http, FOLLOW_UP, continues=second["run_id"][:10])
        started = events_of(http, third["run_id"])[0]
        assert started["request"]["continues"] == second["run_id"]
        assert [each["question"] for each in started["remembered"]["conversation"]] == [WHO, COMPLETED]
        talk = http.get(f"/v1/runs/{second['run_id']}/conversation").json()
        assert talk["earlier"] == [
            {"run_id": first["run_id"], "status": "answered", "question": WHO, "completed_question": "",
             "answer": first["short"]}
        ]  # fmt: skip
        assert [each["run_id"] for each in talk["later"]] == [third["run_id"]]

    def test_a_question_continues_a_run_of_a_session(self, http: httpx.Client) -> None:
        first = ask(http, WHO, session="monday")
        second = ask(http, FOLLOW_UP, session="monday")
        third = ask(http, FOLLOW_UP, continues=second["run_id"])
        assert third["completed_question"] == COMPLETED
        earlier = http.get(f"/v1/runs/{third['run_id']}/conversation").json()["earlier"]
        assert [(each["question"], each["run_id"]) for each in earlier] == [(WHO, ""), (FOLLOW_UP, second["run_id"])]
        assert first["short"] in earlier[0]["answer"]
        assert earlier[0]["answer"].endswith("(From: marathon.md)"), "what completes the next question"

    def test_a_conversation_that_cannot_be_continued_is_an_error(self, http: httpx.Client, candor: Candor) -> None:
        first = ask(http, WHO)["run_id"]
        missing = http.post("/v1/research", json={"question": FOLLOW_UP, "continues": "run_none"})
        assert (missing.status_code, "no run 'run_none'" in missing.text) == (404, True)
        both = http.post("/v1/research", json={"question": FOLLOW_UP, "continues": first, "session": "monday"})
        assert (both.status_code, "Use only one of `continues`, `session` and `conversation`" in both.text) == (
            422,
            True,
        )
        candor.trace.create("run_of_another", requests.Request(question=WHO), "papers", "small")
        other = {"question": FOLLOW_UP, "continues": "run_of_another", "collection": "races"}
        refused = http.post("/v1/research", json=other)
        assert (refused.status_code, "asked the collection 'papers', not 'races'" in refused.text) == (422, True)
        candor.trace.create("run_waiting", requests.Request(question=WHO), "races", "small")
        waiting = http.post("/v1/research", json={"question": FOLLOW_UP, "continues": "run_waiting"})
        assert (waiting.status_code, "has not finished" in waiting.text) == (409, True)

    def test_an_agent_is_asked_the_completed_question_and_nothing_else(
        self, http: httpx.Client, model: Marathon
    ) -> None:
        ask(http, WHO, session="monday", agent="Reader")
        model.prompts.clear()
        second = ask(http, FOLLOW_UP, session="monday", agent="Reader")
        assert (second["mode"], second["short"], second["completed_question"]) == ("direct", TIME, COMPLETED)
        assert [role for role, _ in model.prompts] == [COMPLETION, READING]
        assert model.roles_that_saw(WHO) == model.roles_that_saw(FOLLOW_UP) == READ_THE_CONVERSATION


@pytest.mark.parametrize("chosen", ["races", "races:Reader"])
def test_the_earlier_messages_of_a_chat_client_complete_its_question(
    http: httpx.Client, model: Marathon, chosen: str
) -> None:
    with OpenAI(base_url=f"{http.base_url}/v1", api_key="local") as client:
        said = [{"role": "user", "content": WHO}]
        first = client.chat.completions.create(model=chosen, messages=said)
        said += [
            {"role": "assistant", "content": first.choices[0].message.content},
            {"role": "user", "content": FOLLOW_UP},
        ]
        second = client.chat.completions.create(model=chosen, messages=said)
        stream = list(client.chat.completions.create(model=chosen, messages=said, stream=True))
    assert TIME in second.choices[0].message.content
    assert second.model_extra["candor"]["completed_question"] == COMPLETED
    progress = [(each.choices[0].delta.model_extra or {}).get("reasoning_content") for each in stream]
    assert f"Question: {COMPLETED}\n" in progress
    assert model.roles_that_saw(FOLLOW_UP) == READ_THE_CONVERSATION


class TestCommandLine:
    @pytest.fixture(autouse=True)
    def ingested(self, run: Callable, races: Path, model: Marathon, serve: Callable, use_model: Callable) -> None:
        use_model(serve(model))
        assert run("ingest", races, "--collection", "races").code == 0

    @pytest.mark.parametrize("options", [(), ("--agent", "Reader")], ids=["panel", "agent"])
    def test_a_session_completes_its_next_question(self, run: Callable, options: tuple[str, ...]) -> None:
        run("ask", WHO, "--session", "monday", *options)
        second = run("ask", FOLLOW_UP, "--session", "monday", "-v", *options)
        assert f"Question: {COMPLETED}" in second.out
        assert TIME in second.out
        assert f"Question: {COMPLETED}" in second.err, "while it runs"
        run_id = second.out.rpartition("candor trace ")[2].split()[0]
        trace = run("trace", run_id).out
        assert "question completed from the conversation" in trace
        assert COMPLETED in trace

    def test_a_question_continues_an_earlier_run(self, run: Callable) -> None:
        first = json.loads(run("ask", WHO, "--json").out)
        second = run("ask", FOLLOW_UP, "--continues", first["run_id"])
        assert f"Question: {COMPLETED}" in second.out
        assert TIME in second.out

    def test_a_chat_answers_one_question_per_line(
        self, run: Callable, model: Marathon, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lines = ["/sources", WHO, "", FOLLOW_UP, "/sources", "/new", FOLLOW_UP, "/help", "/nonsense", "/quit", WHO]
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
        chat = run("chat")
        assert chat.code == 0
        assert chat.out.count("Answered · ") == 2
        assert chat.out.count(f"“{TIME}”") == 2, "in the answer and by /sources"
        assert chat.out.count(f"Question: {COMPLETED}") == 1
        assert chat.out.count("Insufficient") == 1, "a new conversation knows no 'he'"
        assert "There is no answer with sources yet." in chat.err
        assert "There is no command '/nonsense'. The commands are /new, /sources, /help, /quit." in chat.err
        assert len([role for role, _ in model.prompts if role == TRIAGE]) == 3, "/quit ends the chat"

    def test_a_chat_continues_a_session_with_one_agent(self, run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
        for question in (WHO, FOLLOW_UP):
            monkeypatch.setattr(sys, "stdin", io.StringIO(question))
            chat = run("chat", "--session", "monday", "--agent", "Reader", "--json")
        answer = json.loads(chat.out)
        assert (answer["mode"], answer["completed_question"], answer["short"]) == ("direct", COMPLETED, TIME)

    def test_an_invalid_option_of_a_chat_is_an_error_at_once(self, run: Callable) -> None:
        refused = run("chat", "--mode", "slow")
        assert (refused.code, "mode" in refused.err) == (2, True)


def test_ctrl_c_cancels_the_question_and_not_the_chat(
    run: Callable, races: Path, serve: Callable, use_model: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, pressed = Marathon(), []

    def press_once(request: Request) -> Reply | str:
        if role_of(request) == TRIAGE and not pressed:
            pressed.append(True)
            os.kill(os.getpid(), signal.SIGINT)
            return hang()
        return model(request)

    use_model(serve(press_once))
    run("ingest", races, "--collection", "races")
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{WHO}\n{WHO}\n"))
    chat = run("chat")
    assert (chat.code, pressed) == (0, [True])
    assert chat.out.index("Cancelled") < chat.out.index(WINNER)


class Revising:
    """A panel whose first plan finds no answer. Its planner turns the preference into a requirement."""

    def __init__(self) -> None:
        self.prompts: list[tuple[str, str]] = []
        self._attempts = 0

    def __call__(self, request: Request) -> Reply | str:
        self.prompts.append((role_of(request), request.prompt))
        return self._panel(request)

    @property
    def _panel(self) -> Panel:
        steps = (reading("find", WHO), step("answer", "Synthesizer"))
        again = (reading("search", COMPLETED), step("write", "Synthesizer", instruction="Answer in German."))
        made = {**planned(*steps), "requirements": ["the name", "an answer in German"]}
        roles = {PLANNER: lambda _: json.dumps(made), REVISION: lambda _: json.dumps(revised(*again))}
        return Panel("won the", roles={**roles, SYNTHESIS: self._synthesis})

    def _synthesis(self, request: Request) -> str:
        self._attempts += 1
        if self._attempts == 1:
            return json.dumps(synthesis([], sufficient=False))
        assert "an answer in German" in request.prompt
        assert "Answer in German." in request.prompt, "the instruction of the reviser"
        return json.dumps(
            synthesis([{"text": "Ben Adler gewann.", "evidence": [1]}], sufficient=True, short="Ben Adler")
        )


def test_a_preference_survives_a_revised_plan(
    make_candor: Callable[..., Candor], races: Path, serve: Callable[..., EndpointSettings]
) -> None:
    panel = Revising()
    candor = make_candor(llm=serve(panel), research=ResearchSettings(plan_examples=0))
    run_ingest(candor, [races], "races", progress=False)
    wish = "Answer in German, please."
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        http.post("/v1/memories", json={"text": wish})
        answer = ask(http, WHO, mode="high")
    assert (answer["status"], answer["short"], answer["summary"]["attempts"]) == ("answered", "Ben Adler", 2)
    assert {role for role, prompt in panel.prompts if wish in prompt} == WITH_PREFERENCE, "no agent reads preferences"
