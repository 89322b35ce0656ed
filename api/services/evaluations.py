"""Evaluations, put together: a question set asked of a collection in one configuration or several, and measured.

Runs of an evaluation are runs like others. Only that they neither show the planner plans that worked before nor keep
any: each question is to be answered for itself, and the second configuration is not to learn from the first.
"""

from __future__ import annotations

import asyncio
import csv
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO

from pydantic import ValidationError

from api.bootstrap import Candor
from api.errors import UsageError
from ingest.ledger.records import DocumentState
from multi_agent.answer import Answer
from multi_agent.errors import RunNotFound
from multi_agent.evaluation.case import Case
from multi_agent.evaluation.draft_questions import choose_passages, draft
from multi_agent.evaluation.gold_check import Held, astray
from multi_agent.evaluation.metric import MetricClass, discover
from multi_agent.evaluation.observe import Source, observe
from multi_agent.evaluation.question_set import Question, QuestionSet, delimiter, dump_questions
from multi_agent.evaluation.records import Configuration, Evaluation, EvaluationResult, Row, State
from multi_agent.evaluation.runner import Bench, Runner
from multi_agent.evaluation.store import EvaluationStore, new_evaluation_id
from multi_agent.library import Library
from multi_agent.llm.caller import CallerLLM
from multi_agent.llm.journal import JournalingLLM
from multi_agent.llm.llm import LLM
from multi_agent.llm.models import Models
from multi_agent.memory.memory import NO_MEMORY
from multi_agent.request import Request
from multi_agent.settings import Budget

SETTABLE = ("research", "llm")
"""What a configuration may set: how it is asked. What is searched, and where, is the same for all."""
_TEXTS_KEPT = 64
_GRADES = {"1": 1.0, "1.0": 1.0, "0.5": 0.5, "0,5": 0.5, "0": 0.0, "0.0": 0.0}


def store_of(candor: Candor) -> EvaluationStore:
    """Where evaluations are kept."""
    return EvaluationStore(candor.engine)


def read_configuration(candor: Candor, path: Path) -> Configuration:
    """A configuration from a TOML file: `mode`, `agent`, `endpoint`, `samples`, `run_budget`, and a tree `settings`.

    Raises UsageError naming the file and what is wrong with it.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"The configuration {str(path)!r} cannot be read: {error}.") from error
    return make_configuration(candor, {"label": path.stem, **given}, str(path))


def make_configuration(candor: Candor, given: Mapping[str, Any], source: str) -> Configuration:
    """A configuration that can be run. Raises UsageError."""
    try:
        configuration = Configuration.model_validate({"model": "", **given})
        variant = _variant(candor, configuration)
        _request(Question(id="q", question="?"), configuration).validated()
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise UsageError(f"The configuration {source!r} cannot be used: {faults}.") from error
    return configuration.model_copy(update={"model": variant.models().get(configuration.endpoint).model})


def begin(
    candor: Candor,
    questions: QuestionSet,
    collection: str,
    configuration: Configuration,
    *,
    metrics: Sequence[str] = (),
    judge: str | None = None,
) -> EvaluationResult:
    """A new evaluation, before its first question. ``judge`` names its endpoint; '' is the default one, None is none.

    Raises UsageError for metrics that there are not, UnknownModel for such an endpoint.
    """
    model = "" if judge is None else candor.models().get(judge).model
    chosen = chosen_metrics(metrics, judged=judge is not None)
    evaluation = Evaluation(
        id=new_evaluation_id(),
        set_name=questions.name,
        fingerprint=questions.fingerprint,
        collection=collection,
        configuration=configuration,
        metrics=tuple(chosen),
        judge=model,
        judge_endpoint=judge,
        started_at=datetime.now(UTC),
    )
    store = store_of(candor)
    store.add(evaluation, questions.questions)
    return store.get(evaluation.id)


def gold_astray(candor: Candor, collection: str, questions: Sequence[Question]) -> list[str]:
    """A line for each gold of the questions that the collection does not hold."""
    records = candor.ledger.list(collection, DocumentState.INDEXED)
    documents = [Held(each.id, each.name, each.pages) for each in records]
    return astray(questions, documents, lambda document: candor.ledger.text(collection, document).text)


async def carry_on(
    candor: Candor,
    library: Library,
    result: EvaluationResult,
    *,
    parallel: int,
    budget: Budget,
    tell: Callable[[Row], None],
    models: Models | None = None,
    pausing: Callable[[], bool] = lambda: True,
) -> State:
    """Ask what is not finished. Raises what is no failure of a single question.

    ``models`` are those that others ask, too, so that an endpoint's limit holds for all of them; a configuration with
    an endpoint of its own does not ask them. Interrupted, a run goes on when the evaluation is resumed, if ``pausing``.
    """
    evaluation = result.evaluation
    variant = _variant(candor, evaluation.configuration)
    if models is None or "llm" in evaluation.configuration.settings:
        models = variant.models()
    orchestrator = replace(variant.orchestrator(library, models), memory=NO_MEMORY)  # measured alike, whoever measures
    chosen = chosen_metrics(evaluation.metrics, judged=evaluation.judge_endpoint is not None)
    trace = candor.trace

    @lru_cache(maxsize=_TEXTS_KEPT)
    def source_of(document: str) -> Source:
        known = candor.ledger.get(evaluation.collection, document)
        return Source(known.title if known else "", candor.ledger.text(evaluation.collection, document).text)

    async def ask(question: Question, run_id: str) -> Answer:
        try:
            if trace.run(run_id).ended:  # it ended, and Candor was killed before it was measured
                return trace.answer(run_id)
        except RunNotFound:
            pass  # it has not begun yet
        asked = _request(question, evaluation.configuration)
        return await orchestrator.research(asked, run_id=run_id, examples=(), pausing=pausing)

    def see(question: Question, answer: Answer) -> Case:
        return observe(question, answer, trace.events(answer.run_id), source_of)

    def judge(run_id: str) -> LLM | None:
        """Its calls are kept in the run's journal: they can be read there, and are not paid twice."""
        if evaluation.judge_endpoint is None:
            return None
        asked = models.get(evaluation.judge_endpoint)
        return CallerLLM(JournalingLLM(asked, candor.trace.journal(run_id)), "Judge")

    bench = Bench(ask, see, tuple(chosen.values()), judge)
    runner = Runner(bench, store_of(candor), parallel=parallel, budget=budget, tell=tell)
    return await runner.run(result)


