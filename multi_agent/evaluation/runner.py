"""Runs an evaluation, which asks its unfinished questions concurrently and measures the answers.

A row with the run's id is stored before the run starts, and again when the answer is measured. If the process dies in
between, the run resumes under the same id, and its journal answers the model calls that were already made.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from multi_agent.errors import AgentError, LLMError
from multi_agent.evaluation.case import Case, Cited, Passage, find_failure
from multi_agent.evaluation.errors import MetricError
from multi_agent.evaluation.metric import Metric, MetricKit
from multi_agent.evaluation.question_set import Question
from multi_agent.evaluation.store import EvaluationResult, EvaluationStore, Row, State
from multi_agent.llm.wrappers.journal import RunLLM
from multi_agent.llm.wrappers.usage import count_faults
from multi_agent.model import Usage
from multi_agent.orchestrator.orchestrator import new_run_id
from multi_agent.settings.research import Budget
from multi_agent.values.answer import Answer, Quote, Status
from multi_agent.values.events import Event, StepFinished
from vectorstore.errors import StoreError

log = logging.getLogger(__name__)

RIGHT = 0.5
"""An answer is right if its correctness is above this value."""


@dataclass(frozen=True)
class RunnerKit:
    """The dependencies of a runner."""

    ask: Callable[[Question, str], Awaitable[Answer]]
    """Research the question under this run id. Resumes the run if it has started."""
    observe: Callable[[Question, Answer], Case]
    metrics: Sequence[Metric]
    judge: Callable[[str], RunLLM | None]
    """Returns the judge for a run, if there is one. Its calls are recorded in the run's journal."""
    may_ask: Callable[[], bool]
    """Returns whether there are tokens for another question. If not, the budget is reached."""


class Runner:
    """Runs one evaluation until every question is finished or the budget is reached.

    ``on_row`` receives every finished row. A failed question becomes a row. Other errors, e.g. StoreError, are raised.
    """

    def __init__(
        self, kit: RunnerKit, store: EvaluationStore, *, parallel: int, budget: Budget, on_row: Callable[[Row], None]
    ) -> None:
        self._kit, self._store, self._on_row = kit, store, on_row
        self._slots = asyncio.Semaphore(parallel)
        self._budget, self._spent, self._started = budget, Usage(), time.perf_counter()

    async def run(self, result: EvaluationResult) -> State:
        """Ask the unfinished questions, then store and return the new state."""
        rows = {row.question_id: row for row in result.rows}
        self._spent = sum((row.spent + row.judging for row in result.rows), Usage())
        pending = [each for each in result.questions if each.id not in rows or not rows[each.id].finished]
        evaluation = result.evaluation.id
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._run_question(evaluation, each, rows.get(each.id))) for each in pending]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        state = State.FINISHED if all(task.result() for task in tasks) else State.BUDGET_REACHED
        self._store.set_state(evaluation, state)
        return state

    async def _run_question(self, evaluation: str, question: Question, started: Row | None) -> bool:
        """Ask one question. Return False if the budget is reached."""
        async with self._slots:
            if self._budget_reached() or not await asyncio.to_thread(self._kit.may_ask):
                return False
            row = started or Row(question_id=question.id, run_id=new_run_id())
            if not started:
                self._store.put(evaluation, row)
            finished = await self._ask_and_measure(question, row)
            self._store.put(evaluation, finished)
            self._spent += finished.spent + finished.judging
            self._on_row(finished)
            return True

    async def _ask_and_measure(self, question: Question, row: Row) -> Row:
        try:
            answer = await self._kit.ask(question, row.run_id)
        # Any failure of one question becomes its row. The other questions are still asked.
        except Exception as error:
            if not isinstance(error, AgentError | StoreError):
                log.exception("Question %s failed with an unexpected error", question.id)
            answer = _failed_answer(question, row.run_id, f"{type(error).__name__}: {error}")
        case = await asyncio.to_thread(self._kit.observe, question, answer)
        judge = self._kit.judge(row.run_id)
        figures, errors = await measure(case, self._kit.metrics, MetricKit(judge))
        score = correctness(figures)
        return row.model_copy(
            update={
                "status": answer.status.value,
                "said": case.short_text if case.answered else "",
                "figures": figures,
                "errors": errors,
                "place": None if score is None else find_failure(case, right=score > RIGHT),
                "error": answer.reasoning if answer.status.value in ("failed", "cancelled") else "",
                "spent": answer.usage,
                "judging": judge.usage if judge else Usage(),
            }
        )

    def _budget_reached(self) -> bool:
        budget, spent = self._budget, self._spent
        limits = (
            (budget.model_calls, spent.model_calls),
            (budget.tokens, spent.prompt_tokens + spent.completion_tokens),
            (budget.cost, spent.cost or 0.0),
            (budget.seconds, time.perf_counter() - self._started),
        )
        return any(allowed is not None and used >= allowed for allowed, used in limits)


