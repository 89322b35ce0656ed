"""Answers as files."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from api.http.deps import CurrentCaller, Served
from api.http.errors import problems
from api.http.routes.runs import RunId
from api.services.exports.export import Format
from api.services.exports.export import export as make_export
from api.services.runs import find_run

router = APIRouter(prefix="/v1/runs", tags=["runs"])

_FILE = {"schema": {"type": "string", "format": "binary"}}
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {each.media_type.split(";")[0]: _FILE for each in Format},
    }
}


@router.get("/{run_id}/export", responses=_FILES | problems(404, 409, 422, 503), response_class=Response)
def export(
    service: Served,
    caller: CurrentCaller,
    run_id: RunId,
    wanted: Annotated[Format, Query(alias="format", description="The kind of file.")] = Format.MARKDOWN,
) -> Response:
    """The answer of a run as a file, with its claims, the words of their evidence, and where these stand.

    Whatever state the run ended in, its file says so, and why. JSON is the run and its answer as they are stored.
    """
    run = find_run(service.candor, run_id, caller)
    made = make_export(run, service.candor.trace.answer(run.run_id), wanted)
    as_file = {"Content-Disposition": f'attachment; filename="{made.name}"'}
    return Response(made.content, media_type=made.media_type, headers=as_file)
