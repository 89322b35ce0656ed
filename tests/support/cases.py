"""Short constructors of answered questions for tests of metrics."""

from __future__ import annotations

from typing import Any

from multi_agent.evaluation.case import Case, Cited, Passage
from multi_agent.evaluation.question_set import Question
from multi_agent.model import Usage
from multi_agent.values.answer import Answer, Quote, Status
from multi_agent.values.context import Claim


def question(text: str = "How many?", **fields: Any) -> Question:
    """Return a question of a question set."""
    return Question.model_validate({"id": "q", "question": text, **fields})


def answer(short: str = "", text: str = "", *, status: Status = Status.ANSWERED, **fields: Any) -> Answer:
    """Return the answer of a run."""
    return Answer(
        run_id="run_1", status=status, mode="fast", question="How many?", short=short, answer=text or short, **fields
    )


def refused() -> Answer:
    """Return the answer of a run that ended as insufficient."""
    return answer(status=Status.INSUFFICIENT)


def case(asked: Question, answered: Answer, **fields: Any) -> Case:
    """Return an answered question."""
    return Case(question=asked, answer=answered, **{"retrieved": (), **fields})


def passage(text: str, document: str = "report.pdf", pages: tuple[int, ...] = (), chunk_id: str = "") -> Passage:
    """Return a retrieved passage."""
    return Passage(chunk_id=chunk_id or text, document=document, pages=pages, text=text)


def cited(quote: str, document: str = "report.pdf", pages: tuple[int, ...] = (), *, in_source: bool = True) -> Cited:
    """Return a cited quote."""
    return Cited(document=document, pages=pages, quote=quote, in_source=in_source)


def claimed(text: str, quote: str, **fields: Any) -> Answer:
    """Return an answer with one claim that cites one quote."""
    taken = Quote(
        number=1, document="report.pdf", document_id="d", chunk_id="c", pages=(), start=0, end=len(quote), quote=quote
    )
    claims = (Claim(text=text, evidence=(1,), supported=True),)
    return answer(text=f"{text} [1]", claims=claims, evidence=(taken,), usage=Usage(), **fields)