async def measure(case: Case, metrics: Sequence[Metric], kit: MetricKit) -> tuple[dict[str, float], dict[str, str]]:
    """Return the figures of all metrics, and the errors by metric."""
    figures: dict[str, float] = {}
    errors: dict[str, str] = {}
    for metric in metrics:
        try:
            figures |= await metric.measure(case, kit)
        except (MetricError, LLMError) as error:
            errors[metric.card.name] = str(error)
    return figures, errors


def _failed_answer(question: Question, run_id: str, reason: str) -> Answer:
    """Return a failed answer, so that a question that could not be asked is included in the means."""
    return Answer(run_id=run_id, status=Status.FAILED, mode="", question=question.question, reasoning=reason)


def correctness(figures: Mapping[str, float]) -> float | None:
    """Return the judge's grade, otherwise the figure ``correct``, otherwise None."""
    return figures.get("judged", figures.get("correct"))


class Source(NamedTuple):
    """Title and parsed text of a document."""

    title: str
    text: str


SourceOf = Callable[[str], Source]
"""Returns a document by its id."""


def observe(question: Question, answer: Answer, events: Sequence[Event], source_of: SourceOf) -> Case:
    """Return the case of a finished run. Documents have the names that were shown to the agents."""
    updates = [event.body.wrote for event in events if isinstance(event.body, StepFinished)]
    chunks = {chunk["id"]: chunk for fields in updates for chunk in fields.get("chunks", ())}
    evidence = {_position(item): item for fields in updates for item in _collect_evidence(fields)}
    names = {each["document_id"]: each["name"] for each in (*chunks.values(), *evidence.values())}
    cited = {_position(item): item for item in (each.model_dump() for each in _cited_quotes(answer))}
    return Case(
        question=question,
        answer=answer,
        retrieved=tuple(_make_passage(chunks[each], source_of) for each in _rank_chunks(updates, chunks)),
        extracted=tuple(_make_cited(item, names, source_of) for item in evidence.values()),
        cited=tuple(_make_cited(item, names, source_of) for item in cited.values()),
        faults=count_faults(events),
    )


def _rank_chunks(updates: Sequence[dict[str, Any]], chunks: dict[str, Any]) -> list[str]:
    """Return the ids of all chunks in the order of the searches, and by rank within each search."""
    ranked = [each for fields in updates for each in fields.get("ranking", ())]
    return [each for each in dict.fromkeys([*ranked, *chunks]) if each in chunks]


def _collect_evidence(fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the evidence that a step wrote, including that of intermediate findings."""
    yield from fields.get("evidence", ())
    for finding in fields.get("findings", ()):
        yield from finding["synthesis"]["evidence"]


def _cited_quotes(answer: Answer) -> Iterable[Quote]:
    """Yield the evidence that claims cite, directly or through a computation."""
    computed = {number for claim in answer.claims for number in claim.computations}
    yield from answer.cited
    for computation in answer.computations:
        if computation.number in computed:
            yield from computation.evidence


def _position(item: dict[str, Any]) -> tuple[str, int, int, str]:
    """Return the identity of the evidence: document id and span, plus the words of a picture reading."""
    return item["document_id"], item["start"], item["end"], item["quote"] if item.get("picture") else ""


def _make_passage(chunk: dict[str, Any], source_of: SourceOf) -> Passage:
    return Passage(
        chunk_id=chunk["id"],
        document=chunk["name"],
        pages=tuple(chunk["pages"]),
        text=source_of(chunk["document_id"]).text[chunk["start"] : chunk["end"]],
    )


def _make_cited(item: dict[str, Any], names: dict[str, str], source_of: SourceOf) -> Cited:
    document, start, end, _ = _position(item)
    source = source_of(document)
    return Cited(
        document=names.get(document, item["document"]),
        title=source.title,
        pages=tuple(item["pages"]),
        quote=item["quote"],
        in_source=source.text[start:end] == item["quote"],
        pictured=bool(item.get("picture")),
    )
