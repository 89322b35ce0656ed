"""Tools, the tool calls of runs, and the files that runs produced."""

import asyncio
from typing import Annotated
from urllib.parse import quote

from fastapi import Path, Query
from fastapi.responses import FileResponse

from api.auth.permissions import Caller
from api.bootstrap import Candor
from api.http.deps import CandorDep, CurrentCaller, Owner
from api.http.errors import problem_responses
from api.http.router import make_router
from api.http.routes.runs.runs import RunId
from api.services.catalog import tools as service
from api.services.catalog.tools import RunFile, ToolDescription
from api.services.research.kept_text import KeptText, RunSources, kept_text
from api.services.research.runs import find_run
from api.services.research.surroundings import Surroundings, surroundings
from multi_agent.storage.tool_calls import ToolEntry

router = make_router(prefix="/v1", tags=["tools"])


@router.get("/tools", responses=problem_responses(503))
async def tools(candor: CandorDep, caller: CurrentCaller) -> list[ToolDescription]:
    """List the tools that agents can be granted, with their arguments and whether calls need approval.

    MCP servers are listed without their tools; `POST /v1/tools/servers` asks them.
    """
    # Does not ask the servers, because that starts programs, and any web page can make a browser send a GET request.
    return await service.describe_tools(candor.tools, ask_servers=False)


@router.post("/tools/servers", responses=problem_responses(403, 503))
async def ask_servers(candor: CandorDep, caller: Owner) -> list[ToolDescription]:
    """Ask each MCP server for its tools, and list them with all others. Starts the servers if necessary."""
    return await service.describe_tools(candor.tools, ask_servers=True)


@router.get("/runs/{run_id}/tool-calls", responses=problem_responses(404, 503))
def calls(candor: CandorDep, caller: CurrentCaller, run_id: RunId) -> list[ToolEntry]:
    """List every tool call of a run with its full result."""
    return candor.tools.calls.entries(find_run(candor.trace, run_id, caller).run_id)


@router.get("/runs/{run_id}/evidence", responses=problem_responses(404, 409, 422, 503))
async def all_evidence(
    candor: CandorDep,
    caller: CurrentCaller,
    run_id: RunId,
    locate: Annotated[bool, Query(description="Also locate the quotes on the pages of PDFs. Takes longer.")] = False,
) -> list[Surroundings]:
    """Get all quotes of an answer with the surrounding text of the document, the web page or the tool's result.

    The text of a web page is the text that the run read.
    """
    sources = await asyncio.to_thread(_sources, candor, run_id, caller)
    return await surroundings(sources, candor.pages if locate else None)


@router.get("/runs/{run_id}/evidence/{number}", responses=problem_responses(404, 409, 422, 503))
def evidence(
    candor: CandorDep,
    caller: CurrentCaller,
    run_id: RunId,
    number: Annotated[int, Path(ge=1, description="Number of the evidence in the answer.", examples=[1])],
) -> KeptText:
    """Get the text that a web page or a tool returned, with the position of the quote.

    The text is kept with the run. For evidence from a document, GET /v1/documents/{document}/text returns the text.
    """
    return kept_text(_sources(candor, run_id, caller), number)


def _sources(candor: Candor, run_id: str, caller: Caller) -> RunSources:
    return RunSources(candor.documents, candor.tools.calls, candor.trace, run_id, caller)


@router.get("/runs/{run_id}/files", responses=problem_responses(404, 503))
def files(candor: CandorDep, caller: CurrentCaller, run_id: RunId) -> list[RunFile]:
    """List the files that tools wrote or downloaded in a run."""
    return service.list_files(candor.tools, candor.trace, run_id, caller)


@router.get(
    "/runs/{run_id}/files/{name:path}",
    responses={200: {"content": {"application/octet-stream": {}}}, **problem_responses(404, 503)},
    response_class=FileResponse,
)
def file(
    candor: CandorDep,
    caller: CurrentCaller,
    run_id: RunId,
    name: Annotated[str, Path(description="Name of the file, from the list.", examples=["report.pdf"])],
) -> FileResponse:
    """Download a file of a run. The content is untrusted, so it is always sent as an attachment."""
    path = service.find_file(candor.tools, candor.trace, run_id, name, caller)
    disposition = f"attachment; filename*=UTF-8''{quote(path.name, safe='')}"
    return FileResponse(path, media_type="application/octet-stream", headers={"Content-Disposition": disposition})
