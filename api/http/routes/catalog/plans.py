"""Saved plans, which are templates with placeholders for questions and parameters."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal, Self
from urllib.parse import quote

from fastapi import Body, Path, Response
from pydantic import Field, model_validator

from api.auth.permissions import Caller, Right
from api.http.deps import CandorDep, CurrentCaller, Owner
from api.http.errors import problem_responses
from api.http.router import make_router
from api.services.catalog.plans import PlanFile
from base.models import FrozenModel
from multi_agent.errors import NotKept, UnknownPlan
from multi_agent.orchestrator.planning.proposal import Proposal
from multi_agent.values.plan import Plan, PlanExample

router = make_router(prefix="/v1/plans", tags=["plans"])

PlanName = Annotated[str, Path(description="Name of the saved plan.", examples=["weekly"])]
_COLLECTION = (
    "Collection of the given plan. The plan may name its documents, and only keys that may read it can see the plan. "
    "Default: all keys can see the plan. A plan of a run belongs to the collection of the run."
)
_KEEP_DOCUMENTS = Field(default=False, description="Allow the plan to name documents. It then always reads these.")


class PlanContent(FrozenModel):
    """A template and an example question for it."""

    question: str = Field(min_length=1, description="An example question for the plan.")
    plan: Plan
    collection: str | None = Field(default=None, description=_COLLECTION)
    keep_documents: bool = _KEEP_DOCUMENTS


class PlanToSave(FrozenModel):
    """A plan to save under a name: the last plan of a run, or a given plan with its question.

    The content of an exported file is also valid.
    """

    version: Literal[1] = Field(default=1, description="The version of the file format.")
    name: str = Field(examples=["weekly"])
    run_id: str = Field(
        default="", description="Id of the run whose last plan is saved. Rejected if the plan contains its question."
    )
    question: str = Field(default="", description="An example question for the given plan.")
    plan: Plan | None = None
    collection: str | None = Field(default=None, description=_COLLECTION)
    keep_documents: bool = _KEEP_DOCUMENTS

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.run_id) == bool(self.plan) or bool(self.plan) != bool(self.question.strip()):
            raise ValueError("give either run_id, or plan and question")
        return self


class PlanToPropose(FrozenModel):
    """A run whose last plan becomes a template."""

    run_id: str = Field(description="Id of the run.", examples=["run_d65459f7e628"])
    keep_documents: bool = _KEEP_DOCUMENTS


_STEPS = [
    {"id": "find", "agents": ["Retriever"], "instruction": "Find it.",
     "inputs": {"method": "search", "documents": [], "queries": ["@{question}"]}},
    {"id": "extract", "agents": ["Extractor"], "instruction": "Quote it.", "needs": ["find"]},
    {"id": "answer", "agents": ["Synthesizer"], "instruction": "Answer: @{question}", "needs": ["extract"]},
]  # fmt: skip
_CONTENT = {"question": "Which pump works in the cold?", "plan": {"goal": "@{question}", "steps": _STEPS}}
_EXAMPLES = [{"name": "weekly", "run_id": "run_d65459f7e628"}, {"name": "one look", **_CONTENT}]


@router.get("", responses=problem_responses(503))
def plans(candor: CandorDep, caller: CurrentCaller) -> list[PlanExample]:
    """List the saved plans, except those of collections that the key may not read.

    A question can follow one with `template`.
    """
    return candor.plans.list(caller)


@router.post("", status_code=201, responses=problem_responses(403, 404, 409, 422, 503))
def save(
    candor: CandorDep, caller: Owner, body: Annotated[PlanToSave, Body(examples=_EXAMPLES)], response: Response
) -> PlanExample:
    """Save or import a plan under a name. A question that names it as `template` follows it.

    A plan that still contains its old question is rejected. `POST /v1/plans/proposals` proposes placeholders.
    """
    if body.plan:
        _require_readable(caller, body.collection)
        saved = candor.plans.save(
            body.name, body.plan, body.question, body.collection, keep_documents=body.keep_documents
        )
    else:
        saved = candor.plans.save_from_run(body.name, body.run_id, keep_documents=body.keep_documents)
    response.headers["Location"] = f"/v1/plans/{quote(saved.name, safe='')}"
    return saved


@router.post("/proposals", responses=problem_responses(403, 404, 422, 503))
async def propose(candor: CandorDep, caller: Owner, body: PlanToPropose) -> Proposal:
    """Propose a template for the last plan of a run, without saving it.

    A model selects the words that belong to the run's question. They become `@{question}` or a parameter such as
    `@{inputs.company}`. Save the template with `PUT /v1/plans/{name}`.
    """
    return await candor.plans.propose(body.run_id, keep_documents=body.keep_documents)


@router.get("/{name}", responses=problem_responses(404, 503))
def plan(candor: CandorDep, caller: CurrentCaller, name: PlanName) -> PlanExample:
    """Return a saved plan."""
    with _not_found():
        return candor.plans.get(name, caller)


@router.get("/{name}/export", responses=problem_responses(404, 503))
def export(candor: CandorDep, caller: CurrentCaller, name: PlanName, response: Response) -> PlanFile:
    """Export a saved plan as a file. `POST /v1/plans` imports its content."""
    response.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(name, safe='')}.json"
    return PlanFile.of(plan(candor, caller, name))


@router.put(
    "/{name}",
    responses={201: {"model": PlanExample, "description": "The plan is new."}, **problem_responses(403, 404, 422, 503)},
)
def put(
    candor: CandorDep,
    caller: Owner,
    name: PlanName,
    body: Annotated[PlanContent, Body(examples=[_CONTENT])],
    response: Response,
) -> PlanExample:
    """Save a plan under a name, or replace the saved plan of this name."""
    _require_readable(caller, body.collection)
    saved, is_new = candor.plans.put(
        name, body.plan, body.question, body.collection, keep_documents=body.keep_documents
    )
    response.status_code = 201 if is_new else 200
    return saved


@router.delete("/{name}", status_code=204, responses=problem_responses(403, 404, 503))
def forget(candor: CandorDep, caller: Owner, name: PlanName) -> None:
    """Delete a saved plan."""
    with _not_found():
        candor.plans.delete(name)


@contextmanager
def _not_found() -> Iterator[None]:
    """Report an unknown plan in the path with status 404."""
    try:
        yield
    except UnknownPlan as error:
        raise NotKept(str(error)) from error


def _require_readable(caller: Caller, collection: str | None) -> None:
    if collection:
        caller.require(Right.READ, collection)
