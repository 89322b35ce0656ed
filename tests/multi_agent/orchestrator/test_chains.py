"""Chains of Readers: what one step found goes into the next, over several attempts, and into the answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from multi_agent.llm.settings import EndpointSettings
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Status
from support import replies
from support.panel import PLANNER, READING, REVISION, SYNTHESIS, Panel, Role, planned, reading, revised, step, synthesis
from support.replies import Request

QUESTION = "How long is the dish baked whose page follows the Borea 12?"
COLD = "The Borea 12 works down to -25 °C."
BAKED = "Bake for 40 minutes at 180 °C."
FIRST = reading("model", "Which model works down to -25 °C?")
SECOND = reading("time", "How long is it baked after @{outputs.model.answer}?")
MakePanel = Callable[..., Orchestrator]
Serve = Callable[..., EndpointSettings]


def said(name: str, text: str, short: str, *, sufficient: bool = True, missing: str = "") -> dict[str, Any]:
    claims = [{"text": text, "quotes": [{"passage": name, "quote": text}]}]
    return {**synthesis(claims, sufficient=sufficient, short=short), "missing": missing}


MODEL = said("manual.pdf", COLD, "Borea 12")
TIME = said("recipe.md", BAKED, "40 minutes")


def readers(asked: list[str], *, first: Any = MODEL, second: Any = TIME) -> Role:
    """Readers of the two questions, and a record of the questions."""

    def read(request: Request) -> str:
        asked.append(request.prompt.rpartition("a part of it: ")[2].splitlines()[0])
        return json.dumps(first if asked[-1].startswith("Which") else second)

    return read


def chain(*steps: dict[str, Any]) -> Role:
    return replies.always(json.dumps(planned(*(steps or (FIRST, SECOND)))))


async def test_the_last_reader_of_a_chain_answers(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    asked: list[str] = []
    answer = await panel(serve(Panel(roles={PLANNER: chain(), READING: readers(asked)}))).research(QUESTION)
    assert (answer.status, answer.short) == (Status.ANSWERED, "40 minutes")
    assert asked == ["Which model works down to -25 °C?", "How long is it baked after Borea 12?"]
    assert answer.answer == f"{COLD} [1] {BAKED} [2]", "the claim that led to it comes first"
    assert [quote.name for quote in answer.cited] == ["manual.pdf", "recipe.md"]
    assert not [event for event in trace.events(answer.run_id) if event.step == "answer"]
    assert answer.usage.model_calls == 4, "triage, plan and two readings"


async def test_readers_of_separate_questions_are_drawn_together(panel: MakePanel, serve: Serve) -> None:
    parts = chain(FIRST, reading("time", "How long is it baked?"))
    answer = await panel(serve(Panel("40 minutes", roles={PLANNER: parts}))).research(QUESTION)
    assert answer.answer.startswith("It says so"), "the Synthesizer wrote it"


async def test_the_planner_marks_the_step_that_answers(panel: MakePanel, serve: Serve) -> None:
    def plan(request: Request) -> str:
        assert request.schema
        assert "final" in request.schema["$defs"]["ReaderStep"]["properties"]
        return json.dumps(planned(FIRST, {**reading("time", "How long is it baked?"), "final": True}))

    asked: list[str] = []
    answer = await panel(serve(Panel(roles={PLANNER: plan, READING: readers(asked)}))).research(QUESTION)
    assert (answer.status, len(asked)) == (Status.ANSWERED, 2)
    assert answer.answer == f"{COLD} [1] {BAKED} [2]"
    assert answer.usage.model_calls == 4, "nobody writes another answer"


async def test_the_closest_answer_goes_into_the_next_step(panel: MakePanel, serve: Serve) -> None:
    asked: list[str] = []
    close = said("manual.pdf", COLD, "Borea 12", sufficient=False, missing="a model, not a dish")
    script = Panel(roles={PLANNER: chain(), READING: readers(asked, first=close)})
    answer = await panel(serve(script)).research(QUESTION)
    assert asked[1] == "How long is it baked after Borea 12?"
    assert answer.status is Status.INSUFFICIENT, "without a Synthesizer nothing judges what follows from it"
    assert answer.nearest
    assert answer.missing == ("Which model works down to -25 °C?: not found; closest: Borea 12 (a model, not a dish)",)


async def test_the_synthesizer_judges_what_follows_from_a_close_answer(panel: MakePanel, serve: Serve) -> None:
    shown: list[str] = []

    def judge(request: Request) -> str:
        shown.append(request.prompt)
        return json.dumps(synthesis([{"text": BAKED, "evidence": [2]}], sufficient=True, short="40 minutes"))

    close = said("manual.pdf", COLD, "Borea 12", sufficient=False, missing="a model, not a dish")
    plan = chain(FIRST, SECOND, step("end", "Synthesizer"))
    script = Panel(roles={PLANNER: plan, READING: readers([], first=close), SYNTHESIS: judge})
    answer = await panel(serve(script)).research(QUESTION)
    assert (answer.status, answer.short) == (Status.ANSWERED, "40 minutes")
    assert "not found; closest: Borea 12 (a model, not a dish)" in shown[0]


async def test_a_finished_step_does_not_run_again(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    asked: list[str] = []
    other = reading("time", "For how many minutes is it in the oven after @{outputs.model.answer}?")
    nothing = synthesis([], sufficient=False)
    answers = iter((nothing, TIME))

    def read(request: Request) -> str:
        asked.append(request.prompt.rpartition("a part of it: ")[2].splitlines()[0])
        return json.dumps(MODEL if asked[-1].startswith("Which") else next(answers))

    roles: dict[str, Role] = {PLANNER: chain(), READING: read}
    roles[REVISION] = replies.always(json.dumps(revised(FIRST, other)))
    answer = await panel(serve(Panel(roles=roles))).research(QUESTION)
    assert (answer.status, answer.summary.attempts) == (Status.ANSWERED, 2)
    assert asked.count("Which model works down to -25 °C?") == 1
    assert asked[-1] == "For how many minutes is it in the oven after Borea 12?"
    skipped = [each for each in trace.events(answer.run_id) if each.body.type == "step_skipped"]
    assert [(each.step, "has finished this step" in str(each.body)) for each in skipped] == [("model", True)]


async def test_a_revised_plan_refers_to_an_earlier_output(panel: MakePanel, serve: Serve) -> None:
    asked: list[str] = []
    shown: list[str] = []
    answers = iter((synthesis([], sufficient=False), TIME))

    def read(request: Request) -> str:
        asked.append(request.prompt.rpartition("a part of it: ")[2].splitlines()[0])
        return json.dumps(MODEL if asked[-1].startswith("Which") else next(answers))

    def revise(request: Request) -> str:
        shown.append(request.prompt)
        return json.dumps(revised(reading("minutes", "How many minutes after @{outputs.model.answer}?")))

    answer = await panel(serve(Panel(roles={PLANNER: chain(), READING: read, REVISION: revise}))).research(QUESTION)
    assert "@{outputs.model.answer} = “Borea 12”" in shown[0]
    assert asked[-1] == "How many minutes after Borea 12?"
    assert (answer.status, answer.answer) == (Status.ANSWERED, f"{COLD} [1] {BAKED} [2]")


async def test_the_reviser_sees_why_a_claim_was_refused(panel: MakePanel, serve: Serve) -> None:
    shown: list[str] = []
    wrong = said("manual.pdf", "The Borea 12 works down to -40 °C.", "-40 °C")
    wrong["claims"][0]["quotes"][0]["quote"] = COLD

    def revise(request: Request) -> str:
        shown.append(request.prompt)
        return json.dumps({"diagnosis": "It is not there.", "try_again": False, "steps": []})

    script = Panel(roles={PLANNER: chain(FIRST), READING: readers([], first=wrong), REVISION: revise})
    answer = await panel(serve(script)).research(QUESTION)
    assert answer.status is Status.INSUFFICIENT
    assert "→ not found; refused: " in shown[0]
    assert "The Borea 12 works down to -40 °C." in shown[0]


async def test_a_plan_without_steps_is_one_reader(panel: MakePanel, serve: Serve) -> None:
    script = Panel("-25 °C", roles={PLANNER: replies.always(json.dumps(planned()))})
    answer = await panel(serve(script)).research("Down to which temperature does the Borea 12 work?")
    assert (answer.status, [*answer.summary.steps]) == (Status.ANSWERED, ["Reader"])
