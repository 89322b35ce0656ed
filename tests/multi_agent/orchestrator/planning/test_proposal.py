"""Proposed templates: the model marks the parts that belong to the old question, and only they change."""

from __future__ import annotations

import json
from typing import Any

from multi_agent.catalog.registry import BUILT_IN, AgentRegistry
from multi_agent.llm.models import build_llm
from multi_agent.orchestrator.planning.proposal import Proposal, propose, without_question
from multi_agent.values.plan import Plan, Step
from support.replies import always, in_turn
from support.scripted_endpoint import ScriptedEndpoint

REGISTRY = AgentRegistry.discover((BUILT_IN,))
QUESTION = "In which city was the founder of Nordwind born?"
PLAN = Plan(
    goal="find the birthplace of the founder of Nordwind",
    steps=(
        Step(
            id="founder",
            agents=("Reader",),
            instruction="",
            inputs={"question": "Who founded Nordwind?", "queries": ["Nordwind founder"], "documents": ["firms.md"]},
        ),
        Step(
            id="city",
            agents=("Reader",),
            instruction="",
            inputs={"question": "In which city was @{outputs.founder.answer} born?", "queries": []},
        ),
        Step(id="answer", agents=("Synthesizer",), instruction="Write the answer.", needs=("founder", "city")),
    ),
)
COMPANY = {"name": "Company", "meaning": "the company that was founded", "words": ["nordwind"]}


def response(same_question: list[int], *parameters: dict[str, Any]) -> str:
    return json.dumps({"same_question": same_question, "parameters": list(parameters)})


async def proposed(server: ScriptedEndpoint, plan: Plan = PLAN, **options: Any) -> Proposal:
    options = {"keep_documents": False, **options}
    return await propose(build_llm(server.settings("openai")), plan, QUESTION, REGISTRY, **options)


async def test_whole_texts_and_words_become_placeholders() -> None:
    with ScriptedEndpoint(always(response([1], COMPANY))) as server:
        proposal = await proposed(server)
    assert proposal.faults == ()
    founder, city, answer = proposal.plan.steps
    assert proposal.plan.goal == "@{question}"
    assert founder.inputs == {
        "question": "Who founded @{inputs.company}?",
        "queries": ["@{inputs.company} founder"],
        "documents": ["@{inputs.document}"],
    }
    assert city == PLAN.steps[1], "it names only what the first step found"
    assert answer == PLAN.steps[2]
    assert [(each.name, each.default) for each in proposal.plan.parameters] == [("document", ""), ("company", None)]
    shown = server.requests[0].messages[-1]["content"]
    assert "[2] Who founded Nordwind?" in shown
    assert "firms.md" not in shown, "names of documents are not the model's to judge"


async def test_what_still_names_the_question_is_asked_again() -> None:
    with ScriptedEndpoint(in_turn(response([1]), response([1], COMPANY))) as server:
        proposal = await proposed(server)
    assert proposal.faults == ()
    again = server.requests[1].messages[-1]["content"]
    assert "the input 'question' of step 'founder' ('Nordwind')" in again


async def test_a_proposal_that_stays_wrong_is_returned_with_its_faults() -> None:
    with ScriptedEndpoint(always(response([]))) as server:
        proposal = await proposed(server)
        assert len(server.requests) == 2
    [fault] = proposal.faults
    assert "the goal ('Nordwind'" in fault
    assert "Write @{question}" in fault


async def test_words_inside_a_placeholder_are_not_replaced() -> None:
    words = {"name": "who", "meaning": "a person", "words": ["founder", "Nordwind"]}
    with ScriptedEndpoint(always(response([1], words))) as server:
        plan = (await proposed(server)).plan
    assert plan.steps[0].inputs["queries"] == ["@{inputs.who} @{inputs.who}"]
    assert plan.steps[1].inputs["question"] == "In which city was @{outputs.founder.answer} born?"


async def test_documents_are_kept_on_purpose() -> None:
    with ScriptedEndpoint(always(response([1], COMPANY))) as server:
        proposal = await proposed(server, keep_documents=True)
    assert proposal.plan.steps[0].inputs["documents"] == ["firms.md"]
    assert proposal.faults == ()


async def test_a_plan_that_only_repeats_the_question_needs_no_model() -> None:
    inputs = {"question": QUESTION, "queries": []}
    step = Step(id="answer", agents=("Reader",), instruction=QUESTION, inputs=inputs, final=True)
    plan = Plan(goal=QUESTION, mode="fast", steps=(step,))
    with ScriptedEndpoint(always("unused")) as server:
        proposal = await proposed(server, plan)
        assert server.requests == []
    assert proposal.plan == without_question(plan, QUESTION, REGISTRY, keep_documents=False)
    assert (proposal.plan.goal, proposal.plan.steps[0].inputs["question"]) == ("@{question}", "@{question}")
