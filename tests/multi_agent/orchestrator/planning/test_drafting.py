"""Plans from the steps that a model wrote: their repairs, and what waits for what."""

from __future__ import annotations

import time
from typing import Any

import pytest

from multi_agent.catalog.registry import AgentRegistry
from multi_agent.orchestrator.planning.drafting import (
    UnderstandingResponse,
    WrittenStep,
    draft_plan,
    planner_response,
    understanding_response,
)
from multi_agent.orchestrator.planning.validation import faults
from multi_agent.values.plan import Parameter, Plan

REGISTRY = AgentRegistry.discover()
CARDS = tuple(each.card for each in REGISTRY)
DOCUMENTS = {"manual": "manual.pdf", "Manual.pdf": "manual.pdf", "manual.pdf": "manual.pdf"}
SEARCH = {"method": "search", "documents": [], "queries": []}
ANSWER = WrittenStep(id="answer", agent="Synthesizer", instruction="Answer.")


def read(step_id: str, question: str, **more: Any) -> WrittenStep:
    return WrittenStep(id=step_id, agent="Reader", inputs={"question": question, "queries": [], **more})


def final(written: WrittenStep) -> WrittenStep:
    return written.model_copy(update={"final": True})


def step(step_id: str, agent: str, **inputs: Any) -> WrittenStep:
    return WrittenStep(id=step_id, agent=agent, instruction="Do it.", inputs=inputs)


