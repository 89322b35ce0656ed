"""Builds the case of a run from its trace: retrieved passages, extracted evidence and citations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from multi_agent.evaluation.case import Case, Cited, Passage
from multi_agent.evaluation.question_set import Question
from multi_agent.llm.wrappers.usage import count_faults
from multi_agent.values.answer import Answer, Quote
from multi_agent.values.events import Event, StepFinished


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
    numbers = {number for claim in answer.claims for number in claim.evidence}
    computed = {number for claim in answer.claims for number in claim.computations}
    yield from (each for each in answer.evidence if each.number in numbers)
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
