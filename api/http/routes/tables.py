"""Tables, which ask the same questions of many documents, with quotes in each cell."""

import asyncio
from typing import Annotated

from fastapi import Body, Path, Query, Response
from pydantic import Field

from api.auth.limits import require_tokens
from api.auth.permissions import Right
from api.http.deps import CandorDep, CollectionsField, CurrentCaller, Now, PartsDep
from api.http.errors import problem_responses
from api.http.router import make_router
from api.jobs.handlers import TableJobSpec, fills
from api.jobs.models import Job, JobKind
from api.jobs.runner import begin_next, free_job_id
from api.services.tables.export import MEDIA, TableFormat, export
from api.services.tables.tables import Estimate, FillRequest
from base.models import FrozenModel
from multi_agent.tables.values import MOST_COLUMNS, Cell, Column, Grid, Table, TableName
from multi_agent.values.request import DocumentFilter

router = make_router(prefix="/v1/tables", tags=["tables"])

Name = Annotated[str, Path(description="Name of the table.", examples=["reports"])]


_COLUMN = {"name": "Revenue", "question": "Revenue of the period", "type": "number", "unit": "EUR million"}
Columns = Annotated[tuple[Column, ...], Body(embed=True, min_length=1, max_length=MOST_COLUMNS, examples=[[_COLUMN]])]


class TableRequest(FrozenModel):
    """A new table."""

    name: TableName
    collection: CollectionsField = None
    filter: DocumentFilter | None = Field(default=None, description="Which documents are rows. Null: all.")
    columns: tuple[Column, ...] = Field(min_length=1, max_length=MOST_COLUMNS)


class Edit(FrozenModel):
    """A cell that a person fills."""

    document: str = Field(description="Name or id of the document.")
    column: str
    value: str | None = Field(description="The value as text; items of a list divided by `;`. Null: empty.")


_CREATE = [{"name": "reports", "collection": "papers", "columns": [_COLUMN]}]
_FILL = [{"rows": ["pumps.md"], "columns": ["Revenue"], "redo": True}]
_EDIT = [{"document": "pumps.md", "column": "Revenue", "value": "94836"}]


@router.post("", status_code=201, responses=problem_responses(403, 404, 409, 422, 503))
def create(candor: CandorDep, caller: CurrentCaller, body: Annotated[TableRequest, Body(examples=_CREATE)]) -> Table:
    """Create a table without cells. Its rows are the documents of the selection, now and later."""
    collection = candor.collections.resolve_for(caller, Right.READ, body.collection)
    return candor.tables.create(body.model_dump(exclude={"collection"}), collection)


@router.get("", responses=problem_responses(503))
def tables(candor: CandorDep, caller: CurrentCaller) -> list[Table]:
    """List the tables over collections that you may read."""
    return [table for table in candor.tables.store.list() if caller.may(Right.READ, table.collection)]


@router.get("/{table}", responses=problem_responses(404, 422, 503))
def table(
    candor: CandorDep,
    caller: CurrentCaller,
    table: Name,
    sort: Annotated[str | None, Query(description="Column to sort the rows by.")] = None,
) -> Grid:
    """Get a table with its rows and filled cells."""
    grid = candor.tables.grid(candor.tables.find(table, caller))
    return grid.sorted_by(sort) if sort else grid


@router.post("/{table}/columns", responses=problem_responses(403, 404, 422, 503))
def add_columns(candor: CandorDep, caller: CurrentCaller, table: Name, columns: Columns) -> Table:
    """Add columns. The next fill reads only their cells. Needs the right 'write'."""
    return candor.tables.add_columns(candor.tables.find(table, caller, Right.WRITE), columns)


@router.post("/{table}/estimate", responses=problem_responses(404, 422, 503))
def estimate(
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    table: Name,
    body: Annotated[FillRequest, Body(examples=_FILL)],
) -> Estimate:
    """Return what a fill will take, without asking a model."""
    found = candor.tables.find(table, caller)
    return candor.tables.estimate(parts.pool.library(found.collection), found, body)


@router.post("/{table}/fill", status_code=202, responses=problem_responses(404, 422, 429, 503))
async def fill(
    candor: CandorDep,
    parts: PartsDep,
    caller: CurrentCaller,
    table: Name,
    body: Annotated[FillRequest, Body(examples=_FILL)],
) -> Job:
    """Fill the open cells in the background: of new and changed documents, of new columns, and those that failed.

    The cells of each model call are stored at once. The tokens count for your key. To stop, cancel the job. Another
    fill goes on with what is open.
    """
    found = await asyncio.to_thread(candor.tables.find, table, caller)
    await asyncio.to_thread(require_tokens, candor.trace, caller)
    await asyncio.to_thread(candor.tables.open_cells, found, body)
    candor.panel.model_name(body.model)
    spec = TableJobSpec(table=found.name, **dict(body))
    return await begin_next(parts.jobs, JobKind.TABLE, fills(found), "table", found.collection, caller, spec)


@router.put("/{table}/cells", responses=problem_responses(403, 404, 422, 503))
def edit(candor: CandorDep, caller: CurrentCaller, table: Name, body: Annotated[Edit, Body(examples=_EDIT)]) -> Cell:
    """Fill a cell by hand. A fill leaves it as it is, unless it has `redo`. Needs the right 'write'."""
    found = candor.tables.find(table, caller, Right.WRITE)
    return candor.tables.set_cell(found, body.document, body.column, body.value)


@router.get("/{table}/export", response_class=Response, responses=problem_responses(404, 422, 503))
def export_table(
    candor: CandorDep,
    caller: CurrentCaller,
    table: Name,
    format: Annotated[TableFormat, Query(description="csv, xlsx, md or json")] = TableFormat.CSV,  # noqa: A002 - the public name
) -> Response:
    """Get a table as a file. XLSX has the quotes as notes, Markdown as footnotes, JSON has everything."""
    found = candor.tables.find(table, caller)
    headers = {"Content-Disposition": f'attachment; filename="table.{format.value}"'}
    return Response(export(candor.tables.grid(found), format), media_type=MEDIA[format], headers=headers)


@router.delete("/{table}", status_code=204, responses=problem_responses(403, 404, 422, 503))
async def remove(candor: CandorDep, parts: PartsDep, caller: CurrentCaller, table: Name, now: Now = False) -> None:
    """Move a table and its cells to the bin, unless it is being filled. Requires the right 'write'."""
    found = await asyncio.to_thread(candor.tables.find, table, caller, Right.WRITE)
    await free_job_id(parts.jobs, fills(found), "table")  # raises UsageError while a job is active
    await asyncio.to_thread(candor.bin.delete_table, found, caller, now=now)
