"""Fuzz plan validation. Candor must reject any JSON with reasons, or accept a plan that can run to its end."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from pydantic import ValidationError

from benchmarks.fuzz.references import REGISTRY, TEXTS, VALUES
from benchmarks.fuzz.search import Property
from multi_agent.errors import PlanError
from multi_agent.orchestrator.executor import PlanProgress
from multi_agent.orchestrator.planning.drafting import draft_plan, planner_response, revision_response, with_documents
from multi_agent.orchestrator.planning.proposal import without_question
from multi_agent.orchestrator.planning.templates import (
    fill,
    missing_parameters,
    saving_faults,
    template_faults,
    values_for,
)
from multi_agent.orchestrator.planning.validation import answering_step, faults
from multi_agent.values.plan import Plan

DOCUMENTS = ("a.csv", "b.pdf")
_CARDS = tuple(agent.card for agent in REGISTRY)
_IDS = st.sampled_from(["a", "b", "hop", "A b", "", "ß", "1", "a_2", "x" * 60]) | TEXTS
_AGENTS = st.sampled_from([*REGISTRY.names, "reader", "Nobody", ""]) | st.text(max_size=3)
_INPUTS = st.fixed_dictionaries(
    {},
    optional={
        "question": TEXTS | VALUES,
        "queries": st.lists(TEXTS, max_size=3) | VALUES,
        "method": st.sampled_from(["search", "scan", "guess", "@{outputs.hop.answer}"]) | VALUES,
        "documents": st.lists(st.sampled_from(["a.csv", "A", "c", "@{outputs.hop.documents}"]), max_size=2) | VALUES,
        "other": VALUES,
    },
)
_LISTS_OF_IDS = st.lists(_IDS, max_size=3)


def _record(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Generate an object with these fields, and sometimes another value."""
    return st.fixed_dictionaries(required, optional=optional) | VALUES


_WRITTEN = _record(
    {"id": _IDS, "agent": _AGENTS},
    {"instruction": TEXTS, "inputs": _INPUTS, "also": st.lists(_AGENTS, max_size=3), "needs": _LISTS_OF_IDS},
)
_RESPONSES = _record(
    {"intent": TEXTS, "requirements": st.lists(TEXTS, max_size=2), "steps": st.lists(_WRITTEN, max_size=6)},
    {"diagnosis": TEXTS, "try_again": st.booleans()},
)
_STEPS = _record(
    {"id": _IDS, "agents": st.lists(_AGENTS, max_size=3), "instruction": TEXTS},
    {"needs": _LISTS_OF_IDS, "inputs": _INPUTS | VALUES, "final": st.booleans(), "why": TEXTS},
)
_PARAMETERS = _record(
    {"name": st.sampled_from(["town", "b", ""]) | TEXTS, "meaning": TEXTS}, {"default": st.none() | TEXTS}
)
_PLANS = _record(
    {"goal": TEXTS, "steps": st.lists(_STEPS, max_size=6)},
    {"mode": st.sampled_from(["fast", "high", "direct", "x"]), "parameters": st.lists(_PARAMETERS, max_size=2)},
)


def any_response_of_the_planner_is_planned_or_refused(response: Any) -> None:
    for model in (planner_response(_CARDS), revision_response(_CARDS)):
        try:
            steps: Any = model.model_validate_json(json.dumps(response)).steps  # type: ignore[attr-defined]
        except ValidationError:
            continue
        if steps:
            plan, repairs = draft_plan("goal", steps, REGISTRY, _find)
            assert all(repairs)
            _check_faults(plan, faults(plan, REGISTRY, DOCUMENTS))


def any_saved_plan_is_followed_or_refused(saved: Any) -> None:
    try:
        plan = Plan.model_validate_json(json.dumps(saved))
    except ValidationError:
        return
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
    assert plan.fingerprint
    _check_faults(plan, faults(plan, REGISTRY, DOCUMENTS))
    question = f"Which pump is in {plan.goal[:30]}?"
    without_question(plan, question, REGISTRY, keep_documents=False)
    for keep in (True, False):
        assert all(saving_faults(plan, question, REGISTRY, DOCUMENTS, keep_documents=keep))
    if template_faults(plan, REGISTRY, DOCUMENTS):
        return
    try:
        values = values_for(plan, {}, {each.name: "b" for each in missing_parameters(plan, {})[1:]})
    except PlanError:
        return
    filled, _ = with_documents(fill(plan, question, values), REGISTRY, _find)
    _check_faults(filled, faults(filled, REGISTRY, DOCUMENTS))


def _find(written: str) -> str | None:
    return next((name for name in DOCUMENTS if name.startswith(written.casefold()) and written), None)


def _check_faults(plan: Plan, found: tuple[str, ...]) -> None:
    """Check that each fault has a text, and that a plan without faults runs to its end."""
    assert all(found)
    if found:
        return
    written: set[str] = set()
    progress = PlanProgress(plan)
    while not progress.finished:
        starting = progress.start_ready()
        assert starting, "the plan got stuck"
        cards = [REGISTRY.get(agent).card for step in starting for agent in step.agents]
        assert all(card.requires <= written for card in cards)
        written.update(*(card.writes for card in cards))
        for step in starting:
            progress.finish(step, None)
    answering = answering_step(plan, REGISTRY)
    assert answering
    assert plan.before(answering) == {step.id for step in plan.steps} - {answering.id}


PROPERTIES = [
    Property(_RESPONSES, any_response_of_the_planner_is_planned_or_refused),
    Property(_PLANS, any_saved_plan_is_followed_or_refused),
]
