"""The scripted endpoint behaves as other tests expect."""

from __future__ import annotations

import asyncio

import ollama
import openai

from support.replies import always, hang, in_turn, say, server_error, use
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import wait_for

HELLO = {"role": "user", "content": "hello"}


async def test_closing_drops_open_requests() -> None:
    with ScriptedEndpoint(always(hang())) as endpoint:
        client = ollama.AsyncClient(host=endpoint.url("ollama"), trust_env=False)
        calls = [asyncio.create_task(client.chat(model="scripted", messages=[HELLO])) for _ in range(5)]
        await wait_for(lambda: endpoint.peak == 5)
    assert all(request.abandoned for request in endpoint.requests)
    await asyncio.gather(*calls, return_exceptions=True)


async def test_it_streams_in_openais_protocol() -> None:
    with ScriptedEndpoint(always(say("hello yourself", thinking="A greeting."))) as endpoint:
        client = openai.AsyncOpenAI(base_url=endpoint.url("openai"), api_key="none")
        stream = await client.chat.completions.create(model="scripted", messages=[HELLO], stream=True)
        deltas = [choice.delta async for chunk in stream for choice in chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == "hello yourself"


async def test_it_calls_tools_in_openais_protocol() -> None:
    with ScriptedEndpoint(always(use(("search", {"query": "town"}), ("answer", {})))) as endpoint:
        client = openai.AsyncOpenAI(base_url=endpoint.url("openai"), api_key="none")
        reply = await client.chat.completions.create(model="scripted", messages=[HELLO])
    called = [(call.function.name, call.function.arguments) for call in reply.choices[0].message.tool_calls or ()]
    assert called == [("search", '{"query": "town"}'), ("answer", "{}")]


async def test_it_streams_in_ollamas_protocol() -> None:
    with ScriptedEndpoint(always(say("hello yourself", thinking="A greeting."))) as endpoint:
        client = ollama.AsyncClient(host=endpoint.url("ollama"), trust_env=False)
        stream = await client.chat(model="scripted", messages=[HELLO], stream=True)
        parts = [part.message async for part in stream]
    assert [part.thinking for part in parts if part.thinking] == ["A greeting."]
    assert "".join(part.content or "" for part in parts) == "hello yourself"


def test_the_last_of_several_replies_repeats() -> None:
    responder = in_turn(server_error(), "yes")
    assert [responder(None) for _ in range(3)] == [server_error(), "yes", "yes"]  # type: ignore[arg-type]
