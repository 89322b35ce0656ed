"""The contents of a document: its text, matches in its text, its passages, and the runs that cite it."""

import asyncio
from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import Field

from api.errors import UsageError
from api.http.deps import CandorDep, CurrentCaller, PartsDep
from api.http.errors import problem_responses
from api.http.paging import PAGED, link_next
from api.http.router import make_router
from api.http.routes.documents.documents import ReadableDocument, ScoredPassage, respond
from api.services.documents.contents import Places, TextPart, find_text, page_text, passages, text_part
from api.services.documents.differences import Differences
from api.services.documents.search import search_document
from api.services.research.runs import list_runs
from base.models import FrozenModel
from multi_agent.storage.run_filter import RunFilter
from multi_agent.storage.tables import Citation
from multi_agent.storage.trace import RunSummary
from multi_agent.values.request import LONGEST
from vectorstore.models import Chunk, SearchMode

router = make_router(prefix="/v1/documents", tags=["documents"])

Words = Annotated[str, Query(min_length=1, max_length=LONGEST, pattern=r"\S")]
First = Annotated[int, Query(ge=0, description="Number of the first one to return, from 0.")]


class CitingRun(FrozenModel):
    """A run whose answer cites the document."""

    run: RunSummary
    quotes: tuple[Citation, ...] = Field(description="The cited quotes of the document.")


@router.get("/{document}/text", responses=problem_responses(404, 422, 503))
def text(
    candor: CandorDep,
    document: ReadableDocument,
    page: Annotated[int | None, Query(ge=1, description="Return only the text of this page.")] = None,
    start: Annotated[int, Query(ge=0, description="Return the text from this offset.")] = 0,
    limit: Annotated[int | None, Query(ge=1, description="Return at most this number of characters.")] = None,
) -> TextPart:
    """Get the parsed text of a document, of one page or of a part, with pages and blocks.

    Spans of passages and quotes are offsets in the whole text.
    """
    if page is not None and (start or limit):
        raise UsageError("Use either page, or start and limit.")
    whole = candor.documents.text(document)
    return text_part(whole, start, limit) if page is None else page_text(document, whole, page)


@router.get("/{document}/find", responses=problem_responses(404, 422, 503))
def find(
    candor: CandorDep,
    document: ReadableDocument,
    text: Annotated[Words, Query(description="The text to find. Ignores case and the kind of white space.")],
    first: First = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Places:
    """Find exact matches of a text in a document. Returns the number of matches and a page of them."""
    return find_text(candor.documents.text(document), text, first, limit)


@router.get("/{document}/search", response_model=list[ScoredPassage], responses=problem_responses(404, 409, 422, 503))
def search(
    parts: PartsDep,
    document: ReadableDocument,
    query: Annotated[Words, Query(description="Words or a question.")],
    limit: Annotated[int, Query(ge=1, le=1000)] = 10,
    mode: Annotated[SearchMode, Query(description="By words, by meaning, or by both (hybrid).")] = SearchMode.HYBRID,
) -> Response:
    """Search the passages of one document by keywords and by meaning, best first, without a language model."""
    hits = search_document(parts.pool, document, query, limit, mode)
    return respond(hits)


@router.get("/{document}/differences", responses=problem_responses(404, 422, 503))
def differences(
    candor: CandorDep,
    parts: PartsDep,
    document: ReadableDocument,
    other: Annotated[
        str | None, Query(description="Id, path or name of the other document in the same collection.")
    ] = None,
) -> Differences:
    """Compare a document with another one, such as its next version, section by section, without a language model.

    Without `other`, it is compared with the version before it.
    """
    if other is not None:
        return candor.documents.compare(document.id, other, document.collection)
    before = candor.documents.version_before(document, parts.pool.library(document.collection))
    return candor.documents.compare(before.id, document.id, document.collection)


class MeaningRequest(FrozenModel):
    """A request to explain the changes between two documents."""

    other: str = Field(
        min_length=1,
        description="Id, path or name of the new document in the same collection.",
        examples=["lease-v2.docx"],
    )
    model: str = Field(default="", description="Named model endpoint. Empty: the default one.")


@router.post("/{document}/differences", responses=problem_responses(404, 422, 503))
async def explain_differences(
    candor: CandorDep, caller: CurrentCaller, document: ReadableDocument, wanted: MeaningRequest
) -> Differences:
    """Compare a document with a newer one, and explain what the changes mean. The model reads only the changes.

    A point is kept only if the changes that it cites contain its figures and names.
    """
    found = await asyncio.to_thread(candor.documents.compare, document.id, wanted.other, document.collection)
    return await candor.meanings.add(found, caller, wanted.model)


@router.get("/{document}/passages", responses=PAGED | problem_responses(404, 409, 422, 503))
def list_passages(
    parts: PartsDep,
    request: Request,
    response: Response,
    document: ReadableDocument,
    first: First = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[Chunk]:
    """List the passages of a document with section and pages, in order. The `Link` header names the next page."""
    if first + limit < document.chunks:
        link_next(request, response, first=first + limit)
    return passages(parts.pool.get(document.collection).collection, document, first, limit) if document.chunks else []


@router.get("/{document}/citations", responses=PAGED | problem_responses(404, 422, 503))
def citations(
    candor: CandorDep,
    caller: CurrentCaller,
    request: Request,
    response: Response,
    document: ReadableDocument,
    after: Annotated[str | None, Query(description="Return only runs after this one.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> list[CitingRun]:
    """List the runs whose answers cite a document, newest first, with the cited quotes.

    The `Link` header names the next page.
    """
    wanted = RunFilter(collection=document.collection, cites=document.id, after=after)
    runs = list_runs(candor.trace, wanted, limit + 1, caller)
    page = runs[:limit]
    if len(runs) > limit:
        link_next(request, response, after=page[-1].run_id)
    quotes = candor.trace.citations(document.id, [run.run_id for run in page])
    return [CitingRun(run=run, quotes=tuple(quotes[run.run_id])) for run in page]
