"""Evaluations, which ask a question set of a collection in one or more configurations and measure the answers.

The runs of an evaluation are ordinary runs without plan memory. They do not show earlier plans to the planner and do
not save plans, so each question is answered independently and no configuration learns from another.
"""

import asyncio
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any, TextIO

from api.auth.limits import has_tokens, limit_budget
from api.auth.permissions import Caller, Limits, Right
from api.errors import UsageError, usage_errors
from api.services.documents.collections import Collections
from api.services.research.research import PanelFactory
from ingest.errors import DocumentNotFound
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentState
from multi_agent.errors import RunNotFound
from multi_agent.evaluation.case import Case, without_marks
from multi_agent.evaluation.draft_questions import choose_passages, draft
from multi_agent.evaluation.errors import EvaluationNotFound
from multi_agent.evaluation.metric import Metric, discover
from multi_agent.evaluation.question_set import (
    AnswerType,
    DocumentInfo,
    Gold,
    Question,
    QuestionSet,
    dump_questions,
    find_missing_gold,
)
from multi_agent.evaluation.runner import Runner, RunnerKit, Source, observe
from multi_agent.evaluation.store import (
    Configuration,
    Evaluation,
    EvaluationResult,
    EvaluationStore,
    Row,
    State,
    new_evaluation_id,
)
from multi_agent.library import Library
from multi_agent.llm.models import Models
from multi_agent.llm.wrappers.journal import RunCalls, RunLLM
from multi_agent.memory.memories import NO_MEMORY
from multi_agent.settings.research import Budget
from multi_agent.storage.run_filter import Rating, RunFilter
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.values.answer import Answer, Status
from multi_agent.values.request import Request

_MOST = 100_000  # questions


def rated_questions(trace: Trace, ledger: Ledger, collection: str) -> QuestionSet:
    """Return the questions about a collection whose answers are rated, oldest first. Question ids are run ids.

    Each has the tag `rated up` or `rated down`. The set is empty if no answer is rated.
    """
    names = {document.id: document.name for document in ledger.snapshot(collection).values()}
    rated = [
        run for rating in Rating for run in trace.runs(_MOST, RunFilter(collection=collection, rating=rating))
    ]  # fmt: skip
    questions = (
        _question(run, trace.answer(run.run_id), names) for run in sorted(rated, key=lambda run: run.started_at)
    )
    return QuestionSet(name=f"{collection}-ratings", questions=tuple(questions))


def _question(run: RunSummary, answer: Answer, names: dict[str, str]) -> Question:
    asked = Question(
        id=run.run_id,
        question=answer.completed_question or answer.question,
        tags=(f"rated {run.rating.value}",) if run.rating else (),
        note=run.note,
    )
    if run.rating is not Rating.UP:
        return asked
    if answer.status is Status.INSUFFICIENT:
        return asked.model_copy(update={"type": AnswerType.NONE})
    return asked.model_copy(
        update={
            "answer": without_marks(answer.answer),
            "accepted": (answer.short,) if answer.short else (),
            "gold": _gold(answer, names),
        }
    )


def _gold(answer: Answer, names: dict[str, str]) -> tuple[Gold, ...]:
    """Return the documents of the collection that the answer cites, with the cited pages."""
    pages: defaultdict[str, set[int]] = defaultdict(set)
    cited = [*answer.cited, *(quote for computed in answer.computations for quote in computed.evidence)]
    for quote in cited:
        if quote.origin is None:
            name = names.get(quote.document_id, PurePath(quote.document).name)  # the document may have been removed
            pages[name].update(quote.pages)
    return tuple(Gold(document=name, pages=tuple(sorted(numbers))) for name, numbers in pages.items())


SETTABLE = ("research", "llm")
"""The settings groups that a configuration can override. All configurations use the same index."""
_CACHED_TEXTS = 64


