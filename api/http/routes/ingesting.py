"""Bringing documents in: uploads, files of this machine, and what is to be read again; and deleting a collection.

All of it is done by jobs, which go on when the connection has ended: `GET /v1/jobs/{job_id}` tells how far one is.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Body, Path, Request, Response
from pydantic import Field

from api.auth.permissions import Caller, Right
from api.errors import UsageError
from api.http.deps import CollectionQuery, CurrentCaller, IdempotencyKey, Served, Service
from api.http.errors import problems
from api.http.middleware.body_limit import bounds_its_body
from api.http.routes.documents import DocumentId
from api.http.uploads import UploadLimits, receive
from api.jobs.ingest import submit_ingest
from api.jobs.models import Job
from api.services.documents import find_document
from api.services.ingest import IngestJobSpec, make_ingest_service, require_readable
from ingest.ledger.records import DocumentRecord
from vectorstore.models import NAME, FrozenModel

router = APIRouter(prefix="/v1", tags=["documents"])

CollectionName = Annotated[
    str, Path(description="Name of the collection.", pattern=rf"^{NAME.pattern}$", examples=["papers"])
]
_UPLOAD = {
    "requestBody": {
        "required": True,
        "description": "Files with their names, which may have folders in them (`reports/2024.pdf`).",
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {"files": {"type": "array", "items": {"type": "string", "format": "binary"}}},
                }
            }
        },
    }
}


class IngestRequest(FrozenModel):
    """What is to be ingested: files and folders of the service's machine, or what failed."""

    paths: tuple[str, ...] = Field(default=(), description="absolute; in the folders that service.ingest_roots names")
    retry_failed: bool = Field(
        default=False,
        description="try failed files again though they have not changed; if there are no paths, all that failed or "
        "were left unfinished",
    )
    sync: bool = Field(default=False, description="remove documents whose files are gone from below the paths")


class Dropped(FrozenModel):
    """A collection that was deleted, with what was uploaded into it."""

    dropped: str = Field(description="its name")


@router.post(
    "/collections/{collection}/documents",
    status_code=202,
    responses=problems(404, 409, 413, 422, 503),
    openapi_extra=_UPLOAD,
)
async def upload(
    request: Request,
    response: Response,
    service: Served,
    caller: CurrentCaller,
    collection: CollectionName,
    idempotency_key: IdempotencyKey = None,
) -> Job:
    """Upload files into a collection, which is made if there is none, and have them ingested.

    A file of the same name, with its folders, replaces the one before, and its document. An upload that is refused, or
    does not come to its end, leaves nothing behind.
    """
    caller.require(Right.WRITE, collection)
    bounds_its_body(request)
    uploads, settings = service.candor.uploads, service.candor.settings
    limits = UploadLimits(
        total_bytes=settings.service.upload_bytes,
        files=settings.service.upload_files,
        file_bytes=settings.ingest.max_file_mb << 20,
    )
    with uploads.incoming() as folder:
        received = await receive(request, folder, limits)
        paths = await asyncio.to_thread(uploads.accept, collection, received)
    order = IngestJobSpec(collection=collection, paths=tuple(map(str, paths)))
    return await _begun(service, caller, order, idempotency_key, response)


@router.post("/collections/{collection}/ingest", status_code=202, responses=problems(404, 409, 422, 503))
async def ingest(
    response: Response,
    service: Served,
    caller: CurrentCaller,
    collection: CollectionName,
    wanted: Annotated[IngestRequest, Body(examples=[{"paths": ["/srv/papers"]}, {"retry_failed": True}])],
    idempotency_key: IdempotencyKey = None,
) -> Job:
    """Ingest files and folders of the service's machine, where it is allowed, or try again what failed."""
    caller.require(Right.WRITE, collection)
    if not (wanted.paths or wanted.retry_failed):
        raise UsageError("What is to be ingested? Name paths, or set retry_failed.")
    if wanted.sync and not wanted.paths:
        raise UsageError("`sync` needs the paths that it is about.")
    order = IngestJobSpec(collection=collection, **wanted.model_dump())
    await asyncio.to_thread(_check, service, order)
    return await _begun(service, caller, order, idempotency_key, response)


@router.post("/documents/{document}/ingest", status_code=202, responses=problems(404, 409, 422, 503))
async def ingest_again(
    response: Response,
    service: Served,
    caller: CurrentCaller,
    document: DocumentId,
    collection: CollectionQuery = None,
    idempotency_key: IdempotencyKey = None,
) -> Job:
    """Read a document again: one that failed, or whose file or settings have changed. What lies in an archive is read
    again with it.
    """
    found = await asyncio.to_thread(_found, service, caller, document, collection)
    order = IngestJobSpec(collection=found.collection, documents=(found.id,), retry_failed=True)
    return await _begun(service, caller, order, idempotency_key, response)


@router.delete("/collections/{collection}", responses=problems(404, 409, 422, 503))
def drop(service: Served, caller: CurrentCaller, collection: CollectionName) -> Dropped:
    """Delete a collection, what is known of its documents, and the files that were uploaded into it.

    Files that were ingested from where they lie stay there, and so do past runs.
    """
    caller.require(Right.ADMIN, collection)
    service.pool.drop(collection)
    return Dropped(dropped=collection)


def _found(service: Service, caller: Caller, document: str, collection: str | None) -> DocumentRecord:
    return find_document(service.candor, document, service.collection(caller, Right.WRITE, collection))


def _check(service: Service, order: IngestJobSpec) -> None:
    """Refuse at once what the job could only fail at."""
    require_readable(service.candor.settings, order.paths)
    make_ingest_service(service.candor).check(order.request)


async def _begun(
    service: Service, caller: Caller, order: IngestJobSpec, idempotency_key: str | None, response: Response
) -> Job:
    job = await submit_ingest(service.jobs, order, caller, idempotency_key)
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return job
