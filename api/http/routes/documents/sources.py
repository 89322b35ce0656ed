"""Sources of collections: sites, feeds, remote folders and services that are read again by a sync."""

from typing import Annotated

from fastapi import Body, Path, Query, Response
from pydantic import Field

from api.auth.permissions import Right
from api.http.deps import CandorDep, CurrentCaller, IdempotencyKey, PartsDep
from api.http.errors import problem_responses
from api.http.router import make_router
from api.http.routes.documents.ingest import CollectionName, submit
from api.jobs.models import Job
from base.models import FrozenModel
from ingest.ledger.sources import SourceRecord, SourceSpec
from ingest.pipeline.plan import IngestRequest
from ingest.sources.git import GitOptions
from ingest.sources.web import WebOptions
from vectorstore.errors import CollectionNotFound

router = make_router(prefix="/v1", tags=["documents"])

SourceName = Annotated[str, Path(description="Name of the source.", examples=["handbook"])]
_HANDBOOK = {"address": "https://example.org/handbook/", "name": "handbook", "options": {"depth": 3}}


class NewSource(SourceSpec):
    """A page, a site, a feed or a Git repository to add to a collection."""

    options: WebOptions | GitOptions = WebOptions()


_SHOWN = {*WebOptions.model_fields, *GitOptions.model_fields}


class RemovedSource(FrozenModel):
    """A removed source."""

    removed: str = Field(description="Name of the source.")
    documents: int = Field(description="Number of documents that were removed with it.")


@router.get("/sources", responses=problem_responses(422, 503))
def sources(
    candor: CandorDep,
    caller: CurrentCaller,
    collection: Annotated[str | None, Query(description="Return only sources of this collection.")] = None,
) -> list[SourceRecord]:
    """List the sources with the state, the end and the errors of the last sync.

    Options are shown only as far as they contain no secret.
    """
    found = (each for each in candor.sources.table.list(collection) if caller.may(Right.READ, each.collection))
    return [
        each.model_copy(update={"options": {name: each.options[name] for name in each.options if name in _SHOWN}})
        for each in found
    ]


@router.post("/collections/{collection}/sources", status_code=201, responses=problem_responses(404, 409, 422, 503))
def add(
    candor: CandorDep,
    caller: CurrentCaller,
    collection: CollectionName,
    body: Annotated[NewSource, Body(examples=[_HANDBOOK])],
) -> SourceRecord:
    """Add a page, a site, a feed or a Git repository, or change the options of one with the same address.

    Other kinds of sources are added on the command line of the service's machine.
    """
    caller.require(Right.WRITE, collection)
    candor.collections.require_kept(collection)
    given = body.model_dump() | {"options": body.options.model_dump(exclude_unset=True)}
    return candor.sources.add(SourceRecord(collection=collection, **given), web_only=True)


@router.post(
    "/collections/{collection}/sources/{name}/sync", status_code=202, responses=problem_responses(404, 409, 422, 503)
)
async def sync(
    response: Response,
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    collection: CollectionName,
    name: SourceName,
    idempotency_key: IdempotencyKey = None,
) -> Job:
    """Read what is new or has changed in a source, and remove what it no longer has."""
    caller.require(Right.WRITE, collection)
    spec = IngestRequest(collection=collection, source=name)
    return await submit(candor, parts.jobs, caller, spec, idempotency_key, response)


@router.delete("/collections/{collection}/sources/{name}", responses=problem_responses(404, 409, 422, 503))
def remove(
    candor: CandorDep, parts: PartsDep, caller: CurrentCaller, collection: CollectionName, name: SourceName
) -> RemovedSource:
    """Remove a source and its documents."""
    caller.require(Right.WRITE, collection)
    source = candor.sources.find(collection, name)
    try:
        opened = parts.pool.get(collection).collection
    except CollectionNotFound:  # it was never synced
        return RemovedSource(removed=name, documents=candor.sources.remove(source, None))
    with candor.collections.lock(collection):
        return RemovedSource(removed=name, documents=candor.sources.remove(source, opened))
