"""Returns the text around an item of evidence, from its document or from the texts stored with the run."""

from collections.abc import Iterable
from functools import cached_property

from pydantic import Field

from api.auth.permissions import Caller
from api.errors import EvidenceNotFound, InBin
from api.services.documents.documents import Documents
from api.services.research.runs import find_run
from base.models import FrozenModel
from ingest.errors import DocumentNotFound
from ingest.ledger.records import DocumentRecord, DocumentText
from ingest.pipeline.web_address import URL
from multi_agent.grounding.quotes import places
from multi_agent.storage.tool_calls import ToolCalls
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Quote
from multi_agent.values.sources import given_passages
from vectorstore.errors import CollectionNotFound
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


class RunSources:
    """The texts of the sources of one run. Each text is read once. Calls block."""

    def __init__(self, documents: Documents, calls: ToolCalls, trace: Trace, run_id: str, caller: Caller) -> None:
        """Raises RunNotFound, RunUnderWay."""
        self._documents, self._calls, self._trace = documents, calls, trace
        self.run = find_run(trace, run_id, caller)
        self.quotes = trace.answer(self.run.run_id).evidence
        self.records: dict[str, DocumentRecord] = {}
        """The documents that were read, by id."""
        self._texts: dict[str, DocumentText | None] = {}

    def quote(self, number: int) -> Quote:
        """Return the quote with this number. Raises EvidenceNotFound."""
        found = {quote.number: quote for quote in self.quotes}
        if number not in found:
            numbers = ", ".join(map(str, found)) or "none"
            raise EvidenceNotFound(
                f"The answer of {self.run.run_id} has no evidence {number}. Its evidence: {numbers}."
            )
        return found[number]

    def text(self, quote: Quote) -> DocumentText | None:
        """Return the text of the source of a quote. None if it is gone."""
        if quote.document_id not in self._texts:
            self._texts[quote.document_id] = self._kept(quote) if quote.origin else self._read(quote)
        return self._texts[quote.document_id]

    @cached_property
    def _returned(self) -> dict[str, str]:
        """Texts returned by tools, by source id."""
        entries = self._calls.entries(self.run.run_id)
        return _joined(chunk for entry in entries if entry.result for chunk in entry.result.passages)

    @cached_property
    def _given(self) -> dict[str, str]:
        """Texts that the caller sent with the question, by source id."""
        started = self._trace.started(self.run.run_id)
        return _joined(given_passages(started.request.rag_results) if started else ())

    def _kept(self, quote: Quote) -> DocumentText | None:
        texts = self._given if quote.origin and quote.origin.kind == "caller" else self._returned
        words = texts.get(quote.document_id)
        return None if words is None else DocumentText(text=words, blocks=(), pages=())

    def _read(self, quote: Quote) -> DocumentText | None:
        try:
            record = self._documents.find(quote.document_id, part_of(self.run.collection, quote.name))
            text = self._documents.text(record)
        except (DocumentNotFound, CollectionNotFound, InBin):
            return None
        self.records[quote.document_id] = record
        return text


def evidence_text(sources: RunSources, number: int) -> KeptText:
    """Return the text of an item of evidence. Raises EvidenceNotFound."""
    quote = sources.quote(number)
    if (source := sources.text(quote)) is None:
        run, where = sources.run, part_of(sources.run.collection, quote.name)
        gone = f"was not kept with {run.run_id}" if quote.origin else f"is no longer in collection {where!r}"
        raise EvidenceNotFound(f"{quote.name} {gone}. Evidence {number} quotes it: “{quote.quote}”")
    if (now := place_in(source, quote)) is None:
        raise EvidenceNotFound(f"The source of evidence {number} has changed and no longer contains the quote.")
    record = sources.records.get(quote.document_id)
    return KeptText(
        number=now.number, name=now.name, origin=now.origin, text=source.text, start=now.start, end=now.end,
        pages=now.pages, printed_pages=now.printed_pages, moved=now != quote, path=record.path if record else "",
        url=str(record.metadata.get(URL, "")) if record else "",
    )  # fmt: skip


def kept_text(sources: RunSources, number: int) -> KeptText:
    """Return the text of evidence that was stored with the run. Raises EvidenceNotFound, also for a document's."""
    quote = sources.quote(number)
    if quote.origin is None:
        raise EvidenceNotFound(
            f"Evidence {number} of {sources.run.run_id} is from the document {quote.document_id}, whose text is in its "
            "collection."
        )
    return evidence_text(sources, number)


def _joined(passages: Iterable[Chunk]) -> dict[str, str]:
    """Join the passages of each source at their offsets. Newlines fill the gaps between them."""
    texts: dict[str, str] = {}
    for chunk in sorted(passages, key=lambda each: each.start):
        text = texts.get(chunk.document_id, "")
        texts[chunk.document_id] = text[: chunk.start].ljust(chunk.start, "\n") + chunk.text
    return texts


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
