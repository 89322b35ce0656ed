"""The journal: what it records, what it answers, and how equal requests are numbered."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from multi_agent.errors import InvalidResponse
from multi_agent.llm.models import build_llm
from multi_agent.llm.wrappers.journal import JournalEntry, Occurrences, RecordedJournal, RunCalls, RunLLM, request_key
from multi_agent.llm.wrappers.usage import Meter
from multi_agent.model import LLMRequest, Message
from multi_agent.values.bus import ALL, MessageBus
from support import replies
from support.replies import always, in_turn
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import until


class City(BaseModel):
    name: str = Field(alias="city")


GRAZ, LINZ = '{"city": "Graz"}', '{"city": "Linz"}'
QUESTION = [Message.system("You know Austria."), Message.user("Where is the clock tower?")]


async def test_an_answered_request_is_not_sent_again() -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(in_turn(replies.nonsense(), replies.think_aloud(GRAZ, "Clock tower…"))) as endpoint:
        llm = build_llm(endpoint.settings("ollama"))
        first = await RunLLM(llm, RunCalls(journal)).complete(QUESTION, City)
        again = await RunLLM(llm, RunCalls(journal)).complete(QUESTION, City)
    assert len(endpoint.requests) == 2, "one request and its retry after an invalid response"
    assert (first.replayed, again.replayed) == (False, True)
    assert again.model_dump(exclude={"replayed"}) == first.model_dump(exclude={"replayed"})
    assert again.exchanges[1].thinking == "Clock tower…"
    assert again.usage.model_calls == 2


async def test_an_entry_has_caller_request_and_response() -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(always(GRAZ)) as endpoint:
        llm = RunLLM(build_llm(endpoint.settings("openai")), RunCalls(journal), "Guide")
        completion = await llm.complete(QUESTION, City)
    (entry,) = journal.entries
    assert (entry.caller, entry.model, entry.response_model) == ("Guide", "scripted", "City")
    assert entry.messages == tuple(QUESTION)
    assert entry.value == {"city": "Graz"}
    assert (entry.key, entry.occurrence) == (completion.key, completion.occurrence)
    assert entry.key == request_key("scripted", QUESTION, City)


async def test_equal_requests_are_numbered_over_all_callers() -> None:
    journal, occurrences = RecordedJournal(), Occurrences()
    with ScriptedEndpoint(in_turn(GRAZ, LINZ)) as endpoint:
        llm = build_llm(endpoint.settings("ollama"))
        answers = [
            await RunLLM(llm, RunCalls(journal, occurrences=occurrences)).complete(QUESTION, City) for _ in range(2)
        ]
    assert [answer.value.name for answer in answers] == ["Graz", "Linz"]
    assert [entry.occurrence for entry in journal.entries] == [0, 1]


async def test_concurrent_equal_requests_get_different_numbers() -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(lambda request: f'{{"city": "{request.number}"}}') as endpoint:
        llm = build_llm(endpoint.settings("ollama", parallel=8))
        run = RunLLM(llm, RunCalls(journal))
        answers = await asyncio.gather(*(run.complete(QUESTION, City) for _ in range(8)))
        resumed = RunLLM(llm, RunCalls(journal))
        again = await asyncio.gather(*(resumed.complete(QUESTION, City) for _ in range(8)))
    assert len(endpoint.requests) == 8
    assert sorted(entry.occurrence for entry in journal.entries) == list(range(8))
    assert [answer.value for answer in again] == [answer.value for answer in answers]


async def test_a_failed_request_is_not_recorded_and_frees_its_number() -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(in_turn(replies.nonsense(), GRAZ)) as endpoint:
        run = RunLLM(build_llm(endpoint.settings("ollama", response_retries=0)), RunCalls(journal))
        with pytest.raises(InvalidResponse):
            await run.complete(QUESTION, City)
        assert journal.entries == ()
        assert (await run.complete(QUESTION, City)).occurrence == 0


async def test_the_journal_answers_the_requests_of_a_repeated_step() -> None:
    journal, occurrences = RecordedJournal(), Occurrences()
    with ScriptedEndpoint(in_turn(GRAZ, LINZ, GRAZ)) as endpoint:
        llm = build_llm(endpoint.settings("ollama"))
        other, first_attempt, second_attempt = (
            RunLLM(llm, RunCalls(journal, occurrences=occurrences)) for _ in range(3)
        )
        before = await other.complete(QUESTION, City)
        found = await first_attempt.complete(QUESTION, City)
        first_attempt.release()
        again = await second_attempt.complete(QUESTION, City)
        further = await second_attempt.complete(QUESTION, City)
    assert (before.occurrence, found.occurrence) == (0, 1)
    assert (again.replayed, again.occurrence, again.value) == (True, 1, found.value)
    assert (further.replayed, further.occurrence) == (False, 2)
    assert len(endpoint.requests) == 3


async def test_usage_counts_the_requests_of_a_repeated_step_once() -> None:
    bus, meter = MessageBus("run_1"), Meter()
    bus.subscribe(ALL, meter.listen)
    journal, occurrences = RecordedJournal(), Occurrences()
    with ScriptedEndpoint(in_turn(GRAZ, LINZ)) as endpoint:
        llm = build_llm(endpoint.settings("ollama"))
        calls = RunCalls(journal, occurrences=occurrences)
        first_attempt, second_attempt = (RunLLM(llm, calls, publish=bus.publish) for _ in range(2))
        await first_attempt.complete(QUESTION, City)
        first_attempt.release()
        answers = [await second_attempt.complete(QUESTION, City) for _ in range(2)]
    assert [answer.replayed for answer in answers] == [True, False]
    assert meter.usage.model_calls == len(endpoint.requests) == 2


async def test_a_failure_after_release_does_not_free_a_number_in_use() -> None:
    occurrences, journal = Occurrences(), RecordedJournal()
    with ScriptedEndpoint(in_turn(replies.delayed(replies.nonsense(), 0.2), GRAZ, LINZ)) as endpoint:
        llm = build_llm(endpoint.settings("ollama", response_retries=0))
        early, late = (RunLLM(llm, RunCalls(journal, occurrences=occurrences)) for _ in range(2))
        failing = asyncio.create_task(early.complete(QUESTION, City))
        await asyncio.sleep(0)  # the request has its number and waits for the model
        early.release()
        await asyncio.to_thread(until, lambda: bool(endpoint.requests))  # the first reply belongs to ``failing``
        first = await late.complete(QUESTION, City)
        with pytest.raises(InvalidResponse):
            await failing
        assert (await late.complete(QUESTION, City)).occurrence == first.occurrence + 1


def test_the_key_depends_on_everything_that_the_model_gets() -> None:
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


def test_keys_of_existing_recordings_remain_valid() -> None:
    class Answer(BaseModel):
        name: str

    key = "ed52a3baa29cbd33a645c963e28c0edf851a3c6618e62c7c7b375901deaffa03"
    assert request_key("scripted", QUESTION, Answer) == key


async def test_a_journal_can_be_saved_and_loaded(tmp_path: Path) -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(in_turn(GRAZ, LINZ)) as endpoint:
        llm = RunLLM(build_llm(endpoint.settings("ollama")), RunCalls(journal))
        for _ in range(2):
            await llm.complete(QUESTION, City)
    journal.dump(tmp_path / "recording.jsonl")
    assert RecordedJournal.load(tmp_path / "recording.jsonl").entries == journal.entries


class _EarlierRun(RecordedJournal):
    """Has an earlier response that is no longer valid, after a while."""

    def earlier(self, key: str) -> JournalEntry | None:
        time.sleep(0.2)
        return self._earlier.model_copy(update={"key": key, "value": {"town": "Graz"}})

    def __init__(self, entry: JournalEntry) -> None:
        super().__init__()
        self._earlier = entry


async def test_an_earlier_response_that_is_no_longer_valid_is_not_reused() -> None:
    journal = RecordedJournal()
    with ScriptedEndpoint(in_turn(GRAZ, LINZ)) as endpoint:
        llm = build_llm(endpoint.settings("ollama"))
        await RunLLM(llm, RunCalls(journal)).complete(QUESTION, City)
        run = RunLLM(llm, RunCalls(_EarlierRun(journal.entries[0])))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run.answer(LLMRequest(tuple(QUESTION), City, reuse=True)), 0.05)
        completion = await run.answer(LLMRequest(tuple(QUESTION), City, reuse=True))
    assert (completion.value.name, completion.occurrence) == ("Linz", 0)
