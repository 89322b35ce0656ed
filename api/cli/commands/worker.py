"""``candor worker``: takes jobs of services that share their database and Qdrant server."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.common import Home, Json, command, print_json, print_message
from api.errors import UsageError

if TYPE_CHECKING:
    from api.jobs.models import JobKind
    from api.jobs.queue import JobQueue

app = command()


@app.command()
def worker(
    queues: Annotated[
        str, typer.Option("--queues", "-q", help="Kinds of job to take, separated by commas: research, ingest, "
                          "evaluation.")
    ] = "research,ingest,evaluation",
    as_json: Json = False,
    home: Home = None,
) -> None:  # fmt: skip
    """Take jobs of the services that use the same Postgres database and Qdrant server, until Ctrl-C or SIGTERM.

    Unfinished jobs go to the other processes. Each worker needs its own data folder.

    Example: candor worker --queues research
    """
    from api.bootstrap import Candor
    from api.jobs.assembly import run_worker
    from api.settings import load_settings

    candor = Candor(load_settings(home), search_process=True)

    def announce(queue: JobQueue) -> None:
        limits = {kind.value: limit for kind, limit in queue.limits.items()}
        if as_json:
            print_json({"id": queue.executor, "queues": limits})
            sys.stdout.flush()
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
