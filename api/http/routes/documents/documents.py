"""Collections and their documents: list, read, search, tag and remove."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Body, Depends, Path, Query, Request, Response
from pydantic import Field, TypeAdapter

from api.auth.permissions import Right
from api.http.deps import CandorDep, CollectionQuery, CollectionsField, CurrentCaller, Now, PartsDep
from api.http.errors import problem_responses
from api.http.paging import PAGED, link_next
from api.http.router import make_router
from api.services.documents.collections import CollectionInfo
from api.services.documents.search import WordCounts, count_words, require_reranker
from api.services.documents.search import search as search_pool
from base.models import FrozenModel
from ingest.ledger.records import DocumentRecord, DocumentState
from multi_agent.values.request import LONGEST, DocumentFilter
from vectorstore.models import Chunk, Hit, SearchMode

router = make_router(prefix="/v1", tags=["documents"])

DocumentId = Annotated[
    str,
    Path(
        description="Id of the document, or the beginning of the id.", examples=["0f6b2c1e-8d52-5b0e-9a55-3c2f5e0f4a17"]
    ),
]


def _document(right: Right) -> Any:
    def find(
        candor: CandorDep, caller: CurrentCaller, document: DocumentId, collection: CollectionQuery = None
    ) -> DocumentRecord:
        return candor.documents.find(document, candor.collections.resolve_for(caller, right, collection))

    return Depends(find)


ReadableDocument = Annotated[DocumentRecord, _document(Right.READ)]
"""The document of the path, in a collection that the caller may read."""
WritableDocument = Annotated[DocumentRecord, _document(Right.WRITE)]


class CountRequest(FrozenModel):
    """Words to find, and where."""

    query: str = Field(
        min_length=1,
        max_length=LONGEST,
        pattern=r"\S",
        description="Words or a question. A phrase in quotes must stand in the passage; `-word` excludes passages. A "
        "count takes one word or phrase, or several in quotes.",
    )
    collection: CollectionsField
    filter: DocumentFilter | None = Field(default=None, description="Filter for documents. Null: all documents.")


class SearchRequest(CountRequest):
    """A search query."""

    limit: int = Field(default=10, ge=1, le=1000)
    mode: SearchMode = Field(default=SearchMode.HYBRID, description="By words, by meaning, or by both (hybrid).")
    rerank: bool = Field(default=False, description="Order the best passages again with the configured reranker.")


class TagChange(FrozenModel):
    """Tags to add to a document, and tags to remove."""

    add: tuple[str, ...] = Field(default=(), max_length=100, description="In lower case, without commas.")
    remove: tuple[str, ...] = Field(default=(), max_length=100)


class ScoredPassage(Chunk):
    """A passage with its score, and why it was found. Scores of different searches cannot be compared."""

    score: float
    words: tuple[str, ...] = Field(default=(), description="The words of the query that the passage has.")
    cosine: float | None = Field(default=None, description="Nearness of meaning. None if it was not compared.")
    bm25: float | None = Field(default=None, description="BM25 score. None if words were not compared.")
    best_bm25: float | None = Field(
        default=None, description="The score that counts as 1: the best, or more if words know little."
    )
    respelt: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="Words of the query that no passage has, each with the words that were searched for instead.",
    )


NOTE_HEADER = "Candor-Note"
_FOUND = TypeAdapter(list[ScoredPassage])


class Removed(FrozenModel):
    """A removed document."""

    removed: str = Field(description="Id of the document.")
    name: str
    chunks: int


@router.get("/collections", responses=problem_responses(503))
def collections(candor: CandorDep, caller: CurrentCaller) -> list[CollectionInfo]:
    """List the collections that you may read."""
    return [each for each in candor.collections.overview() if caller.may(Right.READ, each.name)]


@router.get("/documents", responses=PAGED | problem_responses(404, 422, 503))
def documents(
    candor: CandorDep,
    caller: CurrentCaller,
    request: Request,
    response: Response,
    collection: CollectionQuery = None,
    state: Annotated[DocumentState | None, Query(description="Return only documents in this state.")] = None,
    limit: Annotated[int, Query(ge=1, le=100_000)] = 1_000,
    after: Annotated[str, Query(description="Id of the last document of the page before.")] = "",
) -> list[DocumentRecord]:
    """List the documents of a collection by name, with their states and reasons for failures.

    The `Link` header names the next page.
    """
    name = candor.collections.resolve_for(caller, Right.READ, collection)
    found = candor.documents.list(name, state, limit=limit + 1, after=after)
    page = found[:limit]
    if len(found) > len(page):
        link_next(request, response, after=page[-1].id)
    return page


@router.get("/documents/{document}", responses=problem_responses(404, 422, 503))
def document(document: ReadableDocument) -> DocumentRecord:
    """Get the record of one document."""
    return document


@router.patch("/documents/{document}/tags", responses=problem_responses(404, 422, 503))
def tag(
    candor: CandorDep,
    caller: CurrentCaller,
    document: DocumentId,
    body: Annotated[TagChange, Body(examples=[{"add": ["taxes", "2024"], "remove": ["draft"]}])],
    collection: CollectionQuery = None,
) -> DocumentRecord:
    """Add and remove tags of a document. The document is not read or embedded again."""
    name = candor.collections.resolve_for(caller, Right.WRITE, collection)
    return candor.documents.tag(document, name, add=body.add, remove=body.remove)


@router.delete("/documents/{document}", responses=problem_responses(404, 409, 422, 503))
def remove(
    candor: CandorDep, parts: PartsDep, caller: CurrentCaller, document: WritableDocument, now: Now = False
) -> Removed:
    """Move a document to the bin.

    An uploaded file moves to the bin, too. Other files stay, and a later ingest of their paths reads them again.
    """
    candor.bin.delete_document(document, caller, parts.pool.get(document.collection).collection, now=now)
    return Removed(removed=document.id, name=document.name, chunks=document.chunks)


def respond(hits: Sequence[Hit], note: str = "") -> Response:
    """Return the hits as JSON. FastAPI would validate them again, in another thread."""
    passages = [ScoredPassage.model_construct(**dict(hit) | dict(hit.chunk)) for hit in hits]
    headers = {NOTE_HEADER: note.encode("ascii", "replace").decode()} if note else {}
    return Response(_FOUND.dump_json(passages), media_type="application/json", headers=headers)


@router.post("/search", response_model=list[ScoredPassage], responses=problem_responses(404, 409, 422, 503))
def search(
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    body: Annotated[SearchRequest, Body(examples=[{"collection": "papers", "query": "heat pumps below -20 °C"}])],
) -> Response:
    """Search passages by keywords and by meaning, best first, without a language model.

    The header `Candor-Note` says if the query is in another language than the documents, or if collections with
    different embedding models were searched by words alone. With `rerank`, `Server-Timing` says how long it took, and
    `Candor-Note` if the language model did not read all candidates.
    """
    name = candor.collections.resolve_for(caller, Right.READ, body.collection)
    reranker = require_reranker(candor.reranker) if body.rerank else None
    found = search_pool(parts.pool, name, body.query, body.limit, body.filter, body.mode, reranker)
    response = respond(found.hits, found.note)
    if reranker:
        response.headers["Server-Timing"] = f"rerank;dur={1000 * found.seconds['rerank']:.0f}"
    return response


@router.post("/search/count", responses=problem_responses(404, 409, 422, 503))
def count(
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    body: Annotated[CountRequest, Body(examples=[{"collection": "contracts", "query": '"force majeure"'}])],
) -> WordCounts:
    """Count a word, in all its inflections, or phrases in the whole text of each document, without a language model.

    To count several, put each of them in quotes.
    """
    library = parts.pool.library(candor.collections.resolve_for(caller, Right.READ, body.collection))
    return count_words(library, candor.documents, body.query, body.filter)
