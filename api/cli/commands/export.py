"""``candor export``: the answer of a run as a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import Home, Json, RunId, command, make_candor, print_written
from api.errors import UsageError

app = command()


@app.command()
def export(
    run_id: RunId,
    format_name: Annotated[str, typer.Option("--format", "-f", help="md, html, json or docx.")] = "md",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. Default: standard output.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Export the answer of a run with its citations.

    Example: candor export run_3f2a --format docx --output answer.docx
    """
    from api.auth.permissions import LOCAL_CALLER
    from api.services.exports.export import Format
    from api.services.research.runs import export_run

    if format_name not in list(Format):
        raise UsageError(f"Unknown format {format_name!r}. Choose from {', '.join(Format)}.")
    if as_json and output is None:
        raise UsageError("--json reports the written file, so it needs --output. For the answer as JSON, use "
                         "--format json.")  # fmt: skip
    exported = export_run(make_candor(home).trace, run_id, LOCAL_CALLER, Format(format_name))
    if output is None:
        sys.stdout.buffer.write(exported.content)
        return
    try:
        output.write_bytes(exported.content)
    except OSError as error:
        raise UsageError(f"Cannot write {str(output)!r}: {error.strerror}. Name another file.") from error
    print_written(output, f"Wrote {output}.", as_json)
