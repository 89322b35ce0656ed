"""Uploads, ingests and deletions of collections over HTTP.

Ingests are jobs. They continue if the connection closes, and `GET /v1/jobs/{job_id}` returns their progress.
"""

import asyncio
from collections.abc import Callable
from typing import Annotated

from fastapi import Body, Path, Query, Request, Response
from pydantic import Field

from api.auth.permissions import Caller, Right
from api.bootstrap import Candor
from api.errors import UsageError
from api.http.deps import CandorDep, CurrentCaller, IdempotencyKey, Now, PartsDep
from api.http.errors import problem_responses
from api.http.middleware.body_limit import skip_body_limit
from api.http.router import make_router
from api.http.routes.documents.documents import WritableDocument
from api.http.routes.runs.runs import RunId
from api.http.uploads import UploadLimits, receive_files
from api.jobs.handlers import submit_ingest
from api.jobs.models import Job
from api.jobs.runner import Jobs
from api.services.documents.ingest import require_readable
from api.services.documents.kept_files import keep_file
from base.models import FrozenModel
from ingest.fields import given_fields, tag_names
from ingest.pipeline.plan import IngestOptions
from ingest.pipeline.plan import IngestRequest as PipelineRequest
from vectorstore.models import NAME

router = make_router(prefix="/v1", tags=["documents"])

CollectionName = Annotated[
    str, Path(description="Name of the collection.", pattern=rf"^{NAME.pattern}$", examples=["papers"])
]
_UPLOAD = {
    "requestBody": {
        "required": True,
        "description": "Files with their names. A name can contain folders (`reports/2024.pdf`).",
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {
                        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
                        "meta": {
                            "type": "array",
                            "items": {"type": "string"},
                            "description": "Metadata for all files, each as `project=Orion`.",
                        },
                    },
                }
            }
        },
    }
}


_INGESTS = [{"paths": ["/srv/papers"]}, {"urls": ["https://example.org/a.html"]}, {"retry_failed": True}]


class IngestRequest(IngestOptions):
    """Files and folders on the service's machine to ingest, or failed files to retry."""

    paths: tuple[str, ...] = Field(
        default=(),
        description="Absolute paths inside the folders of the setting service.ingest_roots. Links lead only to them.",
    )


class Dropped(FrozenModel):
    """A deleted collection."""

    dropped: str = Field(description="Name of the collection.")


@router.post(
    "/collections/{collection}/documents",
    status_code=202,
    responses=problem_responses(404, 409, 413, 422, 503),
    openapi_extra=_UPLOAD,
)
async def upload(
    request: Request,
    response: Response,
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    collection: CollectionName,
    tags: Annotated[list[str] | None, Query(max_length=100, description="Tags to add to the documents.")] = None,
    idempotency_key: IdempotencyKey = None,
) -> Job:
    """Upload files into a collection and ingest them. Creates the collection if it does not exist.

    A file replaces the previous file with the same name and folders, and its document. A rejected or incomplete
    upload stores nothing. The files of an accepted one are listed as documents from then on, in state `discovered`.
    """
    caller.require(Right.WRITE, collection)
    await asyncio.to_thread(candor.collections.require_kept, collection)
    names = tag_names(tags or ())
    skip_body_limit(request)
    limits = UploadLimits(
        total_bytes=candor.settings.service.upload_bytes,
        files=candor.settings.service.upload_files,
        file_bytes=candor.settings.ingest.max_file_mb << 20,
        daily=caller.limits,
        left_today=await asyncio.to_thread(candor.keys.uploads_left, caller),
    )
    with candor.uploads.incoming() as folder:
        received, meta = await receive_files(request, folder, limits)
        given_fields(meta.items())
        size = sum(file.stat().st_size for file in received.values())
        await asyncio.to_thread(candor.keys.count_upload, caller, size)
        paths = await asyncio.to_thread(candor.uploads.accept, collection, received)
    spec = PipelineRequest(collection=collection, paths=tuple(paths), tags=names, meta=meta)
    return await _submit(parts.jobs, caller, spec, idempotency_key, response, candor.ingest.expect)


@router.post("/collections/{collection}/ingest", status_code=202, responses=problem_responses(404, 409, 422, 503))
async def ingest(
    response: Response,
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    collection: CollectionName,
    body: Annotated[IngestRequest, Body(examples=_INGESTS)],
    idempotency_key: IdempotencyKey = None,
) -> Job:
    """Ingest files and folders on the service's machine or web addresses, or retry failed files."""
    caller.require(Right.WRITE, collection)
    if not (body.paths or body.urls or body.retry_failed):
        raise UsageError("Nothing to ingest. Give paths or URLs, or set retry_failed.")
    if body.sync and not body.paths:
        raise UsageError("`sync` needs `paths`.")
    spec = PipelineRequest(collection=collection, **body.model_dump())
    await asyncio.to_thread(require_readable, candor.settings, spec.paths)
    return await submit(candor, parts.jobs, caller, spec, idempotency_key, response)


@router.post("/documents/{document}/ingest", status_code=202, responses=problem_responses(404, 409, 422, 503))
async def ingest_again(
    response: Response,
    parts: PartsDep,
    caller: CurrentCaller,
    document: WritableDocument,
    idempotency_key: IdempotencyKey = None,
) -> Job:
    """Ingest a document again, for example after it failed or after its file or the settings changed.

    An archive is ingested again with all its members.
    """
    spec = PipelineRequest(collection=document.collection, documents=(document.id,), retry_failed=True)
    return await _submit(parts.jobs, caller, spec, idempotency_key, response)


@router.post(
    "/runs/{run_id}/files/{name:path}/ingest", status_code=202, responses=problem_responses(404, 409, 422, 503)
)
async def keep(
    response: Response,
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    run_id: RunId,
    name: Annotated[str, Path(description="Name of the file, from the list.", examples=["report.pdf"])],
    idempotency_key: IdempotencyKey = None,
) -> Job:
    """Add a file of a run to the collection of the run and ingest it.

    The file is copied like an upload. The metadata of a downloaded file contains its URL as `url`. The file replaces an
    earlier download from the same URL, but no other file with the same name.
    """
    spec = await asyncio.to_thread(
        keep_file, candor.tools, candor.trace, candor.collections, candor.keys, run_id, name, caller
    )
    return await _submit(parts.jobs, caller, spec, idempotency_key, response, candor.ingest.expect)


@router.delete("/collections/{collection}", responses=problem_responses(404, 409, 422, 503))
def drop(
    candor: CandorDep, parts: PartsDep, caller: CurrentCaller, collection: CollectionName, now: Now = False
) -> Dropped:
    """Move a collection, the records of its documents, and its uploaded files to the bin.

    Keeps past runs, and files that were ingested from their own folders.
    """
    caller.require(Right.ADMIN, collection)
    candor.bin.delete_collection(collection, caller, parts.pool.drop, now=now)
    return Dropped(dropped=collection)


async def submit(
    candor: Candor, jobs: Jobs, caller: Caller, spec: PipelineRequest, idempotency_key: str | None, response: Response
) -> Job:
    """Submit an ingest that can start. Raises errors now instead of in the job."""
    await asyncio.to_thread(candor.ingest.check, spec, candor.ingest.boundary(spec.collection))
    return await _submit(jobs, caller, spec, idempotency_key, response)


async def _submit(
    jobs: Jobs,
    caller: Caller,
    spec: PipelineRequest,
    idempotency_key: str | None,
    response: Response,
    expect: Callable[[PipelineRequest], None] = lambda _: None,
) -> Job:
    job = await submit_ingest(jobs, spec, caller, idempotency_key, expect)
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return job
