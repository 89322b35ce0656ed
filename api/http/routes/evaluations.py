"""Evaluations, which ask a question set of a collection and measure and compare the answers."""

import asyncio
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated, Any

from fastapi import Body, Path, Query, Response
from pydantic import Field

from api.auth.limits import require_tokens
from api.auth.permissions import Right
from api.http.deps import CandorDep, CollectionQuery, CurrentCaller, PartsDep
from api.http.errors import problem_responses
from api.http.router import make_router
from api.jobs.handlers import EvaluationJobSpec
from api.jobs.models import Job, JobKind
from api.jobs.runner import begin_next, free_job_id
from api.services.evaluation.evaluations import rated_questions
from api.services.reports.report import Report, ReportFormat, render_report, sort_figures
from api.settings import ServiceSettings
from base.models import FrozenModel
from multi_agent.evaluation.metric import Figure, collect_figures, discover
from multi_agent.evaluation.question_set import Question, QuestionSet, parse_questions, require_unique_ids
from multi_agent.evaluation.runner import correctness
from multi_agent.evaluation.store import Evaluation, EvaluationResult, Row
from multi_agent.evaluation.summary import Comparison, Summary, compare_evaluations, summarize
from multi_agent.settings.research import Budget

router = make_router(prefix="/v1/evaluations", tags=["evaluations"])

EvaluationId = Annotated[
    str, Path(description="Id of the evaluation, or the beginning of the id.", examples=["eval_3f2a9c01"])
]
_MEDIA = {ReportFormat.HTML: "text/html", ReportFormat.MARKDOWN: "text/markdown", ReportFormat.JSON: "application/json"}


class EvaluationRequest(FrozenModel):
    """A question set and the options for asking it."""

    collection: str | None = Field(default=None, description="Name of the collection. Optional if there is only one.")
    name: str = Field(default="questions", min_length=1, description="Name of the question set.")
    questions: tuple[Question, ...] = Field(min_length=1, max_length=ServiceSettings.evaluation_questions)
    configuration: Mapping[str, Any] = Field(
        default={},
        description="The keys label, mode, agent, endpoint, samples and run_budget. Owners can also set `settings`.",
    )
    metrics: tuple[str, ...] = Field(default=(), description="Names of metrics. Empty: all that apply.")
    judge: str | None = Field(
        default=None, description="Endpoint of the judge's model; '' is the default endpoint. Null: no judge."
    )
    parallel: int = Field(default=4, ge=1, le=256, description="Maximum number of concurrent questions.")
    budget: Budget = Field(default=Budget(), description="Budget of all questions together.")


class Resumption(FrozenModel):
    """Options for resuming an evaluation."""

    parallel: int = Field(default=4, ge=1, le=256)
    budget: Budget = Budget()


class QuestionFile(FrozenModel):
    """The content of a question set file."""

    name: str = Field(description="Name of the file, with the suffix .jsonl or .csv.")
    text: str = Field(description="Content of the file.")


class Standing(Evaluation):
    """An evaluation with its progress."""

    asked: int = Field(description="Number of finished questions.")
    questions: int
    right: float | None = Field(description="Mean score of the finished questions that have one.")


class EvaluationAccount(FrozenModel):
    """An evaluation with its rows and figures."""

    result: EvaluationResult
    summary: Summary
    meanings: Mapping[str, Figure] = Field(description="Descriptions of the figures, most important first.")


_EXAMPLES = [
    {
        "collection": "papers",
        "questions": [{"id": "q1", "question": "How many?", "accepted": ["9,412"], "type": "number"}],
        "configuration": {"label": "fast", "mode": "fast"},
    }
]
_FILES = [{"name": "mine.csv", "text": "question,accepted,type\nHow many?,9412,number\n"}]


@router.post("", status_code=202, responses=problem_responses(403, 404, 422, 503))
async def evaluate(
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    body: Annotated[EvaluationRequest, Body(examples=_EXAMPLES)],
) -> Job:
    """Start an evaluation in the background, as a job with the id of the evaluation.

    Its runs belong to your key and count towards its limits. When the key has no tokens left today, the evaluation
    stops with the state `budget reached`. You can resume it the next day.
    """
    collection = await asyncio.to_thread(candor.collections.resolve_for, caller, Right.READ, body.collection)
    if body.configuration.get("settings"):
        caller.require_admin()  # settings can name code to load and endpoints to send documents to
    require_unique_ids(body.questions)
    await asyncio.to_thread(require_tokens, candor.trace, caller)

    def start() -> Evaluation:
        parts.pool.get(collection)
        configuration = candor.evaluations.make_configuration({"label": "rest", **body.configuration}, "request")
        questions = QuestionSet(name=body.name, questions=body.questions)
        return candor.evaluations.start(
            questions, collection, configuration, metrics=body.metrics, judge=body.judge
        ).evaluation

    started = await asyncio.to_thread(start)
    spec = EvaluationJobSpec(evaluation=started.id, parallel=body.parallel, budget=body.budget)
    return await parts.jobs.begin(JobKind.EVALUATION, started.id, collection, caller, spec)


