"""The pace of models: what earlier calls tell about the duration of the next one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from multi_agent.errors import BudgetReached
from multi_agent.llm.models import build_llm
from multi_agent.llm.wrappers.journal import RecordedJournal, RunCalls, RunLLM
from multi_agent.llm.wrappers.usage import Pace
from multi_agent.model import Message, Usage
from multi_agent.settings.research import Budget
from multi_agent.values.bus import ALL, MessageBus
from multi_agent.values.events import Body, Event, ModelAsked, ModelCalled
from support.replies import always
from support.scripted_endpoint import ScriptedEndpoint


class City(BaseModel):
    city: str


GRAZ = '{"city": "Graz"}'
QUESTION = [Message.system("You know Austria."), Message.user("Where is the clock tower?")]


def call(caller: str, prompt: int, completion: int, seconds: float, *, replayed: bool = False) -> ModelCalled:
    usage = Usage(model_calls=1, prompt_tokens=prompt, completion_tokens=completion, seconds=seconds)
    return ModelCalled(caller=caller, model="small", key="k", occurrence=0, replayed=replayed, usage=usage)


def pace_after(*bodies: Body) -> Pace:
    return Pace(
        Event(run_id="run_1", number=number, at=datetime.now(UTC), body=body) for number, body in enumerate(bodies, 1)
    )


def test_nothing_is_expected_before_the_first_call() -> None:
    asked = Pace().expect("small", "Reader", 500)
    assert (asked.expected_seconds, asked.tokens_per_second) == (None, None)
    assert pace_after(call("Reader", 500, 50, 0.0, replayed=True)).expect("small", "Reader", 500) == asked
    assert pace_after(call("Reader", 500, 50, 9.0)).expect("large", "Reader", 500).expected_seconds is None


def test_an_equal_call_is_expected_to_take_as_long() -> None:
    asked = pace_after(call("Reader", 1000, 50, 10.0)).expect("small", "Reader", 1000)
    assert (asked.expected_seconds, asked.tokens_per_second) == (10.0, 5.0)


def test_the_length_of_a_callers_responses_counts() -> None:
    pace = pace_after(call("Planner", 1000, 250, 60.0), call("Triage", 1000, 10, 12.0))
    planner, triage, reader = (
        pace.expect("small", caller, 1000).expected_seconds for caller in ("Planner", "Triage", "Reader")
    )
    assert (planner, triage) == (60.0, 12.0)
    assert reader
    assert triage < reader < planner, "a caller without earlier calls gets the average"


def test_recent_calls_count_more() -> None:
    slow, fast = call("Reader", 1000, 50, 100.0), call("Reader", 1000, 50, 10.0)
    pace = pace_after(slow, *[fast] * 10)
    expected = pace.expect("small", "Reader", 1000).expected_seconds
    assert expected
    assert 10 < expected < 15


def test_a_longer_prompt_takes_longer_and_is_compared_by_its_estimate() -> None:
    asked = ModelAsked(caller="Reader", model="small", prompt_tokens=1300)
    pace = pace_after(asked, call("Reader", 1000, 50, 10.0))
    same, longer = (pace.expect("small", "Reader", tokens).expected_seconds for tokens in (1300, 2600))
    assert same == 10.0
    assert longer
    assert 10 < longer < 20


async def test_a_call_is_announced_unless_the_journal_or_the_budget_ends_it() -> None:
    events: list[Event] = []
    bus, pace = MessageBus("run_1"), Pace()

    async def keep(event: Event) -> None:
        events.append(event)

    bus.subscribe(ALL, pace.listen)
    bus.subscribe(ALL, keep)
    with ScriptedEndpoint(always(GRAZ)) as endpoint:
        model = build_llm(endpoint.settings("openai"))

        async def ask(journal: RecordedJournal, budget: Budget) -> None:
            calls = RunCalls(journal, budget, pace=pace)
            await RunLLM(model, calls, "Guide", bus.publish).complete(QUESTION, City)

        journal = RecordedJournal()
        await ask(journal, Budget())
        await ask(journal, Budget())
        with pytest.raises(BudgetReached):
            await ask(RecordedJournal(), Budget(tokens=1))
        await ask(RecordedJournal(), Budget())
    bodies = [event.body for event in events]
    assert [body.type for body in bodies] == [
        "model_asked",
        "model_called",
        "model_called",
        "model_asked",
        "model_called",
    ]
    first, later = bodies[0], bodies[3]
    assert isinstance(first, ModelAsked)
    assert isinstance(later, ModelAsked)
    assert (first.caller, first.model, first.expected_seconds) == ("Guide", "scripted", None)
    assert first.prompt_tokens > 5
    assert later.expected_seconds is not None
