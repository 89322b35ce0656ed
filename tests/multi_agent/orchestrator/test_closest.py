"""Closest matches to missing answers, and questions that say what to answer if nothing is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from multi_agent.grounding.confidence import SHARE_RIGHT, Signal
from multi_agent.llm.settings import EndpointSettings
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Nearest, Status
from multi_agent.values.request import Request as Asked
from support import replies
from support.panel import PLANNER, READING, REVISION, SYNTHESIS, Panel, Role, revised, step, synthesis
from support.replies import Request

QUESTION = "Down to which temperature does the Borea 14 work?"
OTHERWISE = "Who signed the lease of the office? If it is not available, return N/A."
DIFFERENCE = "of the Borea 12, not the Borea 14"
CLOSEST = {"text": "The Borea 12 works down to -25 °C.", "quotes": [{"passage": "manual.pdf", "quote": "-25 °C"}]}
NOTHING = synthesis([], sufficient=False)
MakePanel = Callable[..., Orchestrator]
Serve = Callable[..., EndpointSettings]


def coming_close(request: Request) -> str:
    return json.dumps({**synthesis([CLOSEST], sufficient=False, short="-25 °C"), "missing": DIFFERENCE})


def finding_nothing(request: Request) -> str:
    return json.dumps({**synthesis([], sufficient=True, short="N/A"), "missing": "who signed the lease"})


def reading(role: Role) -> Panel:
    return Panel(roles={READING: role})


async def test_the_closest_match_is_in_a_separate_field(panel: MakePanel, serve: Serve) -> None:
    answer = await panel(serve(reading(coming_close))).research(Asked(question=QUESTION, mode="fast"))
    assert (answer.status, answer.short) == (Status.INSUFFICIENT, "")
    assert answer.nearest == Nearest(answer="-25 °C", difference=DIFFERENCE)
    assert [claim.text for claim in answer.claims] == ["The Borea 12 works down to -25 °C."]
    assert answer.cited[0].quote == "The Borea 12 works down to -25 °C."


async def test_a_strict_request_gets_no_closest_match(panel: MakePanel, serve: Serve) -> None:
    answer = await panel(serve(reading(coming_close))).research(Asked(question=QUESTION, mode="fast", strict=True))
    assert (answer.status, answer.short, answer.answer) == (Status.INSUFFICIENT, "", "")
    assert (answer.nearest, answer.claims, answer.evidence) == (None, (), ())
    assert answer.missing == (DIFFERENCE,), "the answer still names what is missing"


async def test_an_unsupported_claim_is_not_a_closest_match(panel: MakePanel, serve: Serve) -> None:
    def guess(request: Request) -> str:
        return json.dumps(
            synthesis([{**CLOSEST, "text": "It works down to -40 °C."}], sufficient=False, short="-40 °C")
        )

    answer = await panel(serve(reading(guess))).research(Asked(question=QUESTION, mode="fast"))
    assert (answer.status, answer.nearest) == (Status.INSUFFICIENT, None)


async def test_the_question_says_what_to_answer_if_nothing_is_found(panel: MakePanel, serve: Serve) -> None:
    answer = await panel(serve(reading(finding_nothing))).research(Asked(question=OTHERWISE, mode="fast"))
    assert (answer.status, answer.short, answer.answer) == (Status.ANSWERED, "N/A", "N/A")
    assert (answer.claims, answer.evidence, answer.nearest) == ((), (), None)
    assert answer.confidence == SHARE_RIGHT[Signal.ABSENT]
    assert answer.looked_for == ("Who signed the lease of the office?",)
    assert answer.found.startswith("Read ")
    assert answer.missing == ("who signed the lease",)


async def test_a_claim_that_only_repeats_that_answer_is_dropped(panel: MakePanel, serve: Serve) -> None:
    def repeat(request: Request) -> str:
        return json.dumps({**json.loads(finding_nothing(request)), "claims": [{"text": "N/A.", "sentences": []}]})

    answer = await panel(serve(reading(repeat))).research(Asked(question=OTHERWISE, mode="fast"))
    assert (answer.status, answer.answer, answer.claims) == (Status.ANSWERED, "N/A", ())


async def test_without_such_an_instruction_nothing_found_is_insufficient(panel: MakePanel, serve: Serve) -> None:
    answer = await panel(serve(reading(finding_nothing))).research(Asked(question="Who signed it?", mode="fast"))
    assert answer.status is Status.INSUFFICIENT


async def test_a_plan_is_not_revised_if_the_question_says_what_to_answer(
    panel: MakePanel, serve: Serve, trace: Trace
) -> None:
    script = Panel("-25 °C", roles={SYNTHESIS: finding_nothing})
    answer = await panel(serve(script)).research(OTHERWISE)
    assert (answer.status, answer.short, answer.summary.attempts) == (Status.ANSWERED, "N/A", 1)
    assert not [event for event in trace.events(answer.run_id) if event.body.type == "revision_declined"]


async def test_a_revision_sees_the_closest_match_and_the_read_passages(panel: MakePanel, serve: Serve) -> None:
    asked: list[str] = []

    def revise(request: Request) -> str:
        asked.append(request.prompt)
        return json.dumps(revised(step("again", "Reader", inputs={"question": QUESTION, "queries": []})))

    roles: dict[str, Role] = {READING: coming_close, REVISION: revise}
    roles |= {PLANNER: replies.always(json.dumps(_two_readers())), SYNTHESIS: replies.always(json.dumps(NOTHING))}
    script = Panel(roles=roles)
    answer = await panel(serve(script), max_revisions=1).research(QUESTION)
    assert (answer.status, answer.summary.attempts) == (Status.INSUFFICIENT, 2)
    assert answer.nearest == Nearest(answer="-25 °C", difference=DIFFERENCE), "a revised plan may end in a Reader"
    assert f"→ not found; closest: -25 °C ({DIFFERENCE})" in asked[0]
    assert "Read so far:\n- " in asked[0]
    assert " of 1 passages" in asked[0]


def _two_readers() -> dict[str, Any]:
    readers = [step(name, "Reader", inputs={"question": QUESTION, "queries": []}) for name in ("one", "two")]
    return {"intent": "know", "requirements": ["the fact"], "steps": [*readers, step("end", "Synthesizer")]}
