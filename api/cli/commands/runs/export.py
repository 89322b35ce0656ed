"""``candor export``: the answer of a run as a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import Home, Json, RunId, command, make_candor, print_written, write_file
from api.errors import UsageError

app = command()


@app.command()
def export(
    run_id: RunId,
    format_name: Annotated[
        str | None,
        typer.Option("--format", "-f", help="md, html, json, docx or pdf. Default: suffix of the output file, or md."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write. Its suffix selects the format. Default: standard output."),
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Export the answer of a run with its citations.

    Example: candor export run_3f2a -o answer.docx
    """
    from api.auth.permissions import LOCAL_CALLER
    from api.services.exports.export import choose_format
    from api.services.research.runs import export_run

    if as_json and output is None:
        raise UsageError("--json reports the written file, so it needs --output. For the answer as JSON, use "
                         "--format json.")  # fmt: skip
    form = choose_format(format_name, output.name if output else "")
    exported = export_run(make_candor(home).trace, run_id, LOCAL_CALLER, form)
    if output is None:
        sys.stdout.buffer.write(exported.content)
        return
    write_file(output, exported.content)
    print_written(output, f"Wrote {output}.", as_json)
