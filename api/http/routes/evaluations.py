"""Evaluations: question sets asked of a collection, measured and compared."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Response
from pydantic import Field

from api.auth.permissions import Caller, Right
from api.errors import JobNotFound, UsageError
from api.http.deps import CurrentCaller, Served, Service
from api.http.errors import problems
from api.jobs.models import Job, JobKind, JobSpec
from api.services.evaluations import begin, make_configuration, store_of
from api.services.reports.report import Format, Report, in_order, write
from api.workers.contract import EvaluationJobSpec
from multi_agent.evaluation.errors import EvaluationNotFound
from multi_agent.evaluation.metric import Figure, discover, figures_of
from multi_agent.evaluation.question_set import Question, QuestionSet, parse_questions, refuse_doubles
from multi_agent.evaluation.records import Evaluation, EvaluationResult, Row
from multi_agent.evaluation.runner import rightness
from multi_agent.evaluation.summary import Comparison, Summary, against, summarise
from multi_agent.settings import Budget
from vectorstore.models import FrozenModel

router = APIRouter(prefix="/v1/evaluations", tags=["evaluations"])

EvaluationId = Annotated[
    str, Path(description="The evaluation's id, or the beginning of it.", examples=["eval_3f2a9c01"])
]
_MEDIA = {Format.HTML: "text/html", Format.MARKDOWN: "text/markdown", Format.JSON: "application/json"}


class EvaluationRequest(FrozenModel):
    """Questions, and how they are to be asked."""

    collection: str | None = Field(default=None, description="not needed if there is just one")
    name: str = Field(default="questions", min_length=1, description="what the set is called")
    questions: tuple[Question, ...] = Field(min_length=1)
    configuration: Mapping[str, Any] = Field(
        default={},
        description="label, mode, agent, endpoint, samples, run_budget, and with the right to everything, settings",
    )
    metrics: tuple[str, ...] = Field(default=(), description="all that apply, if none is named")
    judge: str | None = Field(default=None, description="endpoint of a judge's model; '' is the default one")
    parallel: int = Field(default=4, ge=1, le=256, description="questions under way at once")
    budget: Budget = Field(default=Budget(), description="of all questions together")


class Resumption(FrozenModel):
    """How an evaluation is gone on with."""

    parallel: int = Field(default=4, ge=1, le=256)
    budget: Budget = Budget()


class QuestionFile(FrozenModel):
    """A question set as it stands in a file."""

    name: str = Field(description="of the file: .jsonl or .csv")
    text: str = Field(description="what the file holds")


class Standing(Evaluation):
    """An evaluation with how far it is."""

    asked: int = Field(description="questions that are finished")
    questions: int
    right: float | None = Field(description="mean over those that can be told, each counted once")


class EvaluationAccount(FrozenModel):
    """An evaluation with its rows and figures."""

    result: EvaluationResult
    summary: Summary
    meanings: Mapping[str, Figure] = Field(description="what each of its figures is, the most telling first")


_EXAMPLES = [
    {
        "collection": "papers",
        "questions": [{"id": "q1", "question": "How many?", "accepted": ["9,412"], "type": "number"}],
        "configuration": {"label": "fast", "mode": "fast"},
    }
]
_FILES = [{"name": "mine.csv", "text": "question,accepted,type\nHow many?,9412,number\n"}]


@router.post("", status_code=202, responses=problems(403, 404, 422, 503))
async def evaluate(
    service: Served, caller: CurrentCaller, wanted: Annotated[EvaluationRequest, Body(examples=_EXAMPLES)]
) -> Job:
    """Begin an evaluation; it is asked and measured in the background, as a job of its own id."""
    collection = await asyncio.to_thread(service.collection, caller, Right.READ, wanted.collection)
    if wanted.configuration.get("settings"):
        caller.require_admin()  # they can name code to be loaded, and where documents are sent to
    refuse_doubles(wanted.questions)
    result = await asyncio.to_thread(_begin, service, wanted, collection)
    order = EvaluationJobSpec(evaluation=result.evaluation.id, parallel=wanted.parallel, budget=wanted.budget)
    return await _submit(service, caller, result.evaluation, order, result.evaluation.id)


@router.get("", responses=problems(503))
def evaluations(service: Served, caller: CurrentCaller) -> list[Standing]:
    """The evaluations of collections that you may read, newest first."""
    kept = store_of(service.candor).standings()
    return [_standing(*each) for each in kept if caller.may(Right.READ, each[0].collection)]


@router.post("/questions", responses=problems(422))
def questions(caller: CurrentCaller, given: Annotated[QuestionFile, Body(examples=_FILES)]) -> QuestionSet:
    """Read a question set from the text of a file. What is wrong with it is told with its lines; nothing is kept."""
    return parse_questions(given.name, given.text)


@router.get("/comparison", responses=problems(404, 422, 503))
def comparison(
    service: Served,
    caller: CurrentCaller,
    first: Annotated[str, Query(description="The evaluation that is compared with.")],
    second: Annotated[str, Query(description="The evaluation that is compared.")],
) -> Comparison:
    """The second minus the first, figure by figure, with intervals and tests."""
    return against(_find(service, caller, first), _find(service, caller, second))


@router.get("/report", response_class=Response, responses=problems(404, 422, 503))
def report(
    service: Served,
    caller: CurrentCaller,
    evaluation: Annotated[list[str], Query(description="One or several; the others are compared with the first.")],
    format: Annotated[Format, Query(description="html, md or json")] = Format.HTML,  # noqa: A002 - as it is asked
) -> Response:
    """A report as a file."""
    written = write(Report.of([_find(service, caller, each) for each in evaluation]), format)
    headers = {"Content-Disposition": f'attachment; filename="report.{format.value}"'}
    return Response(written, media_type=_MEDIA[format], headers=headers)


@router.get("/{evaluation}", responses=problems(404, 503))
def evaluation(service: Served, caller: CurrentCaller, evaluation: EvaluationId) -> EvaluationAccount:
    """An evaluation with its figures and a row for each question asked so far."""
    result = _find(service, caller, evaluation)
    summary = summarise(result)
    known = figures_of(discover().values())
    meanings = {name: known[name] for name in in_order(summary.figures) if name in known}
    return EvaluationAccount(result=result, summary=summary, meanings=meanings)


@router.post("/{evaluation}/resume", status_code=202, responses=problems(403, 404, 422, 503))
async def resume(
    service: Served,
    caller: CurrentCaller,
    evaluation: EvaluationId,
    how: Annotated[Resumption, Body(examples=[{"parallel": 8}])],
) -> Job:
    """Go on with an evaluation that was cancelled, or reached its budget, as a new job."""
    result = await asyncio.to_thread(_find, service, caller, evaluation)
    found = result.evaluation
    order = EvaluationJobSpec(evaluation=found.id, parallel=how.parallel, budget=how.budget)
    return await _submit(service, caller, found, order, await _free_id(service, found.id))


@router.delete("/{evaluation}", status_code=204, responses=problems(403, 404, 422, 503))
async def remove(service: Served, caller: CurrentCaller, evaluation: EvaluationId) -> None:
    """Forget an evaluation that is not under way. Its runs stay."""
    found = (await asyncio.to_thread(_find, service, caller, evaluation)).evaluation
    caller.require(Right.WRITE, found.collection)
    await _free_id(service, found.id)  # refuses while a job works on it
    await asyncio.to_thread(store_of(service.candor).delete, found.id)


def _standing(evaluation: Evaluation, questions: int, rows: Sequence[Row]) -> Standing:
    known = [right for row in rows if (right := rightness(row.figures)) is not None]
    return Standing(
        **dict(evaluation), asked=len(rows), questions=questions, right=fmean(known) if known else None
    )  # fmt: skip


def _begin(service: Service, wanted: EvaluationRequest, collection: str) -> EvaluationResult:
    service.pool.take(collection)
    configuration = make_configuration(service.candor, {"label": "rest", **wanted.configuration}, "request")
    questions = QuestionSet(name=wanted.name, questions=wanted.questions)
    return begin(service.candor, questions, collection, configuration, metrics=wanted.metrics, judge=wanted.judge)


def _find(service: Service, caller: Caller, evaluation: str) -> EvaluationResult:
    """What may not be read is told as what is not there."""
    try:
        result = store_of(service.candor).get(evaluation)
    except EvaluationNotFound as error:
        raise _not_there(evaluation) from error
    if not caller.may(Right.READ, result.evaluation.collection):
        raise _not_there(evaluation)
    return result


def _not_there(evaluation: str) -> EvaluationNotFound:
    return EvaluationNotFound(f"There is no evaluation {evaluation!r}.")


async def _submit(service: Service, caller: Caller, found: Evaluation, order: EvaluationJobSpec, job_id: str) -> Job:
    await service.jobs.submit(
        JobSpec(id=job_id, kind=JobKind.EVALUATION, collection=found.collection, key=caller.key,
              content=order.model_dump_json())
    )  # fmt: skip
    return await service.jobs.get(job_id)


async def _free_id(service: Service, evaluation: str) -> str:
    """For the next job of an evaluation. Raises UsageError while one is under way."""
    number = 1
    while True:
        job_id = evaluation if number == 1 else f"{evaluation}-{number}"
        try:
            job = await service.jobs.get(job_id)
        except JobNotFound:
            return job_id
        if not job.status.ended:
            raise UsageError(
                f"The evaluation {evaluation!r} is under way, as job {job_id!r}; wait, or cancel that job."
            )
        number += 1
