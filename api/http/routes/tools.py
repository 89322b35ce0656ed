"""Tools that agents can be granted, what runs did with them, and the files that runs left."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from fastapi.responses import FileResponse

from api.http.deps import CurrentCaller, Served
from api.http.errors import problems
from api.http.routes.runs import RunId
from api.services.tools import RunFile, ToolDescription, describe_tools, file_of, files_of, tool_calls
from multi_agent.storage.tool_calls import ToolEntry

router = APIRouter(prefix="/v1", tags=["tools"])


@router.get("/tools", responses=problems(403, 422, 503))
async def tools(
    service: Served,
    caller: CurrentCaller,
    servers: Annotated[
        bool, Query(description="Ask each MCP server for its tools, and start it for that if need be.")
    ] = False,
) -> list[ToolDescription]:
    """The tools that agents can be granted, with what they take and whether a person has to approve each call."""
    if servers:
        caller.require_admin()  # it starts programs
    return await describe_tools(service.candor, ask_servers=servers)


@router.get("/runs/{run_id}/tool-calls", responses=problems(404, 503))
def calls(service: Served, caller: CurrentCaller, run_id: RunId) -> list[ToolEntry]:
    """Every call of a tool in the run, with its whole result."""
    return tool_calls(service.candor, run_id, caller)


@router.get("/runs/{run_id}/files", responses=problems(404, 503))
def files(service: Served, caller: CurrentCaller, run_id: RunId) -> list[RunFile]:
    """The files that tools wrote or downloaded in the run."""
    return files_of(service.candor, run_id, caller)


@router.get(
    "/runs/{run_id}/files/{name:path}",
    responses={200: {"content": {"application/octet-stream": {}}}, **problems(404, 503)},
    response_class=FileResponse,
)
def file(
    service: Served,
    caller: CurrentCaller,
    run_id: RunId,
    name: Annotated[str, Path(description="As the list names it.", examples=["report.pdf"])],
) -> FileResponse:
    """One of them, to be saved: what it is, nobody vouches for, so no browser shows or runs it."""
    path = file_of(service.candor, run_id, name, caller)
    disposition = f"attachment; filename*=UTF-8''{quote(path.name, safe='')}"
    return FileResponse(path, media_type="application/octet-stream", headers={"Content-Disposition": disposition})
