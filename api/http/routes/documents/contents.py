"""The contents of a document: its text, matches in its text, its passages, and the runs that cite it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import Field

from api.auth.permissions import Right
from api.errors import UsageError
from api.http.deps import CollectionQuery, CollectionsDep, CurrentCaller, DocumentsDep, PoolDep, TraceDep
from api.http.errors import problem_responses
from api.http.paging import PAGED, link_next
from api.http.router import make_router
from api.http.routes.documents.documents import DocumentId, FoundPassage, respond
from api.services.documents.contents import Places, TextPart, find_text, page_text, passages, text_part
from api.services.documents.search import search_document
from api.services.research.runs import list_runs
from base.models import FrozenModel
from multi_agent.storage.citations import Citation
from multi_agent.storage.run_filter import RunFilter
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
    documents: DocumentsDep,
    collections: CollectionsDep,
    caller: CurrentCaller,
    document: DocumentId,
    collection: CollectionQuery = None,
    page: Annotated[int | None, Query(ge=1, description="Return only the text of this page.")] = None,
    start: Annotated[int, Query(ge=0, description="Return the text from this offset.")] = 0,
    limit: Annotated[int | None, Query(ge=1, description="Return at most this number of characters.")] = None,
) -> TextPart:
    """Get the parsed text of a document, of one page or of a part, with pages and blocks.

    Spans of passages and quotes are offsets in the whole text.
    """
    if page is not None and (start or limit):
        raise UsageError("Use either page, or start and limit.")
    found = documents.find(document, collections.resolve_for(caller, Right.READ, collection))
    whole = documents.text(found)
    return text_part(whole, start, limit) if page is None else page_text(found, whole, page)


@router.get("/{document}/find", responses=problem_responses(404, 422, 503))
def find(
    documents: DocumentsDep,
    collections: CollectionsDep,
    caller: CurrentCaller,
    document: DocumentId,
    text: Annotated[Words, Query(description="The text to find. Ignores case and the kind of white space.")],
    first: First = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    collection: CollectionQuery = None,
) -> Places:
    """Find exact matches of a text in a document. Returns the number of matches and a page of them."""
    found = documents.find(document, collections.resolve_for(caller, Right.READ, collection))
    return find_text(documents.text(found), text, first, limit)


@router.get("/{document}/search", response_model=list[FoundPassage], responses=problem_responses(404, 409, 422, 503))
def search(
    documents: DocumentsDep,
    collections: CollectionsDep,
    pool: PoolDep,
    caller: CurrentCaller,
    document: DocumentId,
    query: Annotated[Words, Query(description="Words or a question.")],
    limit: Annotated[int, Query(ge=1, le=1000)] = 10,
    mode: Annotated[SearchMode, Query(description="By words, by meaning, or by both (hybrid).")] = SearchMode.HYBRID,
    collection: CollectionQuery = None,
) -> Response:
    """Search the passages of one document by keywords and by meaning, best first, without a language model."""
    found = documents.find(document, collections.resolve_for(caller, Right.READ, collection))
    hits = search_document(pool, found, query, limit, mode)
    return respond(hits)


@router.get("/{document}/passages", responses=PAGED | problem_responses(404, 409, 422, 503))
def list_passages(
    documents: DocumentsDep,
    collections: CollectionsDep,
    pool: PoolDep,
    caller: CurrentCaller,
    request: Request,
    response: Response,
    document: DocumentId,
    first: First = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    collection: CollectionQuery = None,
) -> list[Chunk]:
    """List the passages of a document with section and pages, in order. The `Link` header names the next page."""
    found = documents.find(document, collections.resolve_for(caller, Right.READ, collection))
    if first + limit < found.chunks:
        link_next(request, response, first=first + limit)
    return passages(pool.get(found.collection).collection, found, first, limit) if found.chunks else []


@router.get("/{document}/citations", responses=PAGED | problem_responses(404, 422, 503))
def citations(
    documents: DocumentsDep,
    collections: CollectionsDep,
    trace: TraceDep,
    caller: CurrentCaller,
    request: Request,
    response: Response,
    document: DocumentId,
    after: Annotated[str | None, Query(description="Return only runs after this one.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    collection: CollectionQuery = None,
) -> list[CitingRun]:
    """List the runs whose answers cite a document, newest first, with the cited quotes.

    The `Link` header names the next page.
    """
    found = documents.find(document, collections.resolve_for(caller, Right.READ, collection))
    wanted = RunFilter(collection=found.collection, cites=found.id, after=after)
    runs = list_runs(trace, wanted, limit + 1, caller)
    page = runs[:limit]
    if len(runs) > limit:
        link_next(request, response, after=page[-1].run_id)
    quotes = trace.citations(found.id, [run.run_id for run in page])
    return [CitingRun(run=run, quotes=tuple(quotes[run.run_id])) for run in page]
