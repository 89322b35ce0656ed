"""Authentication of every request by its key, session or proxy, before the rest of the request is read.

Anonymous clients may request only the paths in ``OPEN``, which reveal no data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from ipaddress import ip_address

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from api.auth.callers import Callers, Credentials
from api.auth.limits import QuestionRate
from api.auth.permissions import ASK_PATH, LOCAL_CALLER, Caller
from api.auth.sessions import COOKIE
from api.errors import Forbidden, HomeError, Refused, Unauthorized
from api.http.errors import problem_response
from api.http.middleware.stream_guard import StreamGuard
from api.problems import problem_of
from api.settings import ServiceSettings

OPEN = ("/", "/docs", "/healthz", "/readyz", "/openapi.json", "/v1/session", "/widget.js")
OPEN_FOLDERS = ("/viewer/", "/docs/assets/", "/v1/session/")
SHARED = "/shared/"
"""The path of shared answers, before their key."""
_LOCAL_KEY = "local"  # clients of OpenAI always send a key
_PROXY_HEADERS = ("forwarded", "via", "x-real-ip")
_PROXY_PREFIX = "x-forwarded"


class AuthMiddleware:
    """ASGI middleware that stores the caller in the request's state, or rejects the request.

    ``callers`` finds the caller. If no key is needed, the caller of a request without one is the local user. Streams
    end when their caller has lost the key, the session or a right.
    """

    def __init__(self, app: ASGIApp, callers: Callable[[], Callers], service: ServiceSettings) -> None:
        self._app, self._callers, self._service = app, callers, service
        self._rate = QuestionRate(service.questions_per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            sent = _credentials(scope, self._service)
            try:
                caller = await self._caller(scope, sent)
            except (Forbidden, Refused, HomeError, SQLAlchemyError) as error:
                if not is_open(scope["path"]):
                    headers = error.headers if isinstance(error, Refused) else None
                    foreign = scope.get("state", {}).get("foreign", False)
                    await problem_response(problem_of(error), headers, public=foreign)(scope, receive, send)
                    return
                caller = None
            scope.setdefault("state", {})["caller"] = caller
            if caller and caller.key:
                await self._respond(partial(self._callers().is_current, sent, caller), scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _respond(self, is_current: Callable[[], bool], scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the application. End its stream when its caller is no longer current."""
        guard = StreamGuard(send, is_current)
        try:
            await self._app(scope, receive, guard.send)
        except Exception:  # the application may wrap the guard's exception
            if not guard.ended:
                raise

    async def _caller(self, scope: Scope, sent: Credentials) -> Caller:
        local = not self._service.needs_key and not _is_proxied(scope) and sent.key in ("", _LOCAL_KEY)
        permit = partial(self._permit, scope)
        if not local or sent.session:
            try:
                return await run_in_threadpool(self._callers().admit, sent._replace(key="") if local else sent, permit)
            except Unauthorized:
                if not local:  # whoever leaves out the cookie is the local user, too
                    raise
        permit(LOCAL_CALLER)
        return LOCAL_CALLER

    def _permit(self, scope: Scope, caller: Caller) -> None:
        """Raise Forbidden or TooManyQuestions. A refused request does not count for the key."""
        _require_permitted(caller, scope)
        if caller.asks:
            self._rate.count(caller.key, scope["client"][0] if scope.get("client") else "")


def _require_permitted(caller: Caller, scope: Scope) -> None:
    """Raise Forbidden for a request that the kind of key, or the page that sends it, does not permit."""
    path, origin = scope["path"], Headers(scope=scope).get("origin", "")
    if bool(caller.run) != path.startswith(SHARED):
        raise Forbidden("A key of a shared answer opens its page, and nothing else.")
    if caller.asks and (scope.get("method"), path) != ("POST", ASK_PATH):
        raise Forbidden(f"This key can ask questions with POST {ASK_PATH}, and nothing else.")
    if (caller.origins or scope.get("state", {}).get("foreign")) and origin not in caller.origins:
        raise Forbidden(f"The origins of this key do not include {origin!r}. `candor keys add --origin` names them.")


def is_open(path: str) -> bool:
    """Return whether anonymous clients may request the path."""
    return path in OPEN or path.startswith(OPEN_FOLDERS)


def _is_proxied(scope: Scope) -> bool:
    """Return whether the request shows signs of a proxy and may come from another machine.

    By default, nginx uses HTTP/1.0 and adds no header. Other proxies may show no signs at all, so behind a proxy, set
    ``service.require_key``.
    """
    if scope["http_version"] == "1.0":
        return True
    return any(name in _PROXY_HEADERS or name.startswith(_PROXY_PREFIX) for name in Headers(scope=scope))


def _credentials(scope: Scope, service: ServiceSettings) -> Credentials:
    headers = Headers(scope=scope)
    cookie = HTTPConnection(scope).cookies.get(COOKIE, "")
    path = scope["path"]
    key = path.removeprefix(SHARED) if path.startswith(SHARED) else _sent_key(headers)
    return Credentials(key, _proxied_user(scope, headers, service), cookie)


def _proxied_user(scope: Scope, headers: Headers, service: ServiceSettings) -> str:
    """Return the name that a trusted proxy sends. Empty if there is none, or if another sender added a second one."""
    peer = scope.get("state", {}).get("peer")  # not the client, which X-Forwarded-For can change
    if not service.user_header or not peer or not any(ip_address(peer) in proxy for proxy in service.proxies):
        return ""
    names = headers.getlist(service.user_header)
    return names[0] if len(names) == 1 else ""


def _sent_key(headers: Headers) -> str:
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return credentials.strip()
    return headers.get("x-api-key", "")
