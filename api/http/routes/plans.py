"""Saved plans."""

from __future__ import annotations

from typing import Annotated, Self

from fastapi import APIRouter, Body, Path, Response
from pydantic import Field, model_validator

from api.auth.permissions import Right
from api.http.deps import CurrentCaller, PlansDep
from api.http.errors import problem_responses
from multi_agent.errors import NotKept, UnknownPlan
from multi_agent.plan import Plan, PlanExample
from vectorstore.models import FrozenModel

router = APIRouter(prefix="/v1/plans", tags=["plans"])

PlanName = Annotated[str, Path(description="Name of the saved plan.", examples=["weekly"])]


class PlanToSave(FrozenModel):
    """A plan to save under a name: the last plan of a run, or a given plan with its question."""

    name: str = Field(examples=["weekly"])
    run_id: str = Field(default="", description="Id of the run whose last plan to save.")
    question: str = Field(default="", description="A question that the given plan is an example for.")
    plan: Plan | None = None
    collection: str | None = Field(default=None, description="Collection of the documents that the given plan names.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.run_id) == bool(self.plan) or bool(self.plan) != bool(self.question.strip()):
            raise ValueError("give either run_id, or plan and question")
        return self


_EXAMPLES = [
    {"name": "weekly", "run_id": "run_d65459f7e628"},
    {
        "name": "one look",
        "question": "Which pump works in the cold?",
        "plan": {
            "goal": "answer from a few passages",
            "steps": [
                {"id": "find", "agents": ["Retriever"], "instruction": "Find it.",
                 "inputs": {"method": "search", "documents": [], "queries": []}},
                {"id": "extract", "agents": ["Extractor"], "instruction": "Quote it.", "needs": ["find"]},
                {"id": "answer", "agents": ["Synthesizer"], "instruction": "Answer.", "needs": ["extract"]},
            ],
        },
    },
]  # fmt: skip


@router.get("", responses=problem_responses(503))
def plans(plans: PlansDep, caller: CurrentCaller) -> list[PlanExample]:
    """List the saved plans. A question follows one with `template`."""
    return plans.list()


@router.post("", status_code=201, responses=problem_responses(403, 404, 409, 422, 503))
def save(
    plans: PlansDep, caller: CurrentCaller, body: Annotated[PlanToSave, Body(examples=_EXAMPLES)], response: Response
) -> PlanExample:
    """Save a plan under a name. A question that names it as `template` follows it."""
    caller.require_admin()
    if body.plan:
        if body.collection:
            caller.require(Right.READ, body.collection)
        saved = plans.save(body.name, body.plan, body.question, body.collection)
    else:
        saved = plans.save_from_run(body.name, body.run_id)
    response.headers["Location"] = "/v1/plans"
    return saved


@router.delete("/{name}", status_code=204, responses=problem_responses(403, 404, 503))
def forget(plans: PlansDep, caller: CurrentCaller, name: PlanName) -> None:
    """Delete a saved plan."""
    caller.require_admin()
    try:
        plans.delete(name)
    except UnknownPlan as error:
        raise NotKept(str(error)) from error
