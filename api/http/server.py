"""Serving the application: where it listens, and how it ends."""

from __future__ import annotations

import socket
import ssl
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from api.bootstrap import Candor
from api.errors import UsageError
from api.http.app import make_app
from api.jobs.locks import lock_database, lock_home
from api.settings import LOOPBACK, ServiceSettings

_GRACE_S = 5  # for connections that do not end by themselves when the runs have
_SWITCH_S = 0.0005
"""The thread switch interval; see docs/concurrency.md."""


class Server(uvicorn.Server):
    """Lets the runs rest before it waits for the connections: those that follow runs end with them."""

    def __init__(self, app: FastAPI, certfile: Path | None = None, keyfile: Path | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                access_log=False,
                log_level="warning",
                server_header=False,
                timeout_graceful_shutdown=_GRACE_S,
                ssl_certfile=certfile,
                ssl_keyfile=keyfile,
            )
        )
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let the runs rest, then what uvicorn does."""
        await self._app.state.parts.runs.stop()
        await super().shutdown(sockets)


def serve(candor: Candor, tell: Callable[[str], None]) -> None:
    """Serve until a signal ends it; ``tell`` is given the address.

    Raises UsageError if it cannot or may not listen there, or if another service has the home folder or the database.
    """
    _ = (
        candor.trace,
        candor.agent_catalog.registry(),
    )  # what is wrong with these is to be known before anybody is told the address
    service = candor.settings.service
    _check_keys(candor)
    _check_certificate(service)
    sys.setswitchinterval(_SWITCH_S)
    alone, known = lock_home(candor.settings.home), lock_database(candor.engine, candor.settings.store.url)
    with alone, known, listen(service.host, service.port) as listener:
        tell(url_of(listener, secure=service.certfile is not None))
        with suppress(KeyboardInterrupt):  # the server has ended in good order, and passes the signal on
            Server(make_app(candor), service.certfile, service.keyfile).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections there. Raises UsageError."""
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


def url_of(listener: socket.socket, *, secure: bool = False) -> str:
    """Where a browser finds it."""
    host, port = listener.getsockname()[:2]
    return f"{'https' if secure else 'http'}://{f'[{host}]' if ':' in host else host}:{port}/"


def _check_keys(candor: Candor) -> None:
    """Raises UsageError if a key is needed and there is none: elsewhere than here, whoever comes may not read all."""
    service = candor.settings.service
    if service.needs_key and not candor.keys.has_valid():
        where = f"listen on {service.host!r}" if service.host not in LOOPBACK else "serve who needs a key"
        raise UsageError(
            f"Candor does not {where}: there is no valid key, so nobody could use it. Make one: `candor keys add "
            "OWNER --right '*=admin'`. Without keys it listens on 127.0.0.1 alone; from another machine, come through "
            "an SSH tunnel (`ssh -L 8484:127.0.0.1:8484 THIS_MACHINE`)."
        )


def _check_certificate(service: ServiceSettings) -> None:
    """Raises UsageError if it cannot be used."""
    if service.keyfile and not service.certfile:
        raise UsageError("A keyfile needs the certfile of its certificate: --certfile, or CANDOR_SERVICE__CERTFILE.")
    if service.certfile:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(service.certfile, service.keyfile)
        except OSError as error:  # SSLError is one
            raise UsageError(
                f"The certificate {str(service.certfile)!r} cannot be used, with the key "
                f"{str(service.keyfile or service.certfile)!r}: {error.strerror or error}."
            ) from error
