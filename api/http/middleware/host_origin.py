"""Protects the service from web pages of other sites.

Any page can make a browser send requests to this service. Three checks stop it: the Host header (DNS rebinding), the
Origin header (scripts and forms), and the absence of CORS headers (reading responses). A change with the cookie of a
session needs the Origin header, which every browser sends.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.auth.sessions import COOKIE
from api.http.errors import problem_response
from api.problems import Problem
from api.settings import LOOPBACK

_SCHEMES = ("http", "https")  # a proxy may add TLS, which is not visible here
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_DEFAULT_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}

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
    """ASGI middleware that rejects requests for other hosts and from pages of other origins.

    Accepts the service's addresses and the names in ``hosts``; an attacker can point any other name here.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str] = ()) -> None:
        self._app, self._hosts = app, [host.lower() for host in hosts]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                headers = MutableHeaders(scope=message)
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)  # a route may set a stricter one
            await send(message)

        problem = _find_problem(scope, _own_hosts(scope, self._hosts))
        await (problem_response(problem) if problem else self._app)(scope, receive, send_with_headers)


def _own_hosts(scope: Scope, hosts: Sequence[str]) -> frozenset[str]:
    """Return the valid Host headers for the address and port that received the request."""
    address, port = scope["server"]
    local = [f"[{host}]" if ":" in host else host for host in (*LOOPBACK, address)]
    without_port = local if port == _DEFAULT_PORTS[scope["scheme"]] else []
    return frozenset([f"{host}:{port}" for host in (*local, *hosts)] + without_port + list(hosts))


def _find_problem(scope: Scope, own: frozenset[str]) -> Problem | None:
    headers = Headers(scope=scope)
    host, origin = headers.get("host", ""), headers.get("origin")
    if (
        origin is None
        and scope.get("method") not in _SAFE_METHODS
        and COOKIE in cookie_parser(headers.get("cookie", ""))
    ):
        origin = "an unknown address"
    if host.lower() not in own:
        return Problem(
            type="urn:candor:wrong-host",
            title="Not addressed to this machine",
            status=421,
            detail=f"The Host header is {host!r}; this service accepts {', '.join(sorted(own))}.",
            remedy="Use one of these addresses. The setting `service.hosts` adds names.",
        )
    if origin is not None and origin.lower() not in {f"{scheme}://{name}" for name in own for scheme in _SCHEMES}:
        return Problem(
            type="urn:candor:wrong-origin",
            title="Asked by a foreign page",
            status=403,
            detail=f"The request comes from a page of {origin!r}. Only the service's own pages may use it.",
            remedy="Use the service's own page, or call the service from a program without an Origin header.",
        )
    return None