@router.get("", responses=problem_responses(503))
def evaluations(candor: CandorDep, caller: CurrentCaller) -> list[Standing]:
    """List the evaluations of collections that you may read, newest first."""
    stored = candor.evaluations.store.list_progress()
    return [_standing(*each) for each in stored if caller.may(Right.READ, each[0].collection)]


@router.get("/questions", responses=problem_responses(404, 422, 503))
def rated(candor: CandorDep, caller: CurrentCaller, collection: CollectionQuery = None) -> QuestionSet:
    """Return the questions of a collection whose answers were rated, as a question set.

    An answer that was rated up becomes the accepted answer, and its documents become the gold documents. A question
    whose answer was rated down gets the note of the rating.
    """
    known = candor.collections.require(candor.collections.resolve_for(caller, Right.READ, collection))
    return rated_questions(candor.trace, candor.ledger, known.collection)


@router.post("/questions", responses=problem_responses(422))
def questions(caller: CurrentCaller, given: Annotated[QuestionFile, Body(examples=_FILES)]) -> QuestionSet:
    """Parse a question set without storing it. Errors name the lines of the file."""
    return parse_questions(given.name, given.text)


@router.get("/comparison", responses=problem_responses(404, 422, 503))
def comparison(
    candor: CandorDep,
    caller: CurrentCaller,
    first: Annotated[str, Query(description="Id of the baseline evaluation.")],
    second: Annotated[str, Query(description="Id of the evaluation to compare with the baseline.")],
) -> Comparison:
    """Compare two evaluations. Returns second minus first for each figure, with intervals and tests."""
    return compare_evaluations(candor.evaluations.find(first, caller), candor.evaluations.find(second, caller))


@router.get("/report", response_class=Response, responses=problem_responses(404, 422, 503))
def report(
    candor: CandorDep,
    caller: CurrentCaller,
    evaluation: Annotated[
        list[str], Query(description="Ids of one or more evaluations. All others are compared with the first.")
    ],
    format: Annotated[ReportFormat, Query(description="html, md or json")] = ReportFormat.HTML,  # noqa: A002 - the public name
) -> Response:
    """Get a report as a file."""
    content = render_report(Report.create([candor.evaluations.find(each, caller) for each in evaluation]), format)
    headers = {"Content-Disposition": f'attachment; filename="report.{format.value}"'}
    return Response(content, media_type=_MEDIA[format], headers=headers)


@router.get("/{evaluation}", responses=problem_responses(404, 503))
def evaluation(candor: CandorDep, caller: CurrentCaller, evaluation: EvaluationId) -> EvaluationAccount:
    """Get an evaluation with its figures and one row for each question asked so far."""
    result = candor.evaluations.find(evaluation, caller)
    summary = summarize(result)
    known = collect_figures(discover().values())
    meanings = {name: known[name] for name in sort_figures(summary.figures) if name in known}
    return EvaluationAccount(result=result, summary=summary, meanings=meanings)


@router.post("/{evaluation}/resume", status_code=202, responses=problem_responses(403, 404, 422, 503))
async def resume(
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    evaluation: EvaluationId,
    how: Annotated[Resumption, Body(examples=[{"parallel": 8}])],
) -> Job:
    """Resume an evaluation that was cancelled or reached its budget. Creates a new job. New runs belong to your key."""
    found = (await asyncio.to_thread(candor.evaluations.find, evaluation, caller)).evaluation
    await asyncio.to_thread(require_tokens, candor.trace, caller)
    spec = EvaluationJobSpec(evaluation=found.id, parallel=how.parallel, budget=how.budget)
    return await begin_next(parts.jobs, JobKind.EVALUATION, found.id, "evaluation", found.collection, caller, spec)


@router.delete("/{evaluation}", status_code=204, responses=problem_responses(403, 404, 422, 503))
async def remove(candor: CandorDep, parts: PartsDep, caller: CurrentCaller, evaluation: EvaluationId) -> None:
    """Delete an evaluation that has no active job. Its runs stay."""
    found = (await asyncio.to_thread(candor.evaluations.find, evaluation, caller)).evaluation
    caller.require(Right.WRITE, found.collection)
    await free_job_id(parts.jobs, found.id, "evaluation")  # raises UsageError while a job is active
    await asyncio.to_thread(candor.evaluations.store.delete, found.id)


def _standing(evaluation: Evaluation, questions: int, rows: Sequence[Row]) -> Standing:
    scores = [right for row in rows if (right := correctness(row.figures)) is not None]
    return Standing(
        **dict(evaluation), asked=len(rows), questions=questions, right=fmean(scores) if scores else None
    )  # fmt: skip
