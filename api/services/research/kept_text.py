"""Returns the text around an item of evidence, from its document or from the texts kept with the run."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from api.auth.permissions import Caller
from api.errors import EvidenceNotFound
from api.services.documents.documents import Documents
from api.services.research.runs import find_run
from multi_agent.answer import Quote
from multi_agent.events import RunStarted
from multi_agent.sources import given_passages
from multi_agent.storage.tool_calls import ToolCalls
from multi_agent.storage.trace import RunSummary, Trace
from vectorstore.models import Chunk, FrozenModel, Origin


class KeptText(FrozenModel):
    """A text with the place of a quote: ``text[start:end]`` is the quote."""

    number: int = Field(description="Number of the evidence in the answer.")
    name: str = Field(description="Name of the document, address of the page, or name of the tool.")
    origin: Origin | None = Field(description="The web page and when it was read, or the tool and its arguments.")
    text: str = Field(description="The text as it was read or returned.")
    start: int
    end: int


def evidence_text(
    documents: Documents, calls: ToolCalls, trace: Trace, run_id: str, number: int, caller: Caller
) -> KeptText:
    """Return the text of an item of evidence. Raises RunNotFound, RunUnderWay, EvidenceNotFound, IngestError."""
    run, quote = _find(trace, run_id, number, caller)
    if quote.origin:
        return _kept_with_run(calls, trace, run, quote)
    text = documents.text(documents.find(quote.document_id, run.collection)).text
    return _kept(quote, text)


def kept_text(calls: ToolCalls, trace: Trace, run_id: str, number: int, caller: Caller) -> KeptText:
    """Return the text of evidence that was kept with the run.

    Raises RunNotFound, RunUnderWay, and EvidenceNotFound, also for evidence from a document.
    """
    run, quote = _find(trace, run_id, number, caller)
    if quote.origin is None:
        raise EvidenceNotFound(
            f"Evidence {number} of {run.run_id} is from the document {quote.document_id}, whose text is in its "
            "collection."
        )
    return _kept_with_run(calls, trace, run, quote)


def _find(trace: Trace, run_id: str, number: int, caller: Caller) -> tuple[RunSummary, Quote]:
    run = find_run(trace, run_id, caller)
    found = {quote.number: quote for quote in trace.answer(run.run_id).evidence}
    if number not in found:
        numbers = ", ".join(map(str, found)) or "none"
        raise EvidenceNotFound(f"The answer of {run.run_id} has no evidence {number}; there are: {numbers}.")
    return run, found[number]


def _kept_with_run(calls: ToolCalls, trace: Trace, run: RunSummary, quote: Quote) -> KeptText:
    """Return the text that a tool returned, or that the caller gave with the question."""
    returned = (each.result.passages for each in calls.entries(run.run_id) if each.result)
    sources = returned if quote.origin and quote.origin.kind != "caller" else [_given(trace, run)]
    passages = [chunk for each in sources for chunk in each if chunk.document_id == quote.document_id]
    if not passages:
        raise EvidenceNotFound(f"The text of evidence {quote.number} was not kept with {run.run_id}.")
    return _kept(quote, _joined(passages))


def _given(trace: Trace, run: RunSummary) -> tuple[Chunk, ...]:
    started = (event.body for event in trace.events(run.run_id) if isinstance(event.body, RunStarted))
    return tuple(chunk for body in started for chunk in given_passages(body.request.rag_results))


def _joined(passages: Iterable[Chunk]) -> str:
    """Join the passages at their offsets. Newlines fill the gaps between them."""
    text = ""
    for chunk in sorted(passages, key=lambda each: each.start):
        text = text[: chunk.start].ljust(chunk.start, "\n") + chunk.text
    return text


def _kept(quote: Quote, text: str) -> KeptText:
    if text[quote.start : quote.end] != quote.quote:
        raise EvidenceNotFound(f"Evidence {quote.number} is no longer in its text, which has changed since.")
    return KeptText(
        number=quote.number, name=quote.name, origin=quote.origin, text=text, start=quote.start, end=quote.end
    )
