"""The events of model calls, and the faults that they count."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import BaseModel

from multi_agent.llm.wrappers.journal import JournalEntry, RecordedJournal, RunCalls, RunLLM, request_key
from multi_agent.llm.wrappers.replay import ReplayingLLM
from multi_agent.llm.wrappers.usage import ResponseFaults, count_faults
from multi_agent.model import Message, ModelResponse, Usage
from multi_agent.values.bus import ALL, MessageBus
from multi_agent.values.events import Body, Event, ModelCalled, ModelFailed, ResponseRepaired, RunResumed

QUESTION = [Message.user("Where is the clock tower?")]
REPAIRED = ResponseRepaired(caller="Guide", repairs=("year: read '1712' as 1712", "dropped the unknown field 'note'"))


class City(BaseModel):
    name: str


def make_event(number: int, body: Body) -> Event:
    return Event(run_id="run_1", number=number, at=datetime.now(UTC), body=body)


def called(*faults: str) -> ModelCalled:
    return ModelCalled(
        caller="Guide", model="scripted", key="", occurrence=0, replayed=False, usage=Usage(), faults=faults
    )


def failed(error_type: str, *faults: str) -> ModelFailed:
    return ModelFailed(
        caller="Guide", model="scripted", error_type=error_type, error="failed", usage=Usage(), faults=faults
    )


async def test_repairs_are_published_before_the_call() -> None:
    entry = JournalEntry(
        key=request_key("scripted", QUESTION, City),
        occurrence=0,
        model="scripted",
        messages=tuple(QUESTION),
        response_model="City",
        value={"name": "Graz"},
        exchanges=(
            ModelResponse(response="Graz", fault="no JSON"),
            ModelResponse(response='{"name": "Graz"},', repairs=REPAIRED.repairs),
        ),
        usage=Usage(),
        recorded_at=datetime.now(UTC),
    )
    bus, seen = MessageBus("run_1"), list[Event]()

    async def collect(event: Event) -> None:
        seen.append(event)

    bus.subscribe(ALL, collect)
    llm = RunLLM(ReplayingLLM([], "scripted"), RunCalls(RecordedJournal([entry])), publish=bus.publish)
    await llm.complete(QUESTION, City)
    assert [event.body.type for event in seen] == ["response_repaired", "model_called"]
    assert seen[0].body == REPAIRED.model_copy(update={"caller": ""})
    assert count_faults(seen) == ResponseFaults(repairs=2, rejected=1)


def test_a_failed_call_counts_if_its_responses_were_invalid() -> None:
    bodies = (failed("InvalidResponse", "no JSON", "no JSON"), failed("LLMTimeout", "no JSON", ""), called())
    events = [make_event(number, body) for number, body in enumerate(bodies, start=1)]
    assert count_faults(events) == ResponseFaults(rejected=3, failed=1)


def test_the_faults_of_a_resumed_run_count_once() -> None:
    bodies = (REPAIRED, called("no JSON"), RunResumed(times=1, answered=1), REPAIRED, called("no JSON"), called())
    events = [make_event(number, body) for number, body in enumerate(bodies, start=1)]
    assert count_faults(events) == ResponseFaults(repairs=2, rejected=1)
