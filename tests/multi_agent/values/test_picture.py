"""Messages with pictures: in requests, in the journal and in the token estimate."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from multi_agent.errors import LLMRefused, LLMUnavailable, PromptTooLong
from multi_agent.llm.endpoint import EndpointRequest
from multi_agent.llm.endpoints.local.endpoint import LocalModel
from multi_agent.llm.models import build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.llm.wrappers.journal import JournalEntry, RecordedJournal, RunCalls, RunLLM, request_key
from multi_agent.llm.wrappers.replay import ReplayingLLM
from multi_agent.llm.wrappers.requests import estimate_prompt
from multi_agent.model import Message, Picture
from support import replies
from support.files import make_png
from support.replies import PROTOCOLS, Protocol, always, in_turn
from support.scripted_endpoint import ScriptedEndpoint

RECORDING = Path(__file__).parents[3] / "sample_docs" / "recording.jsonl"
PNG = make_png()
GRAZ = '{"city": "Graz"}'


class City(BaseModel):
    city: str


def asked(png: bytes = PNG) -> list[Message]:
    return [Message.system("You know towns."), Message(role="user", content="Which?", pictures=(Picture.of(png),))]


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    value: Protocol = request.param
    return value


async def test_a_picture_is_sent_with_its_text(protocol: Protocol) -> None:
    with ScriptedEndpoint(in_turn(replies.nonsense(), GRAZ), sees=True) as endpoint:
        await build_llm(endpoint.settings(protocol)).complete(asked(), City)
    assert [request.pictures for request in endpoint.requests] == [[PNG], [PNG]], "the retry sends the picture again"
    sent = endpoint.requests[0].body["messages"][-1]
    encoded = base64.b64encode(PNG).decode()
    assert sent == (
        {"role": "user", "content": "Which?", "images": [encoded]}
        if protocol == "ollama"
        else {
            "role": "user",
            "content": [
                {"type": "text", "text": "Which?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
            ],
        }
    )


async def test_a_message_without_pictures_is_sent_as_plain_text(protocol: Protocol) -> None:
    with ScriptedEndpoint(always(GRAZ), sees=True) as endpoint:
        await build_llm(endpoint.settings(protocol)).complete([Message.user("Which?")], City)
    assert endpoint.requests[0].body["messages"][-1] == {"role": "user", "content": "Which?"}


async def test_an_error_with_pictures_explains_how_to_turn_them_off(protocol: Protocol) -> None:
    for status, kind in ((400, LLMRefused), (500, LLMUnavailable)):
        with ScriptedEndpoint(always(replies.fail(status, "no memory")), sees=True) as endpoint:
            llm = build_llm(endpoint.settings(protocol, retries=0))
            with pytest.raises(kind, match=r"carried a picture of a page\. .*CANDOR_LLM__VISION .* to 'off'"):
                await llm.complete(asked(), City)
            with pytest.raises(kind) as plain:
                await llm.complete([Message.user("Which?")], City)
        assert "picture" not in str(plain.value)


async def test_pictures_count_towards_the_context_window(protocol: Protocol) -> None:
    large = asked(make_png(1_400, 1_400))
    assert estimate_prompt(large) - estimate_prompt([Message.user("Which?")]) >= 50 * 50
    with ScriptedEndpoint(always(GRAZ), sees=True) as endpoint:
        llm = build_llm(endpoint.settings(protocol, context_window=2_000, max_output_tokens=500))
        with pytest.raises(PromptTooLong, match="lower `pictures_per_call`"):
            await llm.complete(large, City)
        await llm.complete(asked(), City)
    assert len(endpoint.requests) == 1


async def test_a_local_model_refuses_pictures() -> None:
    model = LocalModel(EndpointSettings(provider="local", model="any.gguf"))
    with pytest.raises(LLMRefused, match="It takes no pictures"):
        await model.send(EndpointRequest(tuple(asked()), {}, None))


def test_only_a_png_is_a_picture() -> None:
    assert (Picture.of(PNG).width, Picture.of(PNG).height, Picture.of(PNG).size) == (40, 30, len(PNG))
    with pytest.raises(ValueError, match="must be a PNG"):
        Picture.of(b"\xff\xd8\xff\xe0 a JPEG file, which no picture may be")


class TestJournal:
    """The journal keeps the hash of a picture, not the picture."""

    def test_a_message_without_pictures_is_stored_without_the_field(self) -> None:
        message = Message.user("Which?")
        assert message.model_dump() == {"role": "user", "content": "Which?"}
        assert message.model_dump_json() == '{"role":"user","content":"Which?"}'

    async def test_a_recorded_request_with_a_picture_is_not_sent_again(self, tmp_path: Path) -> None:
        journal = RecordedJournal()
        with ScriptedEndpoint(always(GRAZ), sees=True) as endpoint:
            llm = build_llm(endpoint.settings("openai"))
            await RunLLM(llm, RunCalls(journal)).complete(asked(), City)
            journal.dump(tmp_path / "journal.jsonl")
            loaded = RecordedJournal.load(tmp_path / "journal.jsonl")
            again = await RunLLM(llm, RunCalls(loaded)).complete(asked(), City)
            other = await RunLLM(llm, RunCalls(loaded)).complete(asked(make_png(41)), City)
        assert (again.replayed, other.replayed) == (True, False)
        stored = (tmp_path / "journal.jsonl").read_text()
        assert hashlib.sha256(PNG).hexdigest() in stored
        assert base64.b64encode(PNG).decode()[:20] not in stored
        [entry] = loaded.entries[:1]
        assert entry.messages[-1].pictures[0].png == b""

    async def test_a_replayed_run_knows_if_the_recorded_model_accepted_images(self) -> None:
        journal = RecordedJournal()
        with ScriptedEndpoint(always(GRAZ), sees=True) as endpoint:
            await RunLLM(build_llm(endpoint.settings("openai")), RunCalls(journal)).complete(asked(), City)
        replaying = ReplayingLLM(journal.entries, "scripted")
        assert await replaying.takes_pictures()
        assert (await replaying.complete(asked(), City)).value.city == "Graz"
        assert not await ReplayingLLM((), "scripted").takes_pictures()

    def test_a_recording_without_pictures_is_unchanged(self) -> None:
        lines = RECORDING.read_text(encoding="utf-8").splitlines()
        for line in lines:
            entry = JournalEntry.model_validate_json(line)
            assert not any(message.pictures for message in entry.messages)
            assert entry.model_dump_json() == line.replace('"cost":0.0', '"cost":null')  # no price was set

    def test_the_key_of_a_request_without_pictures_is_unchanged(self) -> None:
        """Old journals have no field for pictures. Their keys must match so that old runs can be resumed."""
        key = request_key("m", [Message.user("Which?")], City)
        before: dict[str, Any] = {
            "model": "m",
            "messages": [{"role": "user", "content": "Which?"}],
            "name": "City",
            "schema": City.model_json_schema(),
        }
        text = json.dumps(before, sort_keys=True, ensure_ascii=False)
        assert key == hashlib.sha256(text.encode()).hexdigest()
        assert request_key("m", asked(), City) != request_key("m", asked(make_png(41)), City)
