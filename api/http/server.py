"""The HTTP server. Opens the socket, checks keys and certificate, and shuts down in order."""

import gc
import logging
import socket
import ssl
import sys
from collections.abc import Callable
from contextlib import suppress

import uvicorn
from fastapi import FastAPI

from api.bootstrap import Candor
from api.errors import UsageError
from api.http.app import make_app
from api.http.connections import BACKLOG, ConnectionLimits, make_protocol
from api.jobs.locks import lock_database, lock_home
from api.jobs.queue import require_sound
from api.settings import LOOPBACK, ServiceSettings

_GRACE_S = 5  # for connections that stay open after the runs are paused
_SWITCH_S = 0.0005
"""The thread switch interval. See docs/concurrency.md."""


class Server(uvicorn.Server):
    """A uvicorn server that pauses the runs at shutdown, because connections that follow a run stay open otherwise."""

    def __init__(self, app: FastAPI, service: ServiceSettings) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=make_protocol(ConnectionLimits(service)),
                backlog=BACKLOG,
                lifespan="on",
                access_log=False,
                log_level="warning",
                server_header=False,
                forwarded_allow_ips=["127.0.0.1", *map(str, service.proxies)] if service.proxies else None,
                timeout_graceful_shutdown=_GRACE_S,
                ssl_certfile=service.certfile,
                ssl_keyfile=service.keyfile,
            )
        )
        self._app = app

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then hide all objects from the garbage collector. No thread runs during a collection of them."""
        await super().startup(sockets)
        gc.collect()
        gc.freeze()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Pause the runs, then shut down."""
        await self._app.state.parts.runs.stop()
        await super().shutdown(sockets)


def serve(candor: Candor, tell: Callable[[str], None]) -> None:
    """Serve until a signal ends the process. ``tell`` receives the URL.

    Raises UsageError if the address cannot or must not be used, or if another service uses the data folder or the
    database.
    """
    _ = candor.trace, candor.agent_catalog.registry()  # report their errors before the URL
    require_sound(candor.settings)
    service = candor.settings.service
    if service.oidc.issuer:
        _ = candor.oidc
    _check_keys(candor)
    _check_certificate(service)
    sys.setswitchinterval(_SWITCH_S)
    # Otherwise the MCP server installs a handler that imports modules while it logs, which fails without file
    # descriptors and ends the event loop.
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    alone, known = lock_home(candor.settings.home), lock_database(candor.engine, candor.settings.store.url)
    with alone, known, listen(service.host, service.port) as listener:
        tell(url_of(listener, secure=service.certfile is not None))
        with suppress(KeyboardInterrupt):  # uvicorn raises the signal again after a clean shutdown
            try:
                Server(make_app(candor), service).run(sockets=[listener])
            except SystemExit as error:  # the start failed; uvicorn has printed why and has a code of its own
                raise SystemExit(1) from error


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket. Raises UsageError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
        # asyncio does this only for sockets created with the protocol's number. Without it, responses are 40 ms later.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        return listener
    except OSError as error:
        raise UsageError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}. Another program may use the port, "
            "for example another `candor serve`. Choose another port with --port or CANDOR_SERVICE__PORT."
        ) from error


def url_of(listener: socket.socket, *, secure: bool = False) -> str:
    """Return the URL for a browser."""
    host, port = listener.getsockname()[:2]
    return f"{'https' if secure else 'http'}://{f'[{host}]' if ':' in host else host}:{port}/"


def _check_keys(candor: Candor) -> None:
    """Raise UsageError if the service needs a key and there is no valid one."""
    service = candor.settings.service
    if service.needs_key and not candor.callers.any():
        reason = f"listening on {service.host!r}" if service.host not in LOOPBACK else "the settings"
        raise UsageError(
            f"There is no valid key, and {reason} needs one. Create a key: `candor keys add OWNER --right '*=admin'`. "
            "Until you create an API key, only localhost can connect. From another machine, use an SSH tunnel "
            "(`ssh -L 8484:127.0.0.1:8484 THIS_MACHINE`)."
        )


def _check_certificate(service: ServiceSettings) -> None:
    """Raise UsageError if the certificate or its key is unusable."""
    if service.keyfile and not service.certfile:
        raise UsageError("A keyfile needs the certfile of its certificate: --certfile, or CANDOR_SERVICE__CERTFILE.")
    if service.certfile:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(service.certfile, service.keyfile)
        except OSError as error:  # SSLError is one
            raise UsageError(
                f"Cannot use the certificate {str(service.certfile)!r} with the key "
                f"{str(service.keyfile or service.certfile)!r}: {error.strerror or error}."
            ) from error
