"""A journal: what it keeps, what it answers, and what a replay does without an answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import BaseModel, Field, field_validator

from multi_agent.bus import ALL, MessageBus
from multi_agent.errors import InvalidResponse, RecordingMissing
from multi_agent.llm.factory import build_llm
from multi_agent.llm.journal import JournalingLLM, RecordedJournal, request_key
from multi_agent.llm.llm import Message
from multi_agent.llm.observed import Meter, ObservedLLM
from multi_agent.llm.replay import ReplayingLLM
from support import scripted_endpoint as scripted
from support.scripted_endpoint import ScriptedEndpoint, always, in_turn
from support.service import until


class City(BaseModel):
    name: str = Field(alias="city")


GRAZ, LINZ = '{"city": "Graz"}', '{"city": "Linz"}'
QUESTION = [Message.system("You know Austria."), Message.user("Where is the clock tower?")]


async def test_a_finished_request_is_not_sent_twice() -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(in_turn(scripted.nonsense(), scripted.think_aloud(GRAZ, "Clock tower…"))) as endpoint:
        llm = build_llm(endpoint.settings("ollama"))
        first = await JournalingLLM(llm, journal).complete(QUESTION, City)
        again = await JournalingLLM(llm, journal).complete(QUESTION, City)
    assert len(endpoint.requests) == 2, "the first response was re-asked; the second request never left"
    assert (first.replayed, again.replayed) == (False, True)
    assert again.model_dump(exclude={"replayed"}) == first.model_dump(exclude={"replayed"})
    assert again.exchanges[1].thinking == "Clock tower…"
    assert again.usage.model_calls == 2


async def test_an_entry_tells_who_asked_what_and_what_came_back() -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(always(GRAZ)) as endpoint:
        llm = JournalingLLM(build_llm(endpoint.settings("openai")), journal).called_by("Guide")
        completion = await llm.complete(QUESTION, City)
    (entry,) = journal.entries
    assert (entry.caller, entry.model, entry.response_model) == ("Guide", "scripted", "City")
    assert entry.messages == tuple(QUESTION)
    assert entry.value == {"city": "Graz"}
    assert (entry.key, entry.occurrence) == (completion.key, completion.occurrence)
    assert entry.key == request_key("scripted", QUESTION, City)


async def test_equal_requests_of_one_run_are_told_apart_whoever_asks() -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(in_turn(GRAZ, LINZ)) as endpoint:
        run = JournalingLLM(build_llm(endpoint.settings("ollama")), journal)
        answers = [await run.called_by(name).complete(QUESTION, City) for name in ("Guide", "Critic")]
    assert [answer.value.name for answer in answers] == ["Graz", "Linz"]
    assert [entry.occurrence for entry in journal.entries] == [0, 1]


async def test_equal_requests_side_by_side_get_numbers_of_their_own() -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(lambda request: f'{{"city": "{request.number}"}}') as endpoint:
        llm = build_llm(endpoint.settings("ollama", parallel=8))
        run = JournalingLLM(llm, journal)
        answers = await asyncio.gather(*(run.complete(QUESTION, City) for _ in range(8)))
        resumed = JournalingLLM(llm, journal)
        again = await asyncio.gather(*(resumed.complete(QUESTION, City) for _ in range(8)))
    assert len(endpoint.requests) == 8
    assert sorted(entry.occurrence for entry in journal.entries) == list(range(8))
    assert [answer.value for answer in again] == [answer.value for answer in answers]


async def test_a_failed_request_is_not_recorded_and_keeps_its_number() -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(in_turn(scripted.nonsense(), GRAZ)) as endpoint:
        run = JournalingLLM(build_llm(endpoint.settings("ollama", response_retries=0)), journal)
        with pytest.raises(InvalidResponse):
            await run.complete(QUESTION, City)
        assert journal.entries == ()
        assert (await run.complete(QUESTION, City)).occurrence == 0


async def test_what_a_repeated_step_asks_again_is_answered_by_the_journal() -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(in_turn(GRAZ, LINZ, GRAZ)) as endpoint:
        run = JournalingLLM(build_llm(endpoint.settings("ollama")), journal)
        other, first_try, second_try = (run.called_by(name) for name in ("Critic", "Guide", "Guide"))
        before = await other.complete(QUESTION, City)
        found = await first_try.complete(QUESTION, City)
        first_try.release()
        again = await second_try.complete(QUESTION, City)
        further = await second_try.complete(QUESTION, City)
    assert (before.occurrence, found.occurrence) == (0, 1)
    assert (again.replayed, again.occurrence, again.value) == (True, 1, found.value)
    assert (further.replayed, further.occurrence) == (False, 2)
    assert len(endpoint.requests) == 3


async def test_a_run_counts_once_what_a_repeated_step_was_answered() -> None:
    bus, meter = MessageBus("run_1"), Meter()
    bus.subscribe(ALL, meter.listen)
    with ScriptedEndpoint(in_turn(GRAZ, LINZ)) as endpoint:
        run = JournalingLLM(build_llm(endpoint.settings("ollama")), RecordedJournal())
        first_try, second_try = run.called_by("Guide"), run.called_by("Guide")
        await ObservedLLM(first_try, "Guide", bus.publish).complete(QUESTION, City)
        first_try.release()
        observed = ObservedLLM(second_try, "Guide", bus.publish)
        answers = [await observed.complete(QUESTION, City) for _ in range(2)]
    assert [answer.replayed for answer in answers] == [True, False]
    assert meter.usage.model_calls == len(endpoint.requests) == 2


async def test_a_request_that_fails_after_a_release_leaves_the_number_to_who_has_it_now() -> None:
    with ScriptedEndpoint(in_turn(scripted.delayed(scripted.nonsense(), 0.2), GRAZ, LINZ)) as endpoint:
        run = JournalingLLM(build_llm(endpoint.settings("ollama", response_retries=0)), RecordedJournal())
        early, late = run.called_by("Guide"), run.called_by("Guide")
        failing = asyncio.create_task(early.complete(QUESTION, City))
        await asyncio.sleep(0)  # it has its number, and waits for the model
        early.release()
        await asyncio.to_thread(until, lambda: bool(endpoint.requests))  # the first answer is for the first one
        first = await late.complete(QUESTION, City)
        with pytest.raises(InvalidResponse):
            await failing
        assert (await late.complete(QUESTION, City)).occurrence == first.occurrence + 1


def test_a_key_changes_with_all_that_the_model_is_given() -> None:
    class Town(BaseModel):
        name: str

    keys = [
        request_key("a", QUESTION, City),
        request_key("b", QUESTION, City),
        request_key("a", QUESTION[1:], City),
        request_key("a", [QUESTION[0], Message.user("Where is the giant wheel?")], City),
        request_key("a", QUESTION, Town),
        request_key("a", QUESTION, City, varied=True),
    ]
    assert len(set(keys)) == len(keys)
    assert keys[0] == request_key("a", list(QUESTION), City)


def test_the_keys_of_old_recordings_hold() -> None:
    class Answer(BaseModel):
        name: str

    key = "ed52a3baa29cbd33a645c963e28c0edf851a3c6618e62c7c7b375901deaffa03"
    assert request_key("scripted", QUESTION, Answer) == key


async def test_a_recording_is_replayed_from_its_file_without_an_endpoint(tmp_path: Path) -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(in_turn(GRAZ, LINZ)) as endpoint:
        run = JournalingLLM(build_llm(endpoint.settings("ollama")), journal)
        live = [await run.complete(QUESTION, City) for _ in range(2)]
    journal.dump(tmp_path / "recording.jsonl")
    replay = ReplayingLLM(RecordedJournal.load(tmp_path / "recording.jsonl"), "scripted")
    replayed = [await replay.complete(QUESTION, City) for _ in range(2)]
    assert replay.model == "scripted"
    assert [answer.value for answer in replayed] == [answer.value for answer in live]
    assert [answer.usage for answer in replayed] == [answer.usage for answer in live]
    assert all(answer.replayed for answer in replayed)


async def test_a_run_over_a_replay_keeps_its_own_journal_and_knows_that_it_was_replayed() -> None:
    recording, journal = RecordedJournal(), RecordedJournal()
    with ScriptedEndpoint(always(GRAZ)) as endpoint:
        await JournalingLLM(build_llm(endpoint.settings("ollama")), recording).complete(QUESTION, City)
    completion = await JournalingLLM(ReplayingLLM(recording, "scripted"), journal).complete(QUESTION, City)
    assert completion.replayed
    assert [entry.value for entry in journal.entries] == [{"city": "Graz"}]


async def test_a_replay_without_an_answer_names_the_request() -> None:
    replay = ReplayingLLM(RecordedJournal(), "scripted")
    with pytest.raises(RecordingMissing) as caught:
        await replay.complete(QUESTION, City)
    for part in ("City", "Where is the clock tower?", request_key("scripted", QUESTION, City)[:12], "record it anew"):
        assert part in str(caught.value)


async def test_a_recorded_response_that_is_no_longer_valid_is_an_error() -> None:
    class Strict(City):
        @field_validator("name")
        @classmethod
        def _long(cls, value: str) -> str:
            if len(value) < 10:
                raise ValueError("too short")
            return value

    key = request_key("scripted", QUESTION, Strict)
    journal = RecordedJournal()
    with ScriptedEndpoint(always(GRAZ)) as endpoint:
        await JournalingLLM(build_llm(endpoint.settings("ollama")), journal).complete(QUESTION, City)
    stale = RecordedJournal([journal.entries[0].model_copy(update={"key": key})])
    with pytest.raises(RecordingMissing, match="no valid City any more"):
        await ReplayingLLM(stale, "scripted").complete(QUESTION, Strict)
