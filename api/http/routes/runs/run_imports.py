"""Imports exported runs."""

import asyncio
from typing import Annotated

from fastapi import Query, Request
from starlette.requests import ClientDisconnect

from api.errors import UploadTooLarge, UsageError
from api.http.deps import CandorDep, CurrentCaller
from api.http.errors import problem_responses
from api.http.middleware.body_limit import skip_body_limit
from api.http.router import make_router
from api.http.routes.runs.exports import RUN_FILE
from api.services.exports.import_run import ImportedRun
from api.services.exports.run_file import LARGEST_FILE
from vectorstore.models import NAME

router = make_router(prefix="/v1/runs", tags=["runs"])

_BODY = {
    "requestBody": {
        "required": True,
        "description": "A file of `GET /v1/runs/{run_id}/export?format=run`, of at most 16 MB.",
        "content": {RUN_FILE: {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post(
    "/import",
    status_code=201,
    responses=problem_responses(403, 404, 409, 413, 422, 503),
    openapi_extra=_BODY,
)
async def add(
    request: Request,
    candor: CandorDep,
    caller: CurrentCaller,
    collection: Annotated[
        str | None,
        Query(pattern=rf"^{NAME.pattern}$", description="Collection to list the run under. Default: that of the file."),
    ] = None,
) -> ImportedRun:
    """Add an exported run, with its events and quotes. Its documents are not part of the file.

    Requires the right 'write' over the collection. A stored run with the same id stays as it is. `basis` of the
    run and its answer says when and by whom it was imported, and how many of its quotes the collection has.
    """
    skip_body_limit(request)
    content = await _receive(request)
    return await asyncio.to_thread(candor.run_import.add, caller, content, collection)


async def _receive(request: Request) -> bytes:
    content = bytearray()
    try:
        async for part in request.stream():
            content += part
            if len(content) > LARGEST_FILE:
                raise UploadTooLarge(f"A file of a run may have {LARGEST_FILE // 10**6} MB. Export it without texts.")
    except ClientDisconnect as error:
        raise UsageError("The upload is incomplete. Nothing was stored.") from error
    return bytes(content)
