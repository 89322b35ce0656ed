"""Answers and runs as files."""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import Query, Response

from api.auth.permissions import Caller
from api.bootstrap import Candor
from api.http.deps import CandorDep, CurrentCaller
from api.http.errors import problem_responses
from api.http.router import make_router
from api.http.routes.runs.runs import RunId
from api.services.exports.export import Format
from api.services.exports.run_file import write_run
from api.services.research.runs import calls_for, events_for, export_run, find_run
from multi_agent.storage.recording import load_recording

router = make_router(prefix="/v1/runs", tags=["runs"])

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


@router.get("/{run_id}/export", responses=_FILES | problem_responses(404, 409, 422, 503), response_class=Response)
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
