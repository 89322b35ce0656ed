"""Candor as a chat model, called with the official OpenAI client over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from api.http.openai_chat import ChatRequest, annotated_text
from multi_agent.values.answer import Answer, Status
from multi_agent.values.context import Claim
from multi_agent.values.request import EXCHANGES
from support.answers import ANSWER, RUN
from support.service import QUESTION

ASKED = [{"role": "user", "content": QUESTION}]


@pytest.fixture
def client(service_url: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{service_url}/v1", api_key="local") as opened:
        yield opened


def test_collections_and_their_agents_are_the_models(client: OpenAI) -> None:
    names = [model.id for model in client.models.list()]
    assert {"papers", "papers:Reader"} <= set(names)
    assert "papers:Extractor" not in names, "it works only on what others have found"
    assert "papers:Retriever" not in names, "it writes no answer"
    assert client.models.retrieve("papers").object == "model"
    with pytest.raises(openai.NotFoundError, match="no model 'letters'"):
        client.models.retrieve("letters")


def test_an_answer_cites_its_sources_in_the_text_and_as_annotations(client: OpenAI, http: httpx.Client) -> None:
    completion = client.chat.completions.create(model="papers", messages=ASKED, temperature=0.2, max_tokens=50)
    [choice] = completion.choices
    text = choice.message.content
    assert text.startswith("It says so: “The Borea 12") or "The Borea 12 works down to -25 °C." in text
    assert text.endswith("Sources:\n[1] pumps.md, § Limits: “The Borea 12 works down to -25 °C.”")
    assert choice.finish_reason == "stop"
    [annotation] = choice.message.annotations
    cited = annotation.url_citation
    assert text[cited.start_index : cited.end_index + 1] == "[1]"
    assert cited.title == "pumps.md, § Limits"
    run_id = completion.id.removeprefix("chatcmpl-")
    assert cited.url == f"{http.base_url}/#/ask/{run_id}/1"
    answer = http.get(f"/v1/runs/{run_id}").json()["answer"]
    assert completion.usage.total_tokens == answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"] > 0
    about = completion.model_extra["candor"]
    assert (about["run_id"], about["status"], about["note"]) == (run_id, "answered", "")


def test_an_answer_is_streamed_after_the_progress_towards_it(client: OpenAI) -> None:
    stream = client.chat.completions.create(
        model="papers", messages=ASKED, stream=True, stream_options={"include_usage": True}
    )
    *chunks, last, usage = list(stream)
    deltas = [chunk.choices[0].delta for chunk in chunks]
    thought = "".join((delta.model_extra or {}).get("reasoning_content", "") for delta in deltas)
    text = "".join(delta.content or "" for delta in deltas)
    assert thought.startswith("Plan (high): QueryPlanner → Retriever")
    assert "Synthesizer …" in thought
    assert "Not checked claim: It says so" in thought, (
        "seen while it is written, where it can be withdrawn: the text is final"
    )
    assert text.endswith("Sources:\n[1] pumps.md, § Limits: “The Borea 12 works down to -25 °C.”")
    assert deltas[0].role == "assistant"
    assert last.choices[0].finish_reason == "stop"
    assert last.choices[0].delta.model_extra["annotations"][0]["url_citation"]["title"] == "pumps.md, § Limits"
    assert (usage.choices, usage.usage.prompt_tokens > 0) == ([], True)
    assert len({chunk.id for chunk in chunks}) == 1


async def test_the_asynchronous_client_is_answered_the_same(service_url: str) -> None:
    async with AsyncOpenAI(base_url=f"{service_url}/v1", api_key="local") as client:
        stream = await client.chat.completions.create(model="papers", messages=ASKED, stream=True)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert "[1] pumps.md" in text


def test_an_agent_is_asked_directly_by_its_own_model(client: OpenAI, http: httpx.Client) -> None:
    completion = client.chat.completions.create(model="papers:Reader", messages=ASKED)
    run = http.get(f"/v1/runs/{completion.model_extra['candor']['run_id']}").json()
    assert run["answer"]["mode"] == "direct"
    assert list(run["answer"]["summary"]["steps"]) == ["Reader"]


def test_system_messages_are_not_read_and_that_is_said(client: OpenAI, http: httpx.Client) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    ]
    completion = client.chat.completions.create(model="papers", messages=messages)
    about = completion.model_extra["candor"]
    assert about["note"] == "Messages with the role 'system' or 'developer' are ignored."
    assert http.get(f"/v1/runs/{about['run_id']}").json()["run"]["question"] == QUESTION
    stream = list(client.chat.completions.create(model="papers", messages=messages, stream=True))
    assert stream[0].choices[0].delta.role == "assistant"
    assert stream[1].choices[0].delta.model_extra["reasoning_content"] == f"{about['note']}\n"


def test_the_conversation_of_a_request_is_its_questions_with_the_answers_between() -> None:
    said = [("user", "A?"), ("user", "B?"), ("assistant", "Yes, "), ("assistant", "b."), ("user", "C?")]
    messages = [
        {"role": role, "content": text} for role, text in [("assistant", "Hello!"), ("system", "Be brief."), *said]
    ]
    asked = ChatRequest.model_validate({"model": "papers", "messages": messages}).to_request()
    assert [(each.question, each.answer) for each in asked.conversation] == [("A?", ""), ("B?", "Yes, b.")]
    assert asked.question == "C?"
    long = [{"role": "user", "content": f"Question {number}? {'x ' * 900}"} for number in range(20)]
    asked = ChatRequest.model_validate({"model": "papers", "messages": long}).to_request()
    assert len(asked.conversation) == EXCHANGES
    assert asked.conversation[-1].question.startswith("Question 18?")
    assert len(asked.conversation[-1].question) <= 400


@pytest.mark.parametrize(
    ("wanted", "kind", "says", "param"),
    [
        ({"model": "letters"}, openai.NotFoundError, "no model 'letters'", "model"),
        ({"model": "papers:Nobody"}, openai.NotFoundError, "no model 'papers:Nobody'", "model"),
        ({"messages": []}, openai.BadRequestError, "messages", "messages"),
        ({"messages": [{"role": "user", "content": " "}]}, openai.BadRequestError, "The question is empty", None),
        ({"messages": [{"role": "system", "content": "x"}]}, openai.BadRequestError, "has the role 'user'", None),
        ({"n": 2}, openai.BadRequestError, "'n' must be 1", None),
        ({"response_format": {"type": "json_object"}}, openai.BadRequestError, "'response_format'", None),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
            openai.BadRequestError, "a part of it has the type 'image_url'", None,
        ),
    ],
)  # fmt: skip
def test_what_is_refused_is_an_error_as_openai_tells_it(
    client: OpenAI, wanted: dict, kind: type[openai.APIStatusError], says: str, param: str | None
) -> None:
    with pytest.raises(kind, match=says) as refused:
        client.chat.completions.create(**({"model": "papers", "messages": ASKED} | wanted))
    assert refused.value.type == "invalid_request_error"
    assert refused.value.param == param


def test_what_is_missing_or_unsupported_is_said_in_the_text() -> None:
    said = annotated_text(RUN, ANSWER, "http://here/#/ask/run_1")
    assert said.text == (
        "It works at -25 °C. [1] It is loved. (not supported by the evidence) That makes 3. [C1]\n\n"
        "The documents do not contain a complete answer.\n\nTwo of three are told.\n\n"
        "Closest: -25 °C\n\nMissing: the noise\n\n"
        "Sources:\n[1] pumps.pdf, page 3: “works down to -25 °C”\n[C1] count them · "
        "From 1 quote of pumps.pdf. Not all rows are shown. 'many' is no number"
    )
    [annotation] = said.annotations
    assert said.text[annotation.url_citation.start_index :].startswith("[1] It is loved")

    claims = (Claim(text="One [1].", evidence=(1,), supported=True), Claim(text="Two.", evidence=(1,), supported=True))
    listed = ANSWER.model_copy(update={"status": Status.ANSWERED, "answer": "- One", "claims": claims})
    said = annotated_text(RUN, listed, "http://here/")
    assert said.text.startswith("- One \\[1\\]. [1]\n- Two. [1]\n\nLeft open: the noise\n\nSources:")
    marks = [(each.url_citation.start_index, each.url_citation.end_index) for each in said.annotations]
    assert marks == [(13, 15), (24, 26)], "only marks are annotated, not brackets in the text of a claim"

    absent = {"status": Status.ANSWERED, "answer": "N/A", "short": "N/A", "claims": (), "evidence": ()}
    said = annotated_text(RUN, ANSWER.model_copy(update={**absent, "computations": (), "nearest": None}), "")
    assert said.text == "N/A\n\nLeft open: the noise"

    nothing = Answer(run_id="run_1", status=Status.INSUFFICIENT, mode="fast", question="Why?", reasoning="Not there.")
    assert annotated_text(RUN, nothing, "").text == "The documents do not contain a complete answer.\n\nNot there."
