"""Answers and runs as files: exports, imports, and the pages of shared answers."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from starlette.requests import ClientDisconnect

from api.auth.permissions import Caller
from api.bootstrap import Candor
from api.errors import UploadTooLarge, UsageError
from api.http.deps import CandorDep, CurrentCaller
from api.http.errors import problem_responses
from api.http.middleware.body_limit import skip_body_limit
from api.http.router import make_router
from api.http.routes.runs.runs import RunId
from api.services.exports.export import Format
from api.services.exports.import_run import ImportedRun
from api.services.exports.run_file import LARGEST_FILE, write_run
from api.services.research.runs import calls_for, events_for, export_run, find_run
from multi_agent.storage.recording import load_recording
from vectorstore.models import NAME

router = make_router(tags=["runs"])

RUN_FILE = "application/octet-stream"
_FILE = {"schema": {"type": "string", "format": "binary"}}
_JSON = {"schema": {"type": "object"}}
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {each.media_type.split(";")[0]: _JSON if each is Format.JSON else _FILE for each in Format}
        | {RUN_FILE: _FILE},
    }
}

_BODY = {
    "requestBody": {
        "required": True,
        "description": "A file of `GET /v1/runs/{run_id}/export?format=run`, of at most 16 MB.",
        "content": {RUN_FILE: {"schema": {"type": "string", "format": "binary"}}},
    }
}
_SHARED_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}

Secret = Annotated[str, Path(description="Secret of the key.", examples=["candor_3f9a1c07be52_kZ8…"])]


@router.get(
    "/v1/runs/{run_id}/export", responses=_FILES | problem_responses(404, 409, 422, 503), response_class=Response
)
async def export(
    candor: CandorDep,
    caller: CurrentCaller,
    run_id: RunId,
    form: Annotated[
        Format | Literal["run"], Query(alias="format", description="Format of the file. `run`: the whole run.")
    ] = Format.MARKDOWN,
    texts: Annotated[
        bool, Query(description="With `format=run`: include prompts, responses, quotes and results of tools.")
    ] = True,
) -> Response:
    """Export the answer of a run as a file, with its claims, their evidence and the sources.

    The file states the final status of the run and its reason. JSON contains the run and its answer as stored. With
    `format=run`, the file contains the whole run with its events and model calls, for `POST /v1/runs/import`.
    """
    if form == "run":
        return await asyncio.to_thread(_export_whole, candor, caller, run_id, texts)
    file = await export_run(candor.trace, run_id, caller, form, candor.documents, candor.pages)
    return Response(file.content, media_type=file.media_type, headers=_named(file.name))


def _export_whole(candor: Candor, caller: Caller, run_id: str, texts: bool) -> Response:
    run = find_run(candor.trace, run_id, caller)
    recording = load_recording(candor.trace, candor.tools.calls, run.run_id)
    events, calls = events_for(recording.events, run, caller), calls_for(candor.trace, run, caller)
    recording = recording.model_copy(update={"events": tuple(events), "calls": tuple(calls)})
    content = write_run(recording, texts=texts)
    return Response(content, media_type=RUN_FILE, headers=_named(f"{run.run_id}.candor"))


def _named(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


@router.post(
    "/v1/runs/import",
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


@router.get("/shared/{key}", responses=problem_responses(404, 409, 503), response_class=Response)
async def shared(candor: CandorDep, caller: CurrentCaller, key: Secret) -> Response:
    """Get a shared answer as a page, with pictures of the pages that it cites.

    `POST /v1/keys` with `run_id` creates the key.
    """
    file = await export_run(candor.trace, caller.run, caller, Format.HTML, candor.documents, candor.pages)
    return Response(file.content, media_type=file.media_type, headers=_SHARED_HEADERS)
