"""What keeps the service from being used by web pages of others.

A page from elsewhere can make a browser send requests here. It is refused by the Host header (a name of its own that
was made to point to this machine), by Origin (its script, or its form), and reads no answer, since CORS is closed.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.errors import Problem, problem_response
from api.settings import LOOPBACK

_SCHEMES = ("http", "https")  # TLS may be put in front, and is not seen here then
_USUAL_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}

SAFE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class HostOriginCheck:
    """ASGI middleware: lets through what was addressed to this service by its own page, or by no page.

    It answers to its addresses and to ``hosts``: any other name may have been made to point here by its owner.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str] = ()) -> None:
        self._app, self._hosts = app, [host.lower() for host in hosts]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                headers = MutableHeaders(scope=message)
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)  # a route may be stricter
            await send(message)

        refusal = _refusal(Headers(scope=scope), _own_names(scope, self._hosts))
        await (problem_response(refusal) if refusal else self._app)(scope, receive, send_safely)


def _own_names(scope: Scope, hosts: Sequence[str]) -> frozenset[str]:
    """What a Host header may say, for the address and the port that the request came in by."""
    address, port = scope["server"]
    here = [f"[{host}]" if ":" in host else host for host in (*LOOPBACK, address)]
    bare = here if port == _USUAL_PORTS[scope["scheme"]] else []
    return frozenset([f"{host}:{port}" for host in (*here, *hosts)] + bare + list(hosts))


def _refusal(headers: Headers, own: frozenset[str]) -> Problem | None:
    host, origin = headers.get("host", ""), headers.get("origin")
    if host.lower() not in own:
        return Problem(
            type="urn:candor:wrong-host",
            title="Not addressed to this machine",
            status=421,
            detail=f"The request's Host header says {host!r}; this service answers to {', '.join(sorted(own))}.",
            remedy="Use one of these addresses; the setting `service.hosts` adds names.",
        )
    if origin is not None and origin.lower() not in {f"{scheme}://{name}" for name in own for scheme in _SCHEMES}:
        return Problem(
            type="urn:candor:wrong-origin",
            title="Asked by a foreign page",
            status=403,
            detail=f"The request comes from a page of {origin!r}; only the service's own pages may use it.",
            remedy="Use the page that the service itself serves, or call it from a program, without an Origin header.",
        )
    return None
