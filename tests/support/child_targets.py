"""Functions that tests run in child processes."""

from __future__ import annotations

import os
import sys
import threading
from multiprocessing.connection import Connection


def echo(connection: Connection, prefix: str) -> None:
    """Send each received text back with a prefix; the text "exit" ends the process."""
    while (text := connection.recv()) != "exit":
        connection.send(f"{prefix}{text}")


def niceness(connection: Connection) -> None:
    """Send the niceness of the process."""
    connection.send(os.nice(0))


def variables(connection: Connection) -> None:
    """Send the environment variables of the process."""
    connection.send(dict(os.environ))


def fail(connection: Connection) -> None:
    """Write two lines to stderr at once, a third when asked, and exit with status 3."""
    print("first", file=sys.stderr)
    print("second", file=sys.stderr, flush=True)
    connection.send("written")
    if connection.recv() == "more":
        print("third", file=sys.stderr, flush=True)
    sys.exit(3)


_IMPORTED_BY = os.getpid()


def where(connection: Connection, last_words: str) -> None:
    """Send the parent, session, folder and environment of the process. After the next message, exit with status 3."""
    told = {"parent": os.getppid(), "session": os.getsid(0), "folder": os.getcwd(), "started": _IMPORTED_BY}
    connection.send({**told, "environment": dict(os.environ)})
    connection.recv()
    print(last_words, flush=True)
    sys.exit(3)


def hang() -> None:
    """Never return."""
    threading.Event().wait()
