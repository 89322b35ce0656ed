"""Collections, their documents, and searching them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query
from pydantic import Field

from api.auth.permissions import Caller, Right
from api.http.deps import CollectionQuery, CurrentCaller, Served, Service
from api.http.errors import problems
from api.services.documents import find_document, list_documents, take_out
from ingest.ledger.lock import ingest_lock
from ingest.ledger.records import DocumentRecord, DocumentState, DocumentText
from multi_agent.request import LONGEST
from vectorstore.models import Chunk, FrozenModel

router = APIRouter(prefix="/v1", tags=["documents"])

DocumentId = Annotated[
    str,
    Path(description="The document's id, or the beginning of it.", examples=["0f6b2c1e-8d52-5b0e-9a55-3c2f5e0f4a17"]),
]


class CollectionInfo(FrozenModel):
    """A collection and how much is in it."""

    name: str
    embedding_model: str
    dimension: int
    chunking: str
    documents: int = Field(description="that are searched")
    chunks: int
    failed: int = Field(description="documents that could not be read")


class SearchRequest(FrozenModel):
    """What to look for."""

    query: str = Field(min_length=1, max_length=LONGEST, pattern=r"\S", description="words, or a question")
    collection: str | None = Field(default=None, description="not needed if there is just one")
    limit: int = Field(default=10, ge=1, le=1000)


class FoundPassage(Chunk):
    """A passage, with what it scored; scores order the hits of one search and mean nothing across searches."""

    score: float


class Removed(FrozenModel):
    """A document that was taken out."""

    removed: str = Field(description="its id")
    name: str
    chunks: int


@router.get("/collections", responses=problems(503))
def collections(service: Served, caller: CurrentCaller) -> list[CollectionInfo]:
    """The collections there are, of those that you may read."""
    return [
        CollectionInfo(
            name=spec.collection,
            embedding_model=spec.embedding_model,
            dimension=spec.dimension,
            chunking=spec.chunking,
            documents=sum(document.chunks > 0 for document in known),
            chunks=sum(document.chunks for document in known),
            failed=sum(document.state is DocumentState.FAILED for document in known),
        )
        for spec in service.candor.collections()
        if caller.may(Right.READ, spec.collection)
        for known in [service.candor.ledger.snapshot(spec.collection).values()]
    ]


@router.get("/documents", responses=problems(404, 422, 503))
def documents(
    service: Served,
    caller: CurrentCaller,
    collection: CollectionQuery = None,
    state: Annotated[DocumentState | None, Query(description="Only those in this state.")] = None,
) -> list[DocumentRecord]:
    """The documents of a collection with their states, and why some failed."""
    return list_documents(service.candor, service.collection(caller, Right.READ, collection), state)


@router.get("/documents/{document}", responses=problems(404, 422, 503))
def document(
    service: Served, caller: CurrentCaller, document: DocumentId, collection: CollectionQuery = None
) -> DocumentRecord:
    """What is known of a document."""
    return find_document(service.candor, document, service.collection(caller, Right.READ, collection))


@router.get("/documents/{document}/text", responses=problems(404, 422, 503))
def text(
    service: Served, caller: CurrentCaller, document: DocumentId, collection: CollectionQuery = None
) -> DocumentText:
    """The parsed text, into which the spans of passages and quotes point, with its pages and blocks."""
    found = find_document(service.candor, document, service.collection(caller, Right.READ, collection))
    return service.candor.ledger.text(found.collection, found.id)


@router.delete("/documents/{document}", responses=problems(404, 409, 422, 503))
def remove(service: Served, caller: CurrentCaller, document: DocumentId, collection: CollectionQuery = None) -> Removed:
    """Take a document out of its collection.

    A file that was uploaded goes with it: it is Candor's own copy. Any other stays, and is read in again if it is
    ingested again.
    """
    candor = service.candor
    found = find_document(candor, document, service.collection(caller, Right.WRITE, collection))
    opened = service.pool.take(found.collection)
    with ingest_lock(candor.engine, found.collection):
        take_out(candor, opened.collection, found)
    return Removed(removed=found.id, name=found.name, chunks=found.chunks)


@router.post("/search", responses=problems(404, 409, 422, 503))
async def search(
    service: Served,
    caller: CurrentCaller,
    wanted: Annotated[SearchRequest, Body(examples=[{"collection": "papers", "query": "heat pumps below -20 °C"}])],
) -> list[FoundPassage]:
    """Find passages by words and by meaning, best first, without a language model."""
    return await service.pool.searches.run(_search, service, caller, wanted)


def _search(service: Service, caller: Caller, wanted: SearchRequest) -> list[FoundPassage]:
    opened = service.pool.take(service.collection(caller, Right.READ, wanted.collection))
    hits = opened.library.retriever.search([wanted.query], wanted.limit)
    return [FoundPassage(**dict(hit.chunk), score=hit.score) for hit in hits]
