"""Protects the service from web pages of other sites.

Any page can make a browser send requests to this service. Three checks stop it: the Host header (DNS rebinding), the
Origin header (scripts and forms), and the absence of CORS headers (reading responses). A change with the cookie of a
session needs the Origin header, which every browser sends.

Pages of the origins of a key may ask questions: their requests to ``ASK_PATH`` pass, marked as ``foreign`` for the
check of the key, and their responses have CORS headers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.auth.permissions import ASK_PATH
from api.auth.sessions import COOKIE
from api.errors import HomeError
from api.http.errors import problem_response
from api.problems import Problem, problem_of
from api.settings import LOOPBACK

_SCHEMES = ("http", "https")  # a proxy may add TLS, which is not visible here
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_SENT_HEADERS = ["Authorization", "Content-Type", "Idempotency-Key"]
_WRONG_ORIGIN = "urn:candor:wrong-origin"
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

    Accepts the service's addresses and the names in ``hosts``; an attacker can point any other name here. ``origins``
    returns the origins of all keys.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str], origins: Callable[[], Set[str]]) -> None:
        self._app, self._hosts, self._origins = app, [host.lower() for host in hosts], origins

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
        app = problem_response(problem) if problem else self._app
        if problem and problem.type == _WRONG_ORIGIN and scope["path"] == ASK_PATH:
            app = await self._for_foreign_page(scope, app)
        await app(scope, receive, send_with_headers)

    async def _for_foreign_page(self, scope: Scope, refusal: ASGIApp) -> ASGIApp:
        """Return the application with CORS for a page of the origins of a key, and the refusal for others."""
        origin = Headers(scope=scope).get("origin", "")
        try:
            if origin not in await run_in_threadpool(self._origins):
                return refusal
        except (HomeError, SQLAlchemyError) as error:
            return problem_response(problem_of(error), public=True)
        scope.setdefault("state", {})["foreign"] = True
        return CORSMiddleware(self._app, [origin], ["POST"], _SENT_HEADERS, expose_headers=["Retry-After"])


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
            type=_WRONG_ORIGIN,
            title="Asked by a foreign page",
            status=403,
            detail=f"The request comes from a page of {origin!r}. Only the service's own pages may use it.",
            remedy="Use the service's own page, or call the service from a program without an Origin header.",
        )
    return None
