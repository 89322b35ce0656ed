"""Questions that follow a saved plan: Candor fills in the question and the parameter values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from multi_agent.errors import AgentError, PlanError
from multi_agent.llm.settings import EndpointSettings
from multi_agent.memory.plans import PlanMemory
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Status
from multi_agent.values.plan import Parameter, Plan, Step
from multi_agent.values.request import Request as Asked
from support.panel import UNDERSTANDING, Panel, role_of
from support.scripted_endpoint import ScriptedEndpoint
from support.templates import old_plan

QUESTION = "How cold can it get for the Borea 12?"
PRODUCT = Parameter(name="product", meaning="the product that is asked about")
DOCUMENT = Parameter(name="document", meaning="name of the document to read, as listed", default="")
MakePanel = Callable[..., Orchestrator]
Serve = Callable[..., EndpointSettings]


def template(question: str = "@{question}", *parameters: Parameter, documents: tuple[str, ...] = ()) -> Plan:
    inputs = {"question": question, "queries": [], "documents": list(documents)}
    step = Step(id="read", agents=("Reader",), instruction="", inputs=inputs, final=True)
    return Plan(goal="@{question}", steps=(step,), parameters=parameters)


def understanding(**inputs: str) -> Callable[..., str]:
    return lambda _: json.dumps({"intent": "know", "requirements": ["the fact"], "inputs": inputs})


def followed(trace: Trace, run_id: str) -> Plan:
    [made] = [event.body for event in trace.events(run_id) if event.body.type == "plan_made"]
    return made.plan


async def test_the_question_is_filled_in_without_another_call(
    panel: MakePanel, trace: Trace, plans: PlanMemory
) -> None:
    plans.save("one", template(), "another question")
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        answer = await panel(server.settings("openai")).research(Asked(question=QUESTION, template="one"))
    assert answer.status is Status.ANSWERED
    assert [role_of(request) for request in server.requests] == [UNDERSTANDING, "ReaderAnswer"]
    assert "inputs" not in server.requests[0].schema["properties"]
    assert "parameters" not in server.requests[0].messages[0]["content"]
    plan = followed(trace, answer.run_id)
    assert (plan.goal, plan.steps[0].inputs["question"]) == (QUESTION, QUESTION)


async def test_the_model_fills_in_the_values_that_are_not_given(
    panel: MakePanel, trace: Trace, plans: PlanMemory
) -> None:
    plans.save(
        "limits", template("Limits of @{inputs.product}?", PRODUCT, DOCUMENT, documents=("@{inputs.document}",)), "x"
    )
    script = Panel("-25 °C", roles={UNDERSTANDING: understanding(product="Borea 12", document="Manual")})
    with ScriptedEndpoint(script) as server:
        answer = await panel(server.settings("openai")).research(Asked(question=QUESTION, template="limits"))
    asked = server.requests[0]
    assert asked.schema["$defs"]["TemplateInputs"]["properties"]["product"]["description"] == PRODUCT.meaning
    assert "Fill `inputs`" in asked.messages[0]["content"]
    [step] = followed(trace, answer.run_id).steps
    assert step.inputs == {"question": "Limits of Borea 12?", "queries": [], "documents": ["manual.pdf"]}


async def test_a_given_value_is_not_asked_of_the_model(panel: MakePanel, trace: Trace, plans: PlanMemory) -> None:
    plans.save("limits", template("Limits of @{inputs.product}?", PRODUCT), "x")
    with ScriptedEndpoint(Panel("-25 °C")) as server:
        asked = Asked(question=QUESTION, template="limits", inputs={"product": "Borea 12"})
        answer = await panel(server.settings("openai")).research(asked)
    assert "inputs" not in server.requests[0].schema["properties"]
    assert followed(trace, answer.run_id).steps[0].inputs["question"] == "Limits of Borea 12?"


async def test_a_value_that_nobody_gives_ends_the_run_with_its_name(
    panel: MakePanel, serve: Serve, plans: PlanMemory
) -> None:
    plans.save("limits", template("Limits of @{inputs.product}?", PRODUCT), "x")
    script = Panel(roles={UNDERSTANDING: understanding(product="")})
    answer = await panel(serve(script)).research(Asked(question=QUESTION, template="limits"))
    assert answer.status is Status.FAILED
    assert "needs a value for 'product' (the product that is asked about)" in answer.reasoning


async def test_a_value_that_names_no_document_ends_the_run(panel: MakePanel, serve: Serve, plans: PlanMemory) -> None:
    plans.save("one", template("@{question}", DOCUMENT, documents=("@{inputs.document}",)), "x")
    asked = Asked(question=QUESTION, template="one", inputs={"document": "atlas.pdf"})
    answer = await panel(serve(Panel())).research(asked)
    assert answer.status is Status.FAILED
    assert "The saved plan cannot be run here" in answer.reasoning
    assert "'atlas.pdf'" in answer.reasoning


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"template": "limits", "inputs": {"firm": "x"}}, "has no parameter firm; it has product"),
        ({"inputs": {"product": "x"}}, "Also name the saved plan"),
    ],
)
async def test_inputs_must_be_parameters_of_the_saved_plan(
    panel: MakePanel, serve: Serve, plans: PlanMemory, asked: dict[str, Any], error: str
) -> None:
    plans.save("limits", template("Limits of @{inputs.product}?", PRODUCT), "x")
    with pytest.raises(AgentError, match=error):
        panel(serve(Panel())).validate(Asked(question=QUESTION, **asked))


async def test_a_plan_that_names_its_old_question_is_not_followed(
    panel: MakePanel, serve: Serve, plans: PlanMemory
) -> None:
    plans.save("old", Plan.model_validate(old_plan()), "Who won the Vinterholm Marathon?")
    with pytest.raises(PlanError, match=r"in the goal \('Vinterholm', 'Marathon'"):
        panel(serve(Panel())).validate(Asked(question=QUESTION, template="old"))
    assert [each.name for each in plans.list()] == ["old"], "it is still listed"