def evaluate(
    candor: Candor,
    results: Iterable[EvaluationResult],
    *,
    parallel: int,
    budget: Budget,
    tell: Callable[[Evaluation, Row], None],
) -> None:
    """Carry evaluations on, one after the other, from the command line. Raises StoreError, AgentError."""
    for result in results:
        evaluation = result.evaluation
        with candor.open_library(evaluation.collection) as library:

            def told(row: Row, evaluation: Evaluation = evaluation) -> None:
                tell(evaluation, row)

            asyncio.run(carry_on(candor, library, result, parallel=parallel, budget=budget, tell=told))


def draft_questions(
    candor: Candor, collection: str, count: int, seed: int, *, keep_in: TextIO, tell: Callable[[str], None]
) -> int:
    """Have a model propose questions, and write each as it comes, so that none that was paid for is lost.

    Returns how many there are; ``tell`` is told why a passage gave none. Raises StoreError, LLMError, OSError.
    """
    with candor.open_library(collection) as library:
        passages = choose_passages(library.scan(), count, seed)

    async def drafted() -> int:
        kept = 0
        async for each in draft(candor.models().default, passages):
            if isinstance(each, Question):
                keep_in.write(dump_questions([each]))
                keep_in.flush()
                kept += 1
            else:
                tell(f"No question: {each}")
        return kept

    return asyncio.run(drafted())


def read_labels(path: Path) -> dict[str, float]:
    """Grades that a person gave, by question id; a row without a grade is none. Raises UsageError."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = csv.DictReader(text.splitlines(), delimiter=delimiter(text, "grade"))
        return {row["id"]: _GRADES[row["grade"].strip()] for row in rows if row["grade"].strip()}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"The labels {str(path)!r} cannot be read: {error}.") from error
    except (KeyError, AttributeError) as error:
        raise UsageError(
            f"The labels {str(path)!r} are to have the columns id and grade, and grades of 1, 0.5 or 0; there is no "
            f"column, or no grade, {error}."
        ) from error


def _request(question: Question, configuration: Configuration) -> Request:
    return Request(
        question=question.question,
        mode=configuration.mode,
        agent=configuration.agent,
        model=configuration.endpoint,
        samples=configuration.samples,
        budget=configuration.run_budget,
    )


def _variant(candor: Candor, configuration: Configuration) -> Candor:
    """Candor with the settings of the configuration, on the same database. Raises UsageError, ValidationError."""
    own, settings = configuration.settings, candor.settings
    if unknown := own.keys() - set(SETTABLE):
        raise UsageError(f"A configuration sets {' and '.join(SETTABLE)}, and not {', '.join(sorted(unknown))}.")
    if "api_key" in own.get("llm", {}):
        raise UsageError("A configuration is kept and shown, so it holds no key: set it with CANDOR_LLM__API_KEY.")
    changed = {
        name: type(now).model_validate({**now.model_dump(exclude_unset=True), **own[name]})
        for name in own
        for now in [getattr(settings, name)]
    }
    research = changed.get("research", settings.research).model_copy(update={"remember_plans": False})
    variant = Candor(settings.model_copy(update={**changed, "research": research}))
    variant.engine, variant.trace = candor.engine, candor.trace
    if "research" not in own:
        variant.agent_catalog = candor.agent_catalog
    return variant


def chosen_metrics(names: Sequence[str], *, judged: bool) -> dict[str, MetricClass]:
    """The metrics of these names, or all; those that need a judge only if there is one. Raises UsageError."""
    known = {name: metric for name, metric in discover().items() if judged or not metric.card.needs_judge}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"There is no metric {', '.join(unknown)}; there are {', '.join(known)}. "
                         "Those that ask a model need --judge.")  # fmt: skip
    return {name: known[name] for name in names or known}
