"""Plan templates: validation of placeholders, and their values for a question."""

from __future__ import annotations

from typing import Any

import pytest

from multi_agent.catalog.registry import BUILT_IN, AgentRegistry
from multi_agent.errors import PlanError
from multi_agent.orchestrator.planning.templates import fill, saving_faults, template_faults, values_for
from multi_agent.values.plan import Parameter, Plan, Step

REGISTRY = AgentRegistry.discover((BUILT_IN,))
COMPANY = Parameter(name="company", meaning="the company that is asked about")
DOCUMENT = Parameter(name="document", meaning="name of the document to read", default="")


def template(question: str = "@{question}", *parameters: Parameter, **inputs: Any) -> Plan:
    read = {"question": question, "queries": [], **inputs}
    return Plan(
        goal="@{question}",
        steps=(Step(id="read", agents=("Reader",), instruction=question, inputs=read, final=True),),
        parameters=parameters,
    )


def test_the_question_and_values_replace_their_placeholders_everywhere() -> None:
    plan = template("Who leads @{inputs.company}?", COMPANY, queries=["@{inputs.company} board"])
    filled = fill(plan, "Who leads Apple?", {"company": "Apple"})
    assert (filled.goal, filled.parameters) == ("Who leads Apple?", ())
    assert filled.steps[0].instruction == "Who leads Apple?"
    assert filled.steps[0].inputs == {"question": "Who leads Apple?", "queries": ["Apple board"]}


def test_placeholders_in_a_value_are_not_filled_in() -> None:
    assert fill(template("@{inputs.company}", COMPANY), "x", {"company": "@{question}"}).steps[0].instruction == (
        "@{question}"
    )


def test_an_empty_document_means_all_documents() -> None:
    plan = template("@{question}", DOCUMENT, documents=["@{inputs.document}"])
    assert fill(plan, "x", {"document": ""}).steps[0].inputs["documents"] == []
    assert fill(plan, "x", {"document": "a.md"}).steps[0].inputs["documents"] == ["a.md"]


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        (template("@{inputs.company}"), "@{inputs.company} has no parameter; add one with the name 'company'"),
        (template("@{question}", COMPANY), "No step uses the parameter 'company'"),
        (template("@{inputs.company}", COMPANY, COMPANY), "There are 2 parameters 'company'"),
        (template("@{input.company}"), "'@{input.company}' has an invalid placeholder; write @{question}"),
        (template("@{question}", documents=["none.md"]), "there is no document named 'none.md'"),
        (template("@{outputs.none.answer}"), "names 'none', which is no step of this plan"),
    ],
    ids=str,
)
def test_every_fault_says_what_to_write(plan: Plan, fault: str) -> None:
    assert fault in " ".join(template_faults(plan, REGISTRY, ["a.md"]))


def test_a_valid_template_has_no_faults() -> None:
    plan = template("Who leads @{inputs.company}?", COMPANY, DOCUMENT, documents=["@{inputs.document}", "a.md"])
    assert template_faults(plan, REGISTRY, ["a.md"]) == ()


def test_a_given_value_wins_over_the_one_in_the_question_and_the_default() -> None:
    plan = template("@{inputs.company} @{inputs.document}", COMPANY, DOCUMENT)
    found = {"company": "Apple", "document": ""}
    assert values_for(plan, {"company": "Nordwind"}, found) == {"company": "Nordwind", "document": ""}
    assert values_for(plan, {}, found)["company"] == "Apple"


@pytest.mark.parametrize("given", [{}, {"company": ""}])
def test_a_missing_value_is_an_error_that_names_it(given: dict[str, str]) -> None:
    with pytest.raises(PlanError, match=r"'company' \(the company that is asked about\).*--input NAME=VALUE"):
        values_for(template("@{inputs.company}", COMPANY), given, {"company": ""})


def test_names_of_documents_are_kept_only_on_purpose() -> None:
    plan = template("@{question}", documents=["a.md"])
    [fault] = saving_faults(plan, "Why?", REGISTRY, ["a.md"], keep_documents=False)
    assert "the document names 'a.md'" in fault
    assert "--keep-documents" in fault
    assert saving_faults(plan, "Why?", REGISTRY, ["a.md"], keep_documents=True) == ()
