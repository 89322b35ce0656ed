"""Concurrent requests to an endpoint, through OpenAI's and through Ollama's protocol."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from multi_agent.llm.models import build_llm
from multi_agent.model import Message
from support import replies
from support.replies import PROTOCOLS, Protocol, always, held_until_together, in_turn
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import advance_clock, wait_for

PUMP = '{"kind": "heat pump"}'
QUESTION = [Message.user("Which pump works below -20 °C?")]


class Pump(BaseModel):
    """A pump."""

    kind: str


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_concurrent_requests_are_limited_per_endpoint(protocol: Protocol) -> None:
    with ScriptedEndpoint(held_until_together(3, always(replies.delayed(PUMP, 0.2)))) as endpoint:
        llm = build_llm(endpoint.settings(protocol, parallel=3))
        await asyncio.gather(*(llm.complete(QUESTION, Pump) for _ in range(9)))
    assert len(endpoint.requests) == 9
    assert endpoint.peak == 3


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_many_concurrent_requests_are_allowed(protocol: Protocol) -> None:
    with ScriptedEndpoint(always(replies.hang())) as endpoint:
        llm = build_llm(endpoint.settings(protocol, parallel=150))
        tasks = [asyncio.create_task(llm.complete(QUESTION, Pump)) for _ in range(150)]
        await wait_for(lambda: endpoint.peak == 150)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_retry_pause_holds_no_slot(protocol: Protocol) -> None:
    with ScriptedEndpoint(in_turn(replies.rate_limited(60), PUMP)) as endpoint:
        llm = build_llm(endpoint.settings(protocol, parallel=1))
        paused = asyncio.create_task(llm.complete(QUESTION, Pump))
        await wait_for(lambda: endpoint.requests)
        await llm.complete(QUESTION, Pump)
        assert not paused.done()
        advance_clock(60)
        await paused