def draft(*steps: WrittenStep) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan and its repairs, checked to have no faults."""
    plan, repairs = draft_plan("know", steps, REGISTRY, DOCUMENTS.get)
    assert faults(plan, REGISTRY, DOCUMENTS.values()) == ()
    return plan, repairs


def test_the_planner_may_name_every_agent_once_in_its_own_form() -> None:
    forms = planner_response(CARDS).model_json_schema()["$defs"]
    named = {name: form["properties"]["agent"] for name, form in forms.items() if "agent" in form.get("properties", {})}
    agents = [agent for form in named.values() for agent in form.get("enum", [form.get("const")])]
    assert sorted(agents) == sorted(card.name for card in CARDS)
    assert "RetrieverInputs" in str(forms["RetrieverStep"])


def test_a_template_asks_for_the_values_of_its_parameters_only() -> None:
    assert understanding_response(()) is UnderstandingResponse
    town = Parameter(name="town", meaning="where it is")
    filled = understanding_response((town,)).model_validate(
        {"intent": "know", "requirements": ["it"], "inputs": {"town": "Norvik"}}
    )
    assert filled.model_dump()["inputs"] == {"town": "Norvik"}


def needs(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {each.id: each.needs for each in plan.steps}


def test_steps_wait_for_what_they_read() -> None:
    plan, repairs = draft(
        step("queries", "QueryPlanner"),
        step("find", "Retriever", **SEARCH),
        step("look", "DataInspector"),
        step("patterns", "PatternGenerator"),
        step("extract", "Extractor"),
        ANSWER,
    )
    assert repairs == ()
    assert needs(plan) == {
        "queries": (), "find": ("queries",), "look": ("find",), "patterns": ("look",), "extract": ("patterns",),
        "answer": ("extract",),
    }  # fmt: skip


def test_readers_run_side_by_side_unless_one_refers_to_another() -> None:
    plan, _ = draft(read("a", "Who?"), read("b", "Where?"), read("c", "When was @{outputs.a.answer} born?"), ANSWER)
    assert {each.id: each.after for each in plan.steps} == {"a": (), "b": (), "c": ("a",), "answer": ("b", "c")}


def test_a_step_stands_after_the_one_it_refers_to() -> None:
    plan, _ = draft(read("b", "When was @{outputs.a.answer} born?"), read("a", "Who?"), ANSWER)
    assert [each.id for each in plan.steps] == ["a", "b", "answer"]


def test_a_single_reader_gives_the_answer() -> None:
    plan, repairs = draft(read("only", "Who?"))
    assert (plan.steps[0].final, plan.steps[0].instruction, repairs) == (True, "Who?", ())


@pytest.mark.parametrize(
    "written",
    [
        "@{find.answer}", "{outputs.find.answer}", "${outputs.find.answer}", "{{outputs.find.answer}}",
        "@{outputs.Find.answer}", "@{ outputs.find.answer }", "@{outputs.find.name}", "@{outputs.find}",
        "@{output.find.answer}",
    ],
)  # fmt: skip
def test_a_reference_in_another_form_is_read(written: str) -> None:
    plan, repairs = draft(read("find", "Who?"), read("born", f"When was {written} born?"), ANSWER)
    assert plan.steps[1].inputs["question"] == "When was @{outputs.find.answer} born?"
    assert repairs == (f"{written!r} read as '@{{outputs.find.answer}}'",)


@pytest.mark.parametrize("written", ["{gone.answer}", "{a: 1}", "{}", "@{outputs.a.b.c}"])
def test_braces_that_name_no_step_stay(written: str) -> None:
    plan, repairs = draft_plan("know", [read("find", f"Who {written}?"), ANSWER], REGISTRY, DOCUMENTS.get)
    assert (plan.steps[0].inputs["question"], repairs) == (f"Who {written}?", ())


@pytest.mark.parametrize("text", ["{" + " " * 20_000, "{" * 20_000, "{a." + " " * 20_000, "@{" * 10_000])
def test_long_texts_with_open_braces_take_no_time(text: str) -> None:
    started = time.process_time()
    plan, _ = draft_plan("know", [read("find", text), ANSWER], REGISTRY, DOCUMENTS.get)
    assert plan.steps[0].inputs["question"] == text
    assert time.process_time() - started < 5, "before, hours"


def test_ids_and_agents_are_read_leniently() -> None:
    named = [read("Step 1", "Who?"), read("Step 1", "Where is @{outputs.Step 1.answer}?"), read("2", "When?")]
    plan, repairs = draft(*(each.model_copy(update={"agent": "reader"}) for each in named), ANSWER)
    assert [each.id for each in plan.steps] == ["step_1", "step_1_2", "step_2", "answer"]
    assert plan.steps[1].inputs["question"] == "Where is @{outputs.step_1.answer}?"
    assert "step 'Step 1' named 'step_1_2'" in repairs
    assert "agent 'reader' read as 'Reader'" in repairs


def test_documents_are_found_by_title_and_in_another_case() -> None:
    plan, repairs = draft(read("a", "Who?", documents=["manual", "Manual.pdf", "manual.pdf"]))
    assert plan.steps[0].inputs["documents"] == ["manual.pdf"] * 3
    assert len(repairs) == 2


def test_an_unknown_document_remains_a_fault() -> None:
    plan, _ = draft_plan("know", [read("a", "Who?", documents=["other.pdf"])], REGISTRY, DOCUMENTS.get)
    [fault] = faults(plan, REGISTRY, DOCUMENTS.values())
    assert "there is no document named 'other.pdf'" in fault


def test_a_missing_answering_step_is_added() -> None:
    plan, repairs = draft(read("a", "Who?"), read("b", "Where?"))
    assert [each.agents for each in plan.steps] == [("Reader",), ("Reader",), ("Synthesizer",)]
    assert repairs == ("added step 'answer', which writes the answer",)


def test_steps_after_the_answer_are_dropped() -> None:
    plan, repairs = draft(read("a", "Who?"), ANSWER, step("compute", "Analyst"))
    assert [each.id for each in plan.steps] == ["a", "answer"]
    assert repairs == ("dropped step 'compute', which comes after the answer",)


def test_a_step_marked_final_gives_the_answer() -> None:
    plan, repairs = draft(read("cold", "How cold?"), final(read("all", "How cold and how loud?")))
    assert [(each.id, each.final) for each in plan.steps] == [("cold", False), ("all", True)]
    assert needs(plan)["all"] == ("cold",)
    assert repairs == ()
    plan, repairs = draft(final(read("all", "How cold?")), step("answer", "Synthesizer"))
    assert [(each.id, each.final) for each in plan.steps] == [("all", True)]
    assert repairs == ("dropped step 'answer', which comes after the answer",)


def test_an_answer_before_all_other_steps_moves_to_the_end() -> None:
    plan, _ = draft(ANSWER, read("a", "Who?"), read("b", "Where?"))
    assert needs(plan) == {"a": (), "b": (), "answer": ("a", "b")}


def test_a_plan_that_finds_nothing_gets_no_answering_step() -> None:
    plan, _ = draft_plan("know", [step("find", "Retriever", **SEARCH)], REGISTRY, DOCUMENTS.get)
    [fault] = faults(plan, REGISTRY, ())
    assert "No step writes the answer" in fault


def test_an_unknown_agent_remains_a_fault() -> None:
    plan, _ = draft_plan("know", [step("x", "Oracle"), ANSWER], REGISTRY, DOCUMENTS.get)
    assert "there is no agent 'Oracle'" in faults(plan, REGISTRY, ())[0]
