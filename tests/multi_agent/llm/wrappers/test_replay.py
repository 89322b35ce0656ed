"""A replay matches calls by caller and response type, and reports prompts that changed since the recording."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel, field_validator

from multi_agent.errors import RecordingMissing
from multi_agent.llm.models import build_llm
from multi_agent.llm.wrappers.journal import JournalEntry, RecordedJournal, RunCalls, RunLLM, request_key
from multi_agent.llm.wrappers.replay import DriftedCall, ReplayingLLM
from multi_agent.model import LLM, Message
from support.scripted_endpoint import ScriptedEndpoint


class City(BaseModel):
    name: str


class River(BaseModel):
    name: str


def question(text: str, system: str = "You know Austria.") -> list[Message]:
    return [Message.system(system), Message.user(text)]


CLOCK_TOWER, GIANT_WHEEL = "Where is the clock tower?", "Where is the giant wheel?"


async def record(*calls: tuple[str, list[Message], type[BaseModel]]) -> tuple[JournalEntry, ...]:
    """Make these calls, each with its caller, and return their entries. The names are numbered from 1."""
    journal = RecordedJournal()
    with ScriptedEndpoint(lambda request: f'{{"name": "{request.number}"}}') as endpoint:
        llm, run = build_llm(endpoint.settings("ollama")), RunCalls(journal)
        for caller, messages, response_model in calls:
            await RunLLM(llm, run, caller).complete(messages, response_model)
    return journal.entries


async def names(llm: LLM, *calls: tuple[str, list[Message], type[City] | type[River]]) -> list[str]:
    completions = [
        await RunLLM(llm, RunCalls(), caller).complete(messages, wanted) for caller, messages, wanted in calls
    ]
    assert all(completion.replayed for completion in completions)
    return [str(completion.value.name) for completion in completions]


async def test_the_same_calls_replay_without_drift() -> None:
    calls = [("Guide", question(CLOCK_TOWER), City)] * 2 + [("Guide", question(CLOCK_TOWER), River)]
    replay = ReplayingLLM(await record(*calls), "scripted")
    assert await names(replay, calls[2], calls[0], calls[1]) == ["3", "1", "2"]
    assert replay.drifted == []


async def test_a_changed_prompt_replays_and_is_reported() -> None:
    entries = await record(("Guide", question(CLOCK_TOWER), City), ("Critic", question(CLOCK_TOWER), City))
    replay = ReplayingLLM(entries, "scripted")
    changed = question(CLOCK_TOWER, system="You know all of Austria.")
    assert await names(replay, ("Critic", question(CLOCK_TOWER), City), ("Guide", changed, City)) == ["2", "1"]
    key = request_key("scripted", changed, City)
    assert replay.drifted == [DriftedCall(caller="Guide", response_model="City", recorded_key=entries[0].key, key=key)]


async def test_changed_prompts_match_the_most_similar_ones() -> None:
    """Parallel calls of one caller are recorded in the order of their responses."""
    entries = await record(("Guide", question(GIANT_WHEEL), City), ("Guide", question(CLOCK_TOWER), City))
    replay = ReplayingLLM(entries, "scripted")
    changed = [("Guide", question(text, system="Be brief."), City) for text in (CLOCK_TOWER, GIANT_WHEEL)]
    assert await names(replay, *changed) == ["2", "1"]
    assert len(replay.drifted) == 2


async def test_equally_similar_prompts_match_in_the_recorded_order() -> None:
    entries = await record(("Guide", question(GIANT_WHEEL), City), ("Guide", question(CLOCK_TOWER), City))
    other = ("Guide", question("Where is the opera?", system="Be brief."), City)
    assert await names(ReplayingLLM(entries, "scripted"), other, other) == ["1", "2"]


async def test_concurrent_calls_each_get_a_response() -> None:
    entries = await record(*[("Guide", question(CLOCK_TOWER), City)] * 4)
    llm = RunLLM(ReplayingLLM(entries, "scripted"), RunCalls(), "Guide")
    completions = await asyncio.gather(*(llm.complete(question(CLOCK_TOWER), City) for _ in range(4)))
    assert sorted(completion.value.name for completion in completions) == list("1234")


@pytest.mark.parametrize(("caller", "wanted"), [("Critic", City), ("Guide", River)])
async def test_a_call_without_a_recorded_response_is_an_error(caller: str, wanted: type[City] | type[River]) -> None:
    entries = await record(("Guide", question(CLOCK_TOWER), City))
    with pytest.raises(RecordingMissing) as caught:
        await names(ReplayingLLM(entries, "scripted"), (caller, question(CLOCK_TOWER), wanted))
    for part in (caller, wanted.__name__, CLOCK_TOWER, "live model"):
        assert part in str(caught.value)


async def test_each_response_is_replayed_once() -> None:
    call = ("Guide", question(CLOCK_TOWER), City)
    replay = ReplayingLLM(await record(call), "scripted")
    await names(replay, call)
    with pytest.raises(RecordingMissing, match="no response left"):
        await names(replay, call)


async def test_a_recorded_response_that_is_no_longer_valid_is_an_error() -> None:
    entries = await record(("Guide", question(CLOCK_TOWER), City))

    class LongName(City):
        @field_validator("name")
        @classmethod
        def _is_long(cls, value: str) -> str:
            if len(value) < 10:
                raise ValueError("too short")
            return value

    LongName.__name__ = "City"
    with pytest.raises(RecordingMissing, match="of 'Guide' is not a valid City"):
        await names(ReplayingLLM(entries, "scripted"), ("Guide", question(CLOCK_TOWER), LongName))


async def test_a_replayed_run_keeps_its_own_journal() -> None:
    entries, journal = await record(("Guide", question(CLOCK_TOWER), City)), RecordedJournal()
    changed = question(CLOCK_TOWER, system="Be brief.")
    llm = RunLLM(ReplayingLLM(entries, "scripted"), RunCalls(journal), "Guide")
    completion = await llm.complete(changed, City)
    assert (completion.replayed, completion.usage) == (True, entries[0].usage)
    assert [(entry.messages, entry.value) for entry in journal.entries] == [(tuple(changed), {"name": "1"})]
    assert journal.entries[0].key == request_key("scripted", changed, City)
