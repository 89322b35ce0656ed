"""Returns the text around an item of evidence, from its document or from the texts stored with the run."""

from collections.abc import Iterable

from pydantic import Field

from api.auth.permissions import Caller
from api.errors import EvidenceNotFound
from api.services.documents.documents import Documents
from api.services.research.runs import find_run
from base.models import FrozenModel
from ingest.errors import DocumentNotFound
from ingest.ledger.records import DocumentText
from ingest.pipeline.web_address import URL
from multi_agent.grounding.quotes import places
from multi_agent.storage.tool_calls import ToolCalls
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.values.answer import Quote
from multi_agent.values.events import RunStarted
from multi_agent.values.sources import given_passages
from vectorstore.joined import part_of
from vectorstore.models import Chunk, Origin, PrintedPages, page_labels, printed_pages


class KeptText(FrozenModel):
    """A text with the position of a quote, which is ``text[start:end]``."""

    number: int = Field(description="Number of the evidence in the answer.")
    name: str = Field(description="Name of the document, address of the page, or name of the tool.")
    origin: Origin | None = Field(description="The web page with its time of access, or the tool with its arguments.")
    text: str = Field(description="The text of the document or web page, or the result of the tool.")
    start: int
    end: int
    pages: tuple[int, ...] = Field(default=(), description="Pages of the quote, for a document with pages.")
    printed_pages: PrintedPages = ""
    moved: bool = Field(default=False, description="The text has changed since the answer, and the quote has moved.")
    path: str = Field(default="", description="Path of the document's file, only on the command line.")
    url: str = Field(default="", description="Address from which the document was fetched, or empty.")


def evidence_text(
    documents: Documents, calls: ToolCalls, trace: Trace, run_id: str, number: int, caller: Caller
) -> KeptText:
    """Return the text of an item of evidence. Raises RunNotFound, RunUnderWay, EvidenceNotFound, IngestError."""
    run, quote = _find(trace, run_id, number, caller)
    if quote.origin:
        return _kept_with_run(calls, trace, run, quote)
    within = part_of(run.collection, quote.name)
    try:
        document = documents.find(quote.document_id, within)
        text = documents.text(document)
    except DocumentNotFound as error:
        raise EvidenceNotFound(
            f"{quote.name} is no longer in collection {within!r}. Evidence {number} quotes it: “{quote.quote}”"
        ) from error
    known = {"path": document.path, "url": str(document.metadata.get(URL, ""))}
    return _kept(quote, text).model_copy(update=known)


def kept_text(calls: ToolCalls, trace: Trace, run_id: str, number: int, caller: Caller) -> KeptText:
    """Return the text of evidence that was stored with the run.

    Raises RunNotFound, RunUnderWay, and EvidenceNotFound, including for evidence from a document.
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
        raise EvidenceNotFound(f"The answer of {run.run_id} has no evidence {number}. Its evidence: {numbers}.")
    return run, found[number]


def _kept_with_run(calls: ToolCalls, trace: Trace, run: RunSummary, quote: Quote) -> KeptText:
    """Return the text that a tool returned, or that the caller gave with the question."""
    is_given = quote.origin is not None and quote.origin.kind == "caller"
    texts = given_texts(trace, run.run_id) if is_given else returned_texts(calls, run.run_id)
    if quote.document_id not in texts:
        raise EvidenceNotFound(f"The text of evidence {quote.number} was not kept with {run.run_id}.")
    return _kept(quote, DocumentText(text=texts[quote.document_id], blocks=(), pages=()))


def returned_texts(calls: ToolCalls, run_id: str) -> dict[str, str]:
    """Return the texts that tools returned in a run, by source id."""
    return _joined(chunk for entry in calls.entries(run_id) if entry.result for chunk in entry.result.passages)


def given_texts(trace: Trace, run_id: str) -> dict[str, str]:
    """Return the texts that the caller gave with the question, by source id."""
    started = (event.body for event in trace.events(run_id) if isinstance(event.body, RunStarted))
    return _joined(chunk for body in started for chunk in given_passages(body.request.rag_results))


def _joined(passages: Iterable[Chunk]) -> dict[str, str]:
    """Join the passages of each source at their offsets. Newlines fill the gaps between them."""
    texts: dict[str, str] = {}
    for chunk in sorted(passages, key=lambda each: each.start):
        text = texts.get(chunk.document_id, "")
        texts[chunk.document_id] = text[: chunk.start].ljust(chunk.start, "\n") + chunk.text
    return texts


def _kept(quote: Quote, source: DocumentText) -> KeptText:
    if (now := place_in(source, quote)) is None:
        raise EvidenceNotFound(f"The source of evidence {quote.number} has changed and no longer contains the quote.")
    return KeptText(
        number=now.number, name=now.name, origin=now.origin, text=source.text, start=now.start, end=now.end,
        pages=now.pages, printed_pages=now.printed_pages, moved=now != quote,
    )  # fmt: skip


def place_in(source: DocumentText, quote: Quote) -> Quote | None:
    """Return the quote with its offsets and pages in the text; None if the text no longer contains it.

    An edit or a new reader may have moved the quote, and broken its lines at other places.
    Of several places, the one nearest to the old offset counts. White space, quotation marks and dashes may differ.
    """
    text = source.text
    if quote.picture or text[quote.start : quote.end] == quote.quote:
        return quote
    if (place := min(places(quote.quote, text), key=lambda place: abs(place[0] - quote.start), default=None)) is None:
        return None
    start, end = place
    pages = tuple(page.number for page in source.pages if page.start < end and start < page.end)
    printed = printed_pages(page_labels(source.pages), pages)
    moved = {"start": start, "end": end, "quote": text[start:end], "pages": pages, "printed_pages": printed}
    return quote.model_copy(update=moved)
