"""A temporary Postgres server with its own data folder, on a free port of localhost."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.ports import free_port

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def find_binaries() -> Path | None:
    """Return the folder of ``initdb``, or None if Postgres is not installed."""
    found = shutil.which("initdb")
    return Path(found).parent if found else next((path for path in BINARIES if (path / "initdb").exists()), None)


@contextmanager
def running_server(binaries: Path) -> Iterator[str]:
    """Start a server and yield the URL of its database."""
    folder = Path(tempfile.mkdtemp(prefix="candor-postgres-"))
    try:
        if os.geteuid() == 0:  # Postgres refuses to run as root
            shutil.chown(folder, "postgres")
        data = folder / "data"
        _run(binaries / "initdb", "-D", data, "-U", "candor", "--auth=trust", "--encoding=UTF8", "--no-sync")
        port = free_port()
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        _run(binaries / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start")
        try:
            yield f"postgresql+psycopg://candor@127.0.0.1:{port}/postgres"
        finally:
            _run(binaries / "pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(*command: object) -> None:
    words = [str(word) for word in command]
    if os.geteuid() == 0:
        words = ["runuser", "-u", "postgres", "--", *words]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd="/")
