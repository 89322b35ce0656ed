"""``candor table``: ask the same questions of many documents, with quotes in each cell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.common import (
    FILTERS,
    Cli,
    CollectionsOption,
    Now,
    Yes,
    command_group,
    confirm,
    deleted,
    print_message,
    selection,
)
from api.cli.given import make_filter, read_template
from api.errors import UsageError, usage_errors
from base.counts import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from api.bootstrap import Candor
    from api.services.tables.tables import FillProgress, FillRequest
    from multi_agent.tables.values import Cell, Column, Table

app = command_group("table", "Ask the same questions of many documents, with quotes in each cell.")

Name = Annotated[str, typer.Argument(help="Name of the table.")]
Columns = Annotated[
    list[str],
    typer.Option(
        "--column",
        metavar="NAME[=QUESTION][:TYPE]",
        help="A column. TYPE: text (default), number, number(UNIT), date, yes_no, choice(A|B) or list. Repeatable.",
    ),
]
Template = Annotated[
    Path | None,
    typer.Option("--template", help="TOML or JSON file with columns, as `candor table template` writes it."),
]


@app.command("list")
def list_all(cli: Cli) -> None:
    """List the tables.

    Example: candor table
    """
    columns = ("table", "collection", "columns", "documents")
    cli.print_list(cli.make_candor().tables.store.list(), columns, lambda each: (
        each.name, each.collection, ", ".join(column.name for column in each.columns), str(each.filter or ""),
    ))  # fmt: skip


@app.command(shares={"model", "documents", *FILTERS})
def create(
    cli: Cli,
    name: Name,
    column: Columns = [],  # noqa: B006 - read only
    template: Template = None,
    collection: CollectionsOption = None,
    fill: Annotated[bool, typer.Option("--fill", help="Fill the table at once.")] = False,
) -> None:
    """Create a table. Its rows are the documents of the selection, now and later.

    With --template, it has the columns of the file before those of --column, and its selection unless you name one.

    Example: candor table create reports -c filings --column Issuer --column "Revenue=Revenue of the year:number(EUR)"
    """
    from api.services.tables.tables import FillRequest
    from multi_agent.tables.values import TableTemplate

    candor = cli.make_candor()
    given = read_template(template, TableTemplate) if template else None
    columns = (*(given.columns if given else ()), *_read_columns(column))
    wanted = make_filter(cli) or (given and given.filter)
    selected = candor.collections.resolve(selection(collection))
    made = candor.tables.create({"name": name, "columns": columns, "filter": wanted}, selected)
    if fill:
        _fill(candor, made, FillRequest(model=cli.model), cli)
    else:
        cli.print_result(made, f"Created {name}. `candor table fill {name}` fills it.")


@app.command()
def add(cli: Cli, name: Name, column: Columns) -> None:
    """Add columns to a table. The next fill reads only their cells.

    Example: candor table add reports --column "Auditor"
    """
    tables = cli.make_candor().tables
    changed = tables.add_columns(tables.store.get(name), _read_columns(column))
    cli.print_result(changed, f"Changed {name}. `candor table fill {name}` fills the new cells.")


@app.command(shares={"model"})
def fill(
    cli: Cli,
    name: Name,
    estimate: Annotated[bool, typer.Option("--estimate", help="Only say what it will take. Asks no model.")] = False,
    row: Annotated[list[str] | None, typer.Option("--row", help="Only this document. Repeatable.")] = None,
    column: Annotated[list[str] | None, typer.Option("--column", help="Only this column. Repeatable.")] = None,
    redo: Annotated[
        bool, typer.Option("--redo", help="Read cells again that are known, or were filled by hand.")
    ] = False,
) -> None:
    """Fill the open cells: of new and changed documents, of new columns, and those that failed.

    The cells of each model call are stored at once. Ctrl-C keeps them, and the next fill reads the rest. Exit code 1 if
    a cell failed.

    Example: candor table fill reports --estimate
    """
    from api.services.tables.tables import FillRequest

    candor = cli.make_candor()
    table = candor.tables.store.get(name)
    request = FillRequest(rows=tuple(row or ()), columns=tuple(column or ()), model=cli.model, redo=redo)
    if not estimate:
        _fill(candor, table, request, cli)
        return
    with candor.collections.open_library(table.collection) as library:
        expected = candor.tables.estimate(library, table, request)
    cli.print_result(expected, f"{expected}.")


@app.command()
def show(
    cli: Cli,
    name: Name,
    sort: Annotated[str | None, typer.Option("--sort", metavar="COLUMN", help="Sort by this column.")] = None,
    quotes: Annotated[
        bool, typer.Option("--quotes", help="Also show the quotes of each cell, or why it is empty.")
    ] = False,
) -> None:
    """Show a table. Cells that were filled by hand have a *, failed ones an exclamation mark.

    Example: candor table show reports --sort Revenue --quotes
    """
    from api.cli.render.tables import show_grid

    tables = cli.make_candor().tables
    grid = tables.grid(tables.store.get(name))
    grid = grid.sorted_by(sort) if sort else grid
    cli.show(grid, show_grid, quotes=quotes)


@app.command("set", context_settings={"ignore_unknown_options": True})  # a value may be negative
def set_cell(
    cli: Cli,
    name: Name,
    document: Annotated[str, typer.Argument(help="Name of the document.")],
    column: Annotated[str, typer.Argument(help="Name of the column.")],
    value: Annotated[
        str | None, typer.Argument(help="The value. Items of a list are divided by ';'. Default: none.")
    ] = None,
) -> None:
    """Fill a cell by hand. A fill leaves it as it is, unless it has --redo.

    Example: candor table set reports acme.pdf Revenue 94836
    """
    tables = cli.make_candor().tables
    cell = tables.set_cell(tables.store.get(name), document, column, value)
    cli.print_result(cell, f"{document}, {cell.column}: {cell.text or 'empty'}")


@app.command()
def export(
    cli: Cli,
    name: Name,
    file: Annotated[Path | None, typer.Argument(help="File to write: .csv, .xlsx, .md or .json.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The same file, as in `candor export`.")] = None,
) -> None:
    """Write a table to a file. XLSX has the quotes as notes, Markdown as footnotes, JSON has everything.

    Example: candor table export reports reports.xlsx
    """
    from api.services.tables.export import TableFormat
    from api.services.tables.export import export as make_file

    if file and output:
        raise UsageError("Name the file to write once.")
    if (file := file or output) is None:
        raise UsageError("Name the file to write.")
    form = file.suffix.removeprefix(".").lower()
    if form not in list(TableFormat):
        raise UsageError(f"A table must be a .{', .'.join(TableFormat)} file, not {str(file)!r}.")
    tables = cli.make_candor().tables
    cli.write(file, make_file(tables.grid(tables.store.get(name)), TableFormat(form)))


@app.command()
def template(cli: Cli, name: Name, file: Annotated[Path, typer.Argument(help="JSON file to write.")]) -> None:
    """Write the columns and the selection of a table to a file, for tables over other collections.

    Example: candor table template reports reports.json; candor table create more -c filings --template reports.json
    """
    written = cli.make_candor().tables.store.get(name).template
    cli.write(file, written.model_dump_json(indent=2, exclude_defaults=True) + "\n")


@app.command()
def drop(cli: Cli, name: Name, now: Now = False, yes: Yes = False) -> None:
    """Move a table and its cells to the bin. The documents are kept.

    Example: candor table drop reports
    """
    candor = cli.make_candor()
    table = candor.tables.store.get(name)
    confirm(f"Delete the table {name!r} with its cells?", yes=yes)
    candor.bin.delete_table(table, now=now)
    cli.print_result({"removed": name}, deleted(candor, name, now=now))


def _read_columns(written: list[str]) -> tuple[Column, ...]:
    from multi_agent.tables.values import Column

    with usage_errors("Invalid column"):
        return tuple(map(Column.parse, written))


def _fill(candor: Candor, table: Table, request: FillRequest, cli: Cli) -> None:
    """Fill the table in this process, with a line for each call."""
    import asyncio

    from api.cli.render.tables import fill_line, show_grid

    known: set[str] = set()

    def report(progress: FillProgress, document: str, cells: Sequence[Cell]) -> None:
        if not cli.as_json:
            print_message(fill_line(progress, document, cells, known))

    with candor.collections.open_library(table.collection) as library:
        if not cli.as_json:
            print_message(f"{candor.tables.estimate(library, table, request)}.")
        try:
            ended = asyncio.run(candor.tables.fill(library, table, request, cli.caller, on_cells=report))
        except KeyboardInterrupt:
            print_message(f"candor: stopped. `candor table fill {table.name}` goes on.")
            raise
    cli.show(candor.tables.grid(table), show_grid)
    if ended.failed:
        print_message(
            f"candor: {count(ended.failed, 'cell')} failed. `candor table fill {table.name}` reads them again."
        )
        raise typer.Exit(1)
