"""``candor serve``, ``worker`` and ``mcp``: the service, its workers, and MCP over stdio."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.common import Cli, CommandWithoutJson, command, print_json, print_message
from api.errors import UsageError

if TYPE_CHECKING:
    from api.jobs.models import JobKind
    from api.jobs.queue import JobQueue


app = command()


@app.command()
def serve(
    cli: Cli,
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on: 127.0.0.1, or another once a key exists.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", "-p", min=0, max=65535, help="Port: 8484 by default; 0 picks a free one.")
    ] = None,
    certfile: Annotated[Path | None, typer.Option("--certfile", help="TLS certificate (PEM).")] = None,
    keyfile: Annotated[Path | None, typer.Option("--keyfile", help="Private key of the certificate (PEM).")] = None,
) -> None:
    """Serve the web page and the REST API until Ctrl-C.

    By default only this machine can connect. With another --host, every client needs an API key. Runs that are
    interrupted resume at the next start.

    Example: candor serve --port 8484
    """
    from api.http.server import serve as run_service

    options = {"host": host, "port": port, "certfile": certfile, "keyfile": keyfile}
    given = {name: value for name, value in options.items() if value is not None}
    candor = cli.make_candor(creates=True, search_process=True, **({"service": given} if given else {}))

    def announce(url: str) -> None:
        if cli.as_json:
            print_json({"url": url})
        else:
            print_message(f"Candor is running at {url} (OpenAPI: {url}openapi.json). Stop with Ctrl-C.")
            print_message("Unfinished runs resume at the next start.")
        if not candor.settings.service.local and not candor.settings.service.certfile:
            print_message("Warning: connections are not encrypted, so API keys are sent in plain text. "
                          "Use --certfile, or a TLS proxy.")  # fmt: skip

    run_service(candor, announce)


@app.command()
def worker(
    cli: Cli,
    queues: Annotated[
        str,
        typer.Option("--queues", "-q", help="Kinds of job, separated by commas: research, ingest, evaluation, table."),
    ] = "research,ingest,evaluation,table",
) -> None:
    """Take jobs of the services that use the same Postgres database and Qdrant server, until Ctrl-C or SIGTERM.

    Unfinished jobs go to the other processes. Each worker needs its own data folder.

    Example: candor worker --queues research
    """
    from api.jobs.assembly import run_worker

    candor = cli.make_candor(creates=True, search_process=True)

    def announce(queue: JobQueue) -> None:
        limits = {kind.value: limit for kind, limit in queue.limits.items()}
        if cli.as_json:
            print_json({"id": queue.executor, "queues": limits})
        else:
            taken = ", ".join(f"{kind} ({limit} at a time)" for kind, limit in limits.items())
            print_message(f"Worker {queue.executor} takes jobs: {taken}. Stop with Ctrl-C.")

    run_worker(candor, _kinds(queues), announce)


def _kinds(queues: str) -> list[JobKind]:
    from api.jobs.models import JobKind

    names = [name.strip() for name in queues.split(",") if name.strip()]
    known = [kind.value for kind in JobKind]
    if not names or (unknown := [name for name in names if name not in known]):
        wrong = ", ".join(map(repr, unknown)) if names else "nothing"
        raise UsageError(f"--queues names {wrong}. Known: {', '.join(known)}, separated by commas.")
    return [kind for kind in JobKind if kind.value in names]


@app.command(cls=CommandWithoutJson)
def mcp(cli: Cli) -> None:
    """Serve MCP over stdio: search, research and reading.

    If `candor serve` is running on the same data folder, its /mcp endpoint starts faster.

    Example, in the client's settings: {"command": "candor", "args": ["mcp"]}
    """
    import asyncio

    from api.mcp.transports import serve_stdio

    asyncio.run(serve_stdio(cli.make_candor()))
