"""Creates a question set from the answers that people have rated."""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePath

from ingest.ledger.ledger import Ledger
from multi_agent.evaluation.case import without_marks
from multi_agent.evaluation.question_set import AnswerType, Gold, Question, QuestionSet
from multi_agent.storage.run_filter import Rating, RunFilter
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.values.answer import Answer, Status

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
