"""A local model: its child process with a scripted engine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from multi_agent.errors import LLMError, LLMRefused, LLMTimeout, LLMUnavailable
from multi_agent.llm.endpoint import EndpointRequest, Reply
from multi_agent.llm.endpoints.local.endpoint import LocalModel
from multi_agent.llm.models import build_client, build_llm
from multi_agent.llm.responses.typed import TypedLLM
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.wrappers.requests import RetryingEndpoint
from multi_agent.model import Message
from support.scripted_engine import MISSING, SCRIPTED, UNREADABLE, write_model_file
from support.waiting import LIMIT_S

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class City(BaseModel):
    """A city."""

    city: str


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_model_file(tmp_path / "model.gguf")


Open = Callable[..., LocalModel]


@pytest.fixture
def open_model(file: Path) -> Iterator[Open]:
    """Return a function that opens a model with these engines and settings."""
    opened: list[LocalModel] = []

    def open_it(*engines: str, **settings: Any) -> LocalModel:
        given = EndpointSettings.model_validate({"provider": "local", "model": str(file), **settings})
        opened.append(LocalModel(given, engines=engines or (SCRIPTED,)))
        return opened[-1]

    yield open_it
    for each in opened:
        each.close()


async def send(model: LocalModel, command: str, on_text: Any = None) -> Reply:
    async with asyncio.timeout(60):
        return await model.send(EndpointRequest((Message.user(command),), SCHEMA, 0.0, on_text))


async def fault(model: LocalModel, command: str = "say hello") -> LLMError:
    with pytest.raises(LLMError) as caught:
        await send(model, command)
    return caught.value


def loads(file: Path) -> int:
    return file.with_suffix(".log").read_text().count("loaded")


async def test_a_reply_has_text_and_tokens(open_model: Open, file: Path) -> None:
    model = open_model()
    texts: list[str] = []

    async def on_text(text: str) -> None:
        texts.append(text)

    reply = await send(model, "say one two three", on_text)
    assert texts == ["", "one", "onetwo", "onetwothree"]
    assert (reply.text, reply.truncated) == ("onetwothree", False)
    assert (reply.prompt_tokens, reply.cached_tokens, reply.completion_tokens) == (100, 60, 3)
    assert (await send(model, "stop at the limit")).truncated
    assert loads(file) == 1, "the process serves all requests"


async def test_the_wrappers_work_around_it(open_model: Open) -> None:
    model = open_model()
    llm = TypedLLM(RetryingEndpoint(model, retries=1), EndpointSettings(provider="local"))
    completion = await llm.complete([Message.user('say {"city":"Graz"}')], City)
    assert completion.value.city == "Graz"
    assert completion.usage.cached_tokens == 60


async def test_concurrent_requests_are_computed_in_turn(open_model: Open, file: Path) -> None:
    model = open_model()
    replies = await asyncio.gather(*(send(model, f"say {word}") for word in ("a", "b", "c")))
    assert [reply.text for reply in replies] == ["a", "b", "c"]
    assert loads(file) == 1


async def test_a_cancelled_request_stops_writing(open_model: Open, file: Path) -> None:
    model = open_model()
    writing = asyncio.Event()

    async def on_text(text: str) -> None:
        if text:
            writing.set()

    task = asyncio.create_task(send(model, "write endlessly", on_text))
    await asyncio.wait_for(writing.wait(), LIMIT_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await send(model, "say next")).text == "next", "nothing of the cancelled response"
    assert file.with_suffix(".log").read_text().split() == ["loaded", "stopped"]


async def test_a_failing_listener_stops_writing(open_model: Open) -> None:
    model = open_model()

    async def on_text(text: str) -> None:
        if text:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await send(model, "write endlessly", on_text)
    assert (await send(model, "say next")).text == "next"


async def test_time_without_text_is_limited(open_model: Open, file: Path) -> None:
    model = open_model(timeout_s=5)
    error = await fault(model, "be silent")
    assert isinstance(error, LLMTimeout)
    assert "CANDOR_LLM__TIMEOUT_S" in str(error)
    assert (await send(model, "say again")).text == "again"
    assert loads(file) == 2, "a silent process is replaced"


async def test_the_whole_time_is_limited(open_model: Open) -> None:
    error = await fault(open_model(total_timeout_s=1), "write endlessly")
    assert isinstance(error, LLMTimeout)
    assert "CANDOR_LLM__TOTAL_TIMEOUT_S" in str(error)


async def test_a_process_that_dies_is_replaced(open_model: Open, file: Path) -> None:
    model = open_model()
    error = await fault(model, "die")
    assert type(error) is LLMUnavailable
    assert "SIGKILL" in str(error)
    assert "out of memory" in str(error)
    assert (await send(model, "say again")).text == "again"
    assert loads(file) == 2


async def test_a_refused_request_leaves_the_process(open_model: Open, file: Path) -> None:
    model = open_model()
    error = await fault(model, "refuse")
    assert isinstance(error, LLMRefused)
    assert "The scripted engine refuses." in str(error)
    assert (await send(model, "say again")).text == "again"
    assert loads(file) == 1


async def test_the_first_engine_that_reads_the_file_is_used(open_model: Open) -> None:
    assert await open_model(MISSING, UNREADABLE, SCRIPTED).engine() == "scripted"


async def test_missing_engines_name_the_extra(open_model: Open) -> None:
    error = await fault(open_model(MISSING, MISSING))
    assert "no_such_engine is not installed" in str(error)
    assert "pip install 'openvino-genai>=" in str(error)


async def test_a_file_that_no_engine_reads_is_refused(open_model: Open) -> None:
    error = await fault(open_model(MISSING, UNREADABLE))
    assert isinstance(error, LLMRefused)
    assert "cannot read this file" in str(error)
    assert "CANDOR_LLM__MODEL" in str(error)


@pytest.mark.parametrize("content", [None, b"PK not a model", b"GGUF\x03\x00"], ids=["missing", "other", "cut off"])
def test_a_file_that_is_no_model_starts_no_process(open_model: Open, file: Path, content: bytes | None) -> None:
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    error = asyncio.run(fault(open_model()))
    assert isinstance(error, LLMRefused)
    assert str(file) in str(error)
    assert "CANDOR_LLM__MODEL" in str(error)
    assert not file.with_suffix(".log").exists()


async def test_openvino_names_the_architectures_that_it_reads(file: Path) -> None:
    pytest.importorskip("openvino_genai")
    write_model_file(file, "gemma3")
    model = LocalModel(EndpointSettings(provider="local", model=str(file), engine="openvino"))
    assert "reads GGUF files of llama, qwen2, qwen3; this is 'gemma3'" in str(await fault(model))


def test_openvino_sends_no_usage_data(file: Path) -> None:
    pytest.importorskip("openvino_genai")
    write_model_file(file, "gemma3")
    program = (
        "import sys; from pathlib import Path; from multi_agent.llm.endpoints.local.engine import *;"
        "from multi_agent.llm.endpoints.local.openvino import OpenVINO;"
        "sys.addaudithook(lambda event, _: print(event, flush=True)"
        " if event in ('socket.getaddrinfo', 'os.fork') else None)\n"
        f"try: OpenVINO.load(ModelOptions(path=Path({str(file)!r}), context=64, threads=1, cache=None))\n"
        "except EngineError: print('loaded', 'openvino' in sys.modules)"
    )
    environment = os.environ | {"CI": "false"}  # the library sends nothing if it is set
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert ended.stdout == "loaded True\n"


async def test_a_file_without_weights_is_refused_by_every_engine(file: Path) -> None:
    pytest.importorskip("openvino_genai")
    pytest.importorskip("xllamacpp")
    error = await fault(LocalModel(EndpointSettings(provider="local", model=str(file))))
    assert isinstance(error, LLMRefused)
    assert "OpenVINO GenAI cannot load" in str(error)
    assert "llama.cpp cannot load" in str(error)


def test_the_settings_select_it(file: Path) -> None:
    settings = EndpointSettings(provider="local", model=str(file))
    assert isinstance(build_client(settings), LocalModel)
    assert build_llm(settings).model == str(file)
    assert (settings.parallel, EndpointSettings().parallel) == (1, 4)
