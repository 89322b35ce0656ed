"""Servers that deviate from OpenAI's protocol where the meaning is clear, and how much a model thinks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from multi_agent.errors import InvalidResponse
from multi_agent.llm.models import build_llm
from multi_agent.model import Completion, Message
from support import replies
from support.replies import Protocol, Reply, Request, always, say
from support.scripted_endpoint import ScriptedEndpoint

GRAZ = '{"city": "Graz"}'
USAGE = {"prompt_tokens": 100, "completion_tokens": 50}


class City(BaseModel):
    city: str


async def _ignore(_: str) -> None:
    pass


async def ask(
    reply: Reply, protocol: Protocol = "openai", query: str = "", **settings: Any
) -> tuple[Completion[City], Request]:
    """Return the completion and the request."""
    with ScriptedEndpoint(always(reply)) as endpoint:
        llm = build_llm(endpoint.settings(protocol, **{"base_url": endpoint.url(protocol) + query, **settings}))
        completion = await llm.complete([Message.user("Which city?")], City, on_text=_ignore)
    return completion, endpoint.requests[-1]


def whole(message: dict[str, Any], usage: Any = USAGE, **choice: Any) -> Reply:
    body = {"choices": [{"message": message, "finish_reason": "stop", **choice}], "usage": usage}
    return replies.raw(json.dumps(body), "application/json")


def stream(*events: dict[str, Any] | str) -> Reply:
    lines = (each if isinstance(each, str) else f"data: {json.dumps(each)}" for each in events)
    return replies.raw("".join(f"{line}\n\n" for line in lines), "text/event-stream")


def piece(content: Any, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"delta": {"content": content}, **fields}]}


END = {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": USAGE}
PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "Brr."}]}, {"type": "text", "text": GRAZ}]
WHOLE = {
    "no completion tokens": whole({"content": GRAZ}, {"prompt_tokens": 100, "total_tokens": 150}),
    "null tokens": whole({"content": GRAZ}, {"prompt_tokens": 100, "completion_tokens": None, "total_tokens": 150}),
    "parts": whole({"content": PARTS}),
    "a part": whole({"content": PARTS[1]}),
    "thinking in parts": whole({"content": GRAZ, "reasoning_content": [{"type": "text", "text": "Brr."}]}),
    "arguments as an object": whole({"content": None, "tool_calls": [{"function": {"arguments": {"city": "Graz"}}}]}),
}
STREAMED = {
    "null choices": stream({"choices": None}, piece(GRAZ), END),
    "ping": stream({"type": "ping"}, piece(GRAZ), ": ping", END),
    "named ping": stream(piece(GRAZ), 'event: ping\ndata: {"type": "ping"}', END),
    "parts": stream(*(piece([part]) for part in PARTS), END),
    "a message": stream({"choices": [{"message": {"content": GRAZ}, "finish_reason": "stop"}], "usage": USAGE}),
    "no delta": stream(piece(GRAZ), {"choices": [{"finish_reason": "stop"}]}, {"choices": [], "usage": USAGE}),
    "no completion tokens": stream(piece(GRAZ), END | {"usage": {"prompt_tokens": 100, "total_tokens": 150}}),
    "empty first chunk": stream({"choices": [], "prompt_filter_results": []}, piece(GRAZ), END),
}


@pytest.mark.parametrize("name", WHOLE)
async def test_a_response_is_read(name: str) -> None:
    completion, _ = await ask(WHOLE[name], stream=False)
    assert (completion.value.city, completion.usage.completion_tokens) == ("Graz", 50)
    assert completion.exchanges[0].thinking == ("Brr." if "parts" in name else "")


@pytest.mark.parametrize("name", STREAMED)
async def test_a_stream_is_read(name: str) -> None:
    completion, _ = await ask(STREAMED[name])
    assert (completion.value.city, completion.usage.completion_tokens) == ("Graz", 50)
    assert completion.exchanges[0].thinking == ("Brr." if "parts" in name else "")


@pytest.mark.parametrize("streams", [False, True])
async def test_a_choice_without_a_message_reached_the_limit(streams: bool) -> None:
    body = {"choices": [{"index": 0, "finish_reason": "length"}], "usage": USAGE}
    cut = stream(body) if streams else replies.raw(json.dumps(body), "application/json")
    with pytest.raises(InvalidResponse, match="it reached the output limit"):
        await ask(cut, stream=streams)


async def test_a_path_goes_before_the_query_of_the_address() -> None:
    completion, request = await ask(say(GRAZ), query="?api-version=2024-10-21", api_key="secret")
    assert completion.value.city == "Graz"
    assert request.headers["api-key"] == "secret"


@pytest.mark.parametrize(
    ("protocol", "think", "sent"),
    [
        ("ollama", False, {"think": False}),
        ("ollama", "low", {"think": "low"}),
        ("openai", False, {"reasoning_effort": "none"}),
        ("openai", "low", {"reasoning_effort": "low"}),
    ],
)
async def test_thinking_is_limited(protocol: Protocol, think: Any, sent: dict[str, Any]) -> None:
    _, request = await ask(say(GRAZ), protocol, think=think)
    assert sent.items() <= request.body.items()


@pytest.mark.parametrize("protocol", replies.PROTOCOLS)
async def test_by_default_the_endpoint_decides_how_much_to_think(protocol: Protocol) -> None:
    _, request = await ask(say(GRAZ), protocol)
    assert not {"think", "reasoning_effort"} & request.body.keys()


async def test_other_fields_are_sent_as_they_are() -> None:
    fields = {"chat_template_kwargs": {"enable_thinking": False}}
    _, request = await ask(say(GRAZ), extra_body=fields)
    assert fields.items() <= request.body.items()


@pytest.mark.parametrize("text", ["", "<think>I never stop"])
async def test_the_error_names_the_setting_if_the_model_only_thought(text: str) -> None:
    with pytest.raises(InvalidResponse, match=r"CANDOR_LLM__THINK .* to false or low"):
        await ask(Reply(text=text, thinking="" if text else "Brr", finish="length"), "ollama")