class Evaluations:
    """Starts and runs evaluations. ``store`` contains their results."""

    def __init__(
        self, store: EvaluationStore, panel: PanelFactory, collections: Collections, ledger: Ledger, trace: Trace
    ) -> None:
        self.store = store
        self._panel, self._collections, self._ledger, self._trace = panel, collections, ledger, trace

    def find(self, evaluation: str, caller: Caller) -> EvaluationResult:
        """Find an evaluation by its id or the beginning of its id.

        Raises EvaluationNotFound, even if the evaluation exists but the caller may not read its collection.
        """
        missing = EvaluationNotFound(f"There is no evaluation {evaluation!r}.")
        try:
            result = self.store.get(evaluation)
        except EvaluationNotFound as error:
            raise missing from error
        if not caller.may(Right.READ, result.evaluation.collection):
            raise missing
        return result

    def read_configuration(self, path: Path) -> Configuration:
        """Read a configuration from a TOML file.

        Its keys are `mode`, `agent`, `endpoint`, `samples`, `run_budget` and the tree `settings`. Raises UsageError.
        """
        try:
            given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise UsageError(f"Cannot read the configuration {str(path)!r}: {error}.") from error
        return self.make_configuration({"label": path.stem, **given}, str(path))

    def make_configuration(self, given: Mapping[str, Any], source: str) -> Configuration:
        """Validate a configuration and resolve its model. Errors contain ``source`` as its name. Raises UsageError."""
        with usage_errors(f"Invalid configuration {source!r}"):
            configuration = Configuration.model_validate({"model": "", **given})
            panel = self._panel_for(configuration)
            _request(Question(id="q", question="?"), configuration).validated()
        return configuration.model_copy(update={"model": panel.model_name(configuration.endpoint)})

    def start(
        self,
        questions: QuestionSet,
        collection: str,
        configuration: Configuration,
        *,
        metrics: Sequence[str] = (),
        judge: str | None = None,
    ) -> EvaluationResult:
        """Store a new evaluation without rows. ``resume`` runs it.

        ``judge`` names the endpoint of the judge's model: '' is the default endpoint, None means no judge. Raises
        UsageError for unknown metrics, UnknownModel for an unknown endpoint.
        """
        model = "" if judge is None else self._panel.model_name(judge)
        chosen = choose_metrics(metrics, judged=judge is not None)
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
        self.store.add(evaluation, questions.questions)
        return self.store.get(evaluation.id)

    def missing_gold(self, collection: str, questions: Sequence[Question]) -> list[str]:
        """Return one line for each gold entry that the collection does not contain."""
        records = self._ledger.list(collection, DocumentState.INDEXED)
        documents = [DocumentInfo(each.id, each.name, each.pages) for each in records]
        return find_missing_gold(questions, documents, lambda document: self._ledger.text(collection, document).text)

    async def resume(
        self,
        library: Library,
        result: EvaluationResult,
        *,
        parallel: int,
        budget: Budget,
        publish: Callable[[Row], None],
        models: Models | None = None,
        pausing: Callable[[], bool] = lambda: True,
        key: str = "",
        limits: Limits = Limits(),  # noqa: B008 - immutable
    ) -> State:
        """Ask the questions that have no finished row, and pass each new row to ``publish``.

        ``models`` shares the limits of the endpoints with other runs. A configuration with its own endpoint ignores
        it. If ``pausing()`` is true on cancellation, unfinished runs resume with the evaluation. The runs belong to the
        API key ``key`` and count towards its ``limits``. If the key has no tokens left, the evaluation stops as if its
        budget were reached. Raises errors that are not failures of a single question.
        """
        evaluation = result.evaluation
        panel, trace = self._panel_for(evaluation.configuration), self._trace
        if models is None or "llm" in evaluation.configuration.settings:
            models = panel.models()
        orchestrator = replace(panel.orchestrator(library, models), memory=NO_MEMORY)  # the same for every caller
        chosen = choose_metrics(evaluation.metrics, judged=evaluation.judge_endpoint is not None)

        @lru_cache(maxsize=_CACHED_TEXTS)
        def source_of(document: str) -> Source:
            record = self._ledger.get(evaluation.collection, document)
            try:
                text = self._ledger.text(evaluation.collection, document).text
            except DocumentNotFound:  # it was removed after the run read it, so no quote is found in it
                text = ""
            return Source(record.title if record else "", text)

        async def ask(question: Question, run_id: str) -> Answer:
            try:
                if trace.run(run_id).ended:  # the process was killed after the run and before its measurement
                    return trace.answer(run_id)
            except RunNotFound:
                pass
            request = await asyncio.to_thread(create_run, run_id, _request(question, evaluation.configuration))
            with panel.command_runs.hold(run_id):
                return await orchestrator.research(request, run_id=run_id, examples=(), pausing=pausing)

        def create_run(run_id: str, request: Request) -> Request:
            """Store the run as a run of the key. Return its request with a budget within the key's limits."""
            orchestrator.validate(request)  # every stored run must be able to start
            model = panel.model_name(request.model)
            trace.create(run_id, request, evaluation.collection, model, key)
            return limit_budget(trace, key, limits, request, panel.settings.research.budget)

        def make_case(question: Question, answer: Answer) -> Case:
            return observe(question, answer, trace.events(answer.run_id), source_of)

        def judge(run_id: str) -> RunLLM | None:
            """Return the judge's model. It uses the run's journal, so no call is paid twice."""
            if evaluation.judge_endpoint is None:
                return None
            return RunLLM(models.get(evaluation.judge_endpoint), RunCalls(trace.journal(run_id)), "Judge")

        def may_ask() -> bool:
            return has_tokens(trace, key, limits)

        kit = RunnerKit(ask, make_case, tuple(chosen.values()), judge, may_ask)
        return await Runner(kit, self.store, parallel=parallel, budget=budget, on_row=publish).run(result)

    def run_all(
        self,
        results: Iterable[EvaluationResult],
        *,
        parallel: int,
        budget: Budget,
        on_row: Callable[[Evaluation, Row], None],
    ) -> None:
        """Resume evaluations one after the other, in this thread. Raises StoreError, AgentError."""
        for result in results:
            evaluation = result.evaluation
            with self._collections.open_library(evaluation.collection) as library:

                def publish(row: Row, evaluation: Evaluation = evaluation) -> None:
                    on_row(evaluation, row)

                asyncio.run(self.resume(library, result, parallel=parallel, budget=budget, publish=publish))

    def draft_questions(
        self, collection: str, count: int, seed: int, *, output: TextIO, on_skip: Callable[[str], None]
    ) -> int:
        """Let the model propose questions. Each is written to ``output`` at once, so an interrupt loses none.

        Returns the number of questions. ``on_skip`` is called with the reason for each passage without a question.
        Raises StoreError, LLMError, OSError.
        """
        with self._collections.open_library(collection) as library:
            passages = choose_passages(library.scan(), count, seed)

        async def write_drafts() -> int:
            written = 0
            async for each in draft(self._panel.models().default, passages):
                if isinstance(each, Question):
                    output.write(dump_questions([each]))
                    output.flush()
                    written += 1
                else:
                    on_skip(f"No question: {each}")
            return written

        return asyncio.run(write_drafts())

    def _panel_for(self, configuration: Configuration) -> PanelFactory:
        """Return a panel with the settings of the configuration. Raises UsageError, ValidationError."""
        own, settings = configuration.settings, self._panel.settings
        if unknown := own.keys() - set(SETTABLE):
            raise UsageError(f"A configuration cannot set {', '.join(sorted(unknown))}, only {' and '.join(SETTABLE)}.")
        if "api_key" in own.get("llm", {}):
            raise UsageError(
                "A configuration is stored with its evaluation. Set the key with CANDOR_LLM__API_KEY instead."
            )
        changed = {
            name: type(now).model_validate({**now.model_dump(exclude_unset=True), **own[name]})
            for name in own
            for now in [getattr(settings, name)]
        }
        research = changed.get("research", settings.research).model_copy(update={"remember_plans": False})
        return replace(self._panel, settings=settings.model_copy(update={**changed, "research": research}))


def choose_metrics(names: Sequence[str], *, judged: bool) -> dict[str, Metric]:
    """Return the named metrics, or all. Metrics that need a judge are available only if ``judged``.

    Raises UsageError.
    """
    known = {name: metric for name, metric in discover().items() if judged or not metric.card.needs_judge}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(
            f"Unknown metric {', '.join(unknown)}. There are {', '.join(known)}. Metrics that ask a model need a judge."
        ).with_command("Choose one with --judge.")
    return {name: known[name] for name in names or known}


def _request(question: Question, configuration: Configuration) -> Request:
    return Request(
        question=question.question,
        mode=configuration.mode,
        agent=configuration.agent,
        model=configuration.endpoint,
        samples=configuration.samples,
        budget=configuration.run_budget,
    )
