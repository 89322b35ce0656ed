"""The command that writes an answer to a file: export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import Home, Json, make_candor, tell_written
from api.errors import UsageError

app = typer.Typer(rich_markup_mode=None)


@app.command()
def export(
    run_id: Annotated[str, typer.Argument(help="The run, or the beginning of its id.")],
    format_name: Annotated[str, typer.Option("--format", "-f", help="md, html, json or docx.")] = "md",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; else to standard output.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Write the answer of a run with its citations, to keep it, to send it on or to print it.

    Example: candor export run_3f2a --format docx --output answer.docx
    """
    from api.services.exports.export import Format
    from api.services.exports.export import export as make_export

    if format_name not in list(Format):
        raise UsageError(f"There is no format {format_name!r}; there are {', '.join(Format)}.")
    if as_json and output is None:
        raise UsageError("--json tells of the file that is written: name it with --output. For the answer itself as "
                         "JSON, use --format json.")  # fmt: skip
    trace = make_candor(home).trace
    run = trace.run(run_id)
    made = make_export(run, trace.answer(run.run_id), Format(format_name))
    if output is None:
        sys.stdout.buffer.write(made.content)
        return
    try:
        output.write_bytes(made.content)
    except OSError as error:
        raise UsageError(f"{str(output)!r} cannot be written: {error.strerror}. Name another file.") from error
    tell_written(output, f"Written to {output}.", as_json)
