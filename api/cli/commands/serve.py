"""``candor serve``: the web page, the REST API and MCP over HTTP."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import Home, Json, command, print_json, print_message

app = command()


@app.command()
def serve(
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on: 127.0.0.1, or another once a key exists.")
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", "-p", min=0, max=65535, help="Port: 8484 by default; 0 picks a free one.")
    ] = None,
    certfile: Annotated[Path | None, typer.Option("--certfile", help="TLS certificate (PEM).")] = None,
    keyfile: Annotated[Path | None, typer.Option("--keyfile", help="Private key of the certificate (PEM).")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Serve the web page and the REST API until Ctrl-C.

    By default only this machine can connect. With another --host, every client needs an API key. Runs that are
    interrupted resume at the next start.

    Example: candor serve --port 8484
    """
    from api.bootstrap import Candor
    from api.http.server import serve as run_service
    from api.settings import load_settings

    options = {"host": host, "port": port, "certfile": certfile, "keyfile": keyfile}
    given = {name: value for name, value in options.items() if value is not None}
    candor = Candor(load_settings(home, **({"service": given} if given else {})), search_process=True)

    def announce(url: str) -> None:
        if as_json:
            print_json({"url": url})
            sys.stdout.flush()
        else:
            print_message(f"Candor is running at {url} (OpenAPI: {url}openapi.json). Stop with Ctrl-C.")
            print_message("Unfinished runs resume at the next start.")
        if not candor.settings.service.local and not candor.settings.service.certfile:
            print_message("Warning: connections are not encrypted, so API keys are sent in plain text. "
                          "Use --certfile, or a TLS proxy.")  # fmt: skip

    run_service(candor, announce)
