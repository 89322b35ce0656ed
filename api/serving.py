"""Serving the application: where it listens, and how it ends."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from fastapi import FastAPI

from api.app import make_app
from api.bootstrap import Candor
from api.durability import only_service
from api.errors import UsageError
from api.settings import LOOPBACK

_GRACE_S = 5  # for connections that do not end by themselves when the runs have


class Server(uvicorn.Server):
    """Lets the runs rest before it waits for the connections: those that follow runs end with them."""

    def __init__(self, app: FastAPI) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                access_log=False,
                log_level="warning",
                server_header=False,
                timeout_graceful_shutdown=_GRACE_S,
            )
        )
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let the runs rest, then what uvicorn does."""
        await self._app.state.service.runs.stop()
        await super().shutdown(sockets)


def serve(candor: Candor, tell: Callable[[str], None]) -> None:
    """Serve until a signal ends it; ``tell`` is given the address.

    Raises UsageError if it cannot listen there, or if another service has the home folder.
    """
    _ = candor.trace, candor.registry  # what is wrong with these is to be known before anybody is told the address
    service = candor.settings.service
    with only_service(candor.settings.home), listen(service.host, service.port) as listener:
        tell(url_of(listener))
        with suppress(KeyboardInterrupt):  # the server has ended in good order, and passes the signal on
            Server(make_app(candor)).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections from this machine. Raises UsageError."""
    if host not in LOOPBACK:
        raise UsageError(
            f"Candor does not listen on {host!r}: it has no keys yet, and whoever reaches it could read all documents. "
            f"It listens on {' or '.join(LOOPBACK)}; from another machine, come through an SSH tunnel "
            "(`ssh -L 8484:127.0.0.1:8484 THIS_MACHINE`)."
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
        # asyncio does this only for sockets made with the protocol's number; without it each answer waits 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        return listener
    except OSError as error:
        raise UsageError(
            f"Candor cannot listen on {host}, port {port}: {error.strerror or error}. Another program may have the "
            "port, perhaps another `candor serve`; name another with --port, or CANDOR_SERVICE__PORT."
        ) from error


def url_of(listener: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
