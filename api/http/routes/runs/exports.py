"""Answers as files."""

from typing import Annotated, Any

from fastapi import Query, Response

from api.http.deps import CandorDep, CurrentCaller
from api.http.errors import problem_responses
from api.http.router import make_router
from api.http.routes.runs.runs import RunId
from api.services.exports.export import Format
from api.services.research.runs import export_run

router = make_router(prefix="/v1/runs", tags=["runs"])

_FILE = {"schema": {"type": "string", "format": "binary"}}
_JSON = {"schema": {"type": "object"}}
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {each.media_type.split(";")[0]: _JSON if each is Format.JSON else _FILE for each in Format},
    }
}


@router.get("/{run_id}/export", responses=_FILES | problem_responses(404, 409, 422, 503), response_class=Response)
async def export(
    candor: CandorDep,
    caller: CurrentCaller,
    run_id: RunId,
    form: Annotated[Format, Query(alias="format", description="Format of the file.")] = Format.MARKDOWN,
) -> Response:
    """Export the answer of a run as a file, with its claims, their evidence and the sources.

    The file states the final status of the run and its reason. JSON contains the run and its answer as stored.
    """
    file = await export_run(candor.trace, run_id, caller, form, candor.documents, candor.pages)
    headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
    return Response(file.content, media_type=file.media_type, headers=headers)
