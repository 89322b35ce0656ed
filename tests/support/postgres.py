"""A temporary Postgres server with its own data folder, on a free port of localhost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from support.ports import free_port

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def find_binaries() -> Path | None:
    """Return the folder of ``initdb``, or None if Postgres is not installed."""
    found = shutil.which("initdb")
    return Path(found).parent if found else next((path for path in BINARIES if (path / "initdb").exists()), None)


class PostgresServer:
    """A server that can be stopped and started again with its data. ``url`` is the URL of its database."""

    def __init__(self, binaries: Path, folder: Path) -> None:
        self._binaries, self._folder, self._data = binaries, folder, folder / "data"
        self._port = free_port()
        self.url = f"postgresql+psycopg://candor@127.0.0.1:{self._port}/postgres"
        if os.geteuid() == 0:  # Postgres refuses to run as root
            shutil.chown(folder, "postgres")
        _run(binaries / "initdb", "-D", self._data, "-U", "candor", "--auth=trust", "--encoding=UTF8", "--no-sync")

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self._folder}"
        self._control("-w", "-l", self._folder / "log", "-o", f"{options} -c fsync=off", "start")

    def stop(self) -> None:
        """Stop the server at once. Its clients lose their connections."""
        self._control("-m", "immediate", "stop")

    def freeze(self) -> None:
        """Stop all processes of the server, as a suspended machine does."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them continue."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        server = psutil.Process(int((self._data / "postmaster.pid").read_text().split()[0]))
        for process in (server, *server.children(recursive=True)):
            process.send_signal(number)

    def _control(self, *arguments: object) -> None:
        _run(self._binaries / "pg_ctl", "-D", self._data, *arguments)


@contextmanager
def restartable_server(binaries: Path) -> Iterator[PostgresServer]:
    """Start a server and yield it. It must run at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="candor-postgres-"))
    try:
        server = PostgresServer(binaries, folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_server(binaries: Path) -> Iterator[str]:
    """Start a server and yield the URL of its database."""
    with restartable_server(binaries) as server:
        yield server.url


def _run(*command: object) -> None:
    words = [str(word) for word in command]
    if os.geteuid() == 0:
        words = ["runuser", "-u", "postgres", "--", *words]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd="/")
