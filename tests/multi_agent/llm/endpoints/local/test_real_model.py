"""A real model in the real engines. Set CANDOR_TEST_GGUF to the path of a GGUF file; skipped otherwise."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel

from multi_agent.llm.endpoint import EndpointRequest
from multi_agent.llm.endpoints.local.endpoint import LocalModel
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Message
from support.waiting import LIMIT_S

FILE = os.environ.get("CANDOR_TEST_GGUF", "")
pytestmark = [
    pytest.mark.skipif(not FILE, reason="CANDOR_TEST_GGUF names no model file"),
    pytest.mark.timeout(600),
]
DELIVERIES = " ".join(f"The pump {number} was delivered to station {number * 7}." for number in range(30))


class Delivery(BaseModel):
    """A delivery."""

    kind: Literal["pump", "valve"]
    station: int
    remarks: list[str] = []


@pytest.fixture(params=["openvino", "llama_cpp"])
async def model(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[LocalModel]:
    pytest.importorskip({"openvino": "openvino_genai", "llama_cpp": "xllamacpp"}[request.param])
    settings = EndpointSettings(
        provider="local", model=FILE, engine=request.param, context_window=4096, max_output_tokens=40
    )
    opened = LocalModel(settings, tmp_path)
    yield opened
    opened.close()


async def test_follows_the_schema_streams_caches_and_stops(model: LocalModel) -> None:
    def request(question: str, schema: type[BaseModel] = Delivery, on_text: object = None) -> EndpointRequest:
        messages = (Message.user(f"{DELIVERIES}\n{question} Answer in JSON."),)
        return EndpointRequest(messages, schema.model_json_schema(), 0.0, on_text)  # type: ignore[arg-type]

    texts: list[str] = []

    async def on_text(text: str) -> None:
        texts.append(text)

    first = await model.send(request("Where was pump 12 delivered?", on_text=on_text))
    assert Delivery.model_validate_json(first.text)
    assert texts[0] == ""
    assert texts[-1] == first.text
    assert first.cached_tokens == 0
    second = await model.send(request("Where was pump 13 delivered?"))
    assert Delivery.model_validate_json(second.text)
    assert second.cached_tokens > 0.8 * second.prompt_tokens

    class Story(BaseModel):
        story: str

    writing = asyncio.Event()

    async def on_story(text: str) -> None:
        if text:
            writing.set()

    task = asyncio.create_task(model.send(request("Tell a long story.", Story, on_story)))
    await asyncio.wait_for(writing.wait(), LIMIT_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await model.send(request("Where was pump 14 delivered?"))).text
    assert (await model.send(request("Tell a long story.", Story))).truncated
