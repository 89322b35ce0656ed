"""Commands about Candor itself: doctor, serve, demo."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from api.cli.common import Home, Json, make_candor, make_console, print_json, say
from api.errors import UsageError

app = typer.Typer(rich_markup_mode=None)


@app.command()
def doctor(as_json: Json = False, home: Home = None) -> None:
    """Print the settings in force, and check store, embedding model and language model.

    Example: candor doctor
    """
    from api.services.doctor import examine

    diagnosis = examine(make_candor(home))
    if as_json:
        print_json(diagnosis.model_dump(mode="json"))
    else:
        from api.cli.render.terminal import show_diagnosis

        show_diagnosis(make_console(), diagnosis)
    if not diagnosis.ok:
        raise typer.Exit(1)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option("--host", help="127.0.0.1; any other needs a key to be there.")] = None,
    port: Annotated[
        int | None, typer.Option("--port", "-p", min=0, max=65535, help="8484; 0 takes any that is free.")
    ] = None,
    certfile: Annotated[Path | None, typer.Option("--certfile", help="Certificate of TLS, as PEM.")] = None,
    keyfile: Annotated[Path | None, typer.Option("--keyfile", help="Its private key, as PEM.")] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Serve the web page and the REST API, until Ctrl-C.

    It listens to this machine alone, unless --host names another address: then everybody needs a key. Runs that are
    under way when it ends, or is killed, go on when it is started again.

    Example: candor serve --port 8484
    """
    from api.bootstrap import Candor
    from api.http.server import serve as run_service
    from api.settings import load_settings

    wanted = {"host": host, "port": port, "certfile": certfile, "keyfile": keyfile}
    given = {name: value for name, value in wanted.items() if value is not None}
    candor = Candor(load_settings(home, **({"service": given} if given else {})), queries_apart=True)

    def tell(url: str) -> None:
        if as_json:
            print_json({"url": url})
            sys.stdout.flush()
        else:
            say(f"Candor serves {url} (OpenAPI: {url}openapi.json). Ctrl-C ends it.")
            say("What is under way when it ends goes on when it is started again.")
        if not candor.settings.service.local and not candor.settings.service.certfile:
            say("What is sent is not encrypted, keys included: put a proxy with TLS in front, or give --certfile.")

    run_service(candor, tell)


@app.command()
def demo(
    live: Annotated[bool, typer.Option("--live", help="Ask your own model instead of the recording.")] = False,
    record: Annotated[
        Path | None, typer.Option("--record", help="With --live: write the model's responses to this file.")
    ] = None,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Ingest the sample documents and answer three questions about them.

    Example: candor demo
    """
    from api.cli.demo import run_demo

    if record and not live:
        raise UsageError("--record goes with --live: a replay has nothing new to record.")
    result = run_demo(home, live=live, record=record, progress=not as_json)
    if as_json:
        print_json(result.model_dump(mode="json"))
    if any(answer.status.value in ("failed", "cancelled") for answer in result.answers):
        raise typer.Exit(1)
