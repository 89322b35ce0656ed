"""Runs an evaluation, which asks its unfinished questions concurrently and measures the answers.

A row with the run's id is stored before the run starts, and again when the answer is measured. If the process dies in
between, the run resumes under the same id, and its journal answers the model calls that were already made.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from multi_agent.errors import AgentError, LLMError
from multi_agent.evaluation.case import Case
from multi_agent.evaluation.errors import MetricError
from multi_agent.evaluation.failures import find_failure
from multi_agent.evaluation.metric import Metric, MetricKit
from multi_agent.evaluation.question_set import Question
from multi_agent.evaluation.records import EvaluationResult, Row, State
from multi_agent.evaluation.store import EvaluationStore
from multi_agent.llm.wrappers.journal import RunLLM
from multi_agent.model import Usage
from multi_agent.orchestrator.orchestrator import new_run_id
from multi_agent.settings.research import Budget
from multi_agent.values.answer import Answer, Status
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
