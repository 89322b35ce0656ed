"""Asking the questions of a set, several at once, and measuring the answers; what is finished is not asked again.

A question's row is written before its run begins, with the run's id, and again when it is measured. Killed in between,
the run goes on under the same id, so that its journal answers what the model was asked before.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from multi_agent.answer import Answer, Status
from multi_agent.errors import AgentError, LLMError
from multi_agent.evaluation.case import Case
from multi_agent.evaluation.counted_judge import CountedJudge
from multi_agent.evaluation.errors import MetricError
from multi_agent.evaluation.failures import place_of
from multi_agent.evaluation.metric import Metric, MetricClass, MetricKit
from multi_agent.evaluation.question_set import Question
from multi_agent.evaluation.records import EvaluationResult, Row, State
from multi_agent.evaluation.store import EvaluationStore
from multi_agent.llm.llm import LLM, Usage
from multi_agent.orchestrator.orchestrator import new_run_id
from multi_agent.settings import Budget
from vectorstore.errors import StoreError

log = logging.getLogger(__name__)

RIGHT = 0.5
"""A figure of correctness above this counts as right."""


@dataclass(frozen=True)
class Bench:
    """What questions are put to."""

    ask: Callable[[Question, str], Awaitable[Answer]]
    """Research the question under this run id, from where it was if it has begun."""
    observe: Callable[[Question, Answer], Case]
    metrics: Sequence[MetricClass]
    judge: Callable[[str], LLM | None]
    """Who judges the answer of one run, if anybody; its calls are kept in the run's journal."""


class Runner:
    """Carries one evaluation on until all its questions have a row, or its budget is reached.

    ``tell`` is given every finished row. Raises what is no failure of one question: a database that cannot be written.
    """

    def __init__(
        self, bench: Bench, store: EvaluationStore, *, parallel: int, budget: Budget, tell: Callable[[Row], None]
    ) -> None:
        self._bench, self._store, self._tell = bench, store, tell
        self._slots = asyncio.Semaphore(parallel)
        self._budget, self._spent, self._began = budget, Usage(), time.perf_counter()

    async def run(self, result: EvaluationResult) -> State:
        """Ask what is not finished."""
        rows = {row.question_id: row for row in result.rows}
        self._spent = sum((row.spent + row.judging for row in result.rows), Usage())
        pending = [each for each in result.questions if each.id not in rows or not rows[each.id].finished]
        evaluation = result.evaluation.id
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(self._take(evaluation, each, rows.get(each.id))) for each in pending]
        state = State.FINISHED if all(task.result() for task in asked) else State.BUDGET_REACHED
        self._store.set_state(evaluation, state)
        return state

    async def _take(self, evaluation: str, question: Question, begun: Row | None) -> bool:
        """Whether it was asked: there was something left to spend."""
        async with self._slots:
            if self._reached():
                return False
            row = begun or Row(question_id=question.id, run_id=new_run_id())
            if not begun:
                self._store.put(evaluation, row)
            finished = await self._asked(question, row)
            self._store.put(evaluation, finished)
            self._spent += finished.spent + finished.judging
            self._tell(finished)
            return True

    async def _asked(self, question: Question, row: Row) -> Row:
        try:
            answer = await self._bench.ask(question, row.run_id)
        # One question's failure, whatever it is, is its own row; the others are asked all the same.
        except Exception as error:
            if not isinstance(error, AgentError | StoreError):
                log.exception("Question %s was ended by a defect", question.id)
            answer = _failed(question, row.run_id, f"{type(error).__name__}: {error}")
        case = await asyncio.to_thread(self._bench.observe, question, answer)
        asked = self._bench.judge(row.run_id)
        judge = CountedJudge(asked) if asked else None
        figures, errors = await measure(case, [each(MetricKit(judge=judge)) for each in self._bench.metrics])
        right = rightness(figures)
        return row.model_copy(
            update={
                "status": answer.status.value,
                "said": case.said if case.answered else "",
                "figures": figures,
                "errors": errors,
                "place": None if right is None else place_of(case, right=right > RIGHT),
                "error": answer.reasoning if answer.status.value in ("failed", "cancelled") else "",
                "spent": answer.usage,
                "judging": judge.usage if judge else Usage(),
            }
        )

    def _reached(self) -> bool:
        budget, spent = self._budget, self._spent
        pairs = (
            (budget.model_calls, spent.model_calls),
            (budget.tokens, spent.prompt_tokens + spent.completion_tokens),
            (budget.cost, spent.cost),
            (budget.seconds, time.perf_counter() - self._began),
        )
        return any(allowed is not None and used >= allowed for allowed, used in pairs)


async def measure(case: Case, metrics: Sequence[Metric]) -> tuple[dict[str, float], dict[str, str]]:
    """The figures of all metrics, and by metric why it could not tell."""
    figures: dict[str, float] = {}
    errors: dict[str, str] = {}
    for metric in metrics:
        try:
            figures |= await metric.measure(case)
        except (MetricError, LLMError) as error:
            errors[metric.card.name] = str(error)
    return figures, errors


def _failed(question: Question, run_id: str, reason: str) -> Answer:
    """So that a question that could not even be asked counts, and is not left out of the means."""
    return Answer(run_id=run_id, status=Status.FAILED, mode="", question=question.question, reasoning=reason)


def rightness(figures: Mapping[str, float]) -> float | None:
    """How right the answer is: what the judge says, else what comparing gives; None if neither applies."""
    return figures.get("judged", figures.get("correct"))
