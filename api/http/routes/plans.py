"""Plans that were saved to be followed again."""

from __future__ import annotations

from typing import Annotated, Self

from fastapi import APIRouter, Body, Path, Response
from pydantic import Field, model_validator

from api.auth.permissions import Right
from api.http.deps import CurrentCaller, Served
from api.http.errors import problems
from api.services.plans import plan_of, require_runnable
from multi_agent.errors import NotKept, UnknownPlan
from multi_agent.plan import Plan, PlanExample
from vectorstore.models import FrozenModel

router = APIRouter(prefix="/v1/plans", tags=["plans"])

PlanName = Annotated[str, Path(description="What the plan was saved as.", examples=["weekly"])]


class PlanToSave(FrozenModel):
    """A plan and its name: the last one of a run, or one that is given with the question that it is for."""

    name: str = Field(examples=["weekly"])
    run_id: str = Field(default="", description="the run whose last plan it is")
    question: str = Field(default="", description="what the given plan is for: it is an example for questions like it")
    plan: Plan | None = None
    collection: str | None = Field(default=None, description="the one whose documents the given plan names, if it does")

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


@router.get("", responses=problems(503))
def plans(service: Served, caller: CurrentCaller) -> list[PlanExample]:
    """The plans that were saved under a name; `template` follows one."""
    return list(service.candor.plans.list())


@router.post("", status_code=201, responses=problems(403, 404, 409, 422, 503))
def save(
    service: Served, caller: CurrentCaller, wanted: Annotated[PlanToSave, Body(examples=_EXAMPLES)], response: Response
) -> PlanExample:
    """Save a plan under a name; a question that names it as `template` follows it."""
    caller.require_admin()
    candor = service.candor
    if wanted.plan:
        if wanted.collection:
            caller.require(Right.READ, wanted.collection)
        require_runnable(candor, wanted.plan, wanted.collection)
        question, plan = wanted.question.strip(), wanted.plan
    else:
        question, plan = plan_of(candor, wanted.run_id)
    candor.plans.save(wanted.name, plan, question)
    response.headers["Location"] = "/v1/plans"
    return candor.plans.get(wanted.name.strip())


@router.delete("/{name}", status_code=204, responses=problems(403, 404, 503))
def forget(service: Served, caller: CurrentCaller, name: PlanName) -> None:
    """Forget a saved plan."""
    caller.require_admin()
    try:
        service.candor.plans.delete(name)
    except UnknownPlan as error:
        raise NotKept(str(error)) from error
