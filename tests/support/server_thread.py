"""Servers of the standard library in threads of a test."""

from __future__ import annotations

import socketserver
import threading
from typing import Self


class ServerThread:
    """Runs a server in a thread until the end of the block."""

    def __init__(self, server: socketserver.BaseServer) -> None:
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        port: int = self._server.server_address[1]
        return port

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
