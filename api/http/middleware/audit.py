"""Records requests in the audit log before their responses are sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.auth.audit import MAX_ACTION, MAX_TARGET, AuditEntry
from api.auth.permissions import ACCESSED_COLLECTIONS, Caller
from api.http.errors import problem_response
from api.http.middleware.auth import SHARED, is_open
from api.problems import problem_of

_RESPONSE_STARTS = {"http.response.start", "websocket.http.response.start", "websocket.accept"}
_PATHS_WITH_BODY = ("/mcp",)  # the path is the same for all tools; the body names the tool and its arguments
_UNRECORDED = ("/v1/me", "/metrics")


class AuditMiddleware:
    """ASGI middleware that sends a response only after its request has been recorded.

    If the entry cannot be stored, the client gets an error instead of the response. Concurrent requests share writes:
    the first one stores the entries of all that wait.
    """

    def __init__(self, app: ASGIApp, write: Callable[[Sequence[AuditEntry]], None]) -> None:
        self._app, self._write = app, write
        self._waiting: list[AuditEntry] = []
        self._writing = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller | None = scope.get("state", {}).get("caller")
        if scope["type"] not in ("http", "websocket") or caller is None or not _is_recorded(scope["path"]):
            await self._app(scope, receive, send)
            return
        collections: set[str] = set()
        token, failed, body = ACCESSED_COLLECTIONS.set(collections), False, bytearray()

        async def receive_body() -> Message:
            message = await receive()
            if scope["path"] in _PATHS_WITH_BODY:
                body.extend(message.get("body", b"")[: MAX_TARGET - len(body)])
            return message

        async def send_recorded(message: Message) -> None:
            nonlocal failed
            if message["type"] in _RESPONSE_STARTS:
                try:
                    text, status = body.decode(errors="replace"), message.get("status", 101)
                    await self._record(_entry(scope, caller, collections, text, status))
                except SQLAlchemyError as error:
                    failed = True
                    await problem_response(problem_of(error))(scope, receive, send)
            if not failed:
                await send(message)

        try:
            await self._app(scope, receive_body, send_recorded)
        finally:
            ACCESSED_COLLECTIONS.reset(token)

    async def _record(self, entry: AuditEntry) -> None:
        """Return when the entry has been written. Raises SQLAlchemyError."""
        self._waiting.append(entry)
        async with self._writing:
            if not any(each is entry for each in self._waiting):
                return  # the previous holder of the lock has written it
            batch, self._waiting = self._waiting, []
            try:
                await run_in_threadpool(self._write, batch)
            except SQLAlchemyError:  # the other requests retry with their own entries
                self._waiting[:0] = [each for each in batch if each is not entry]
                raise


def _is_recorded(path: str) -> bool:
    return path not in _UNRECORDED and not is_open(path)


def _entry(scope: Scope, caller: Caller, collections: set[str], body: str, status: int) -> AuditEntry:
    method = scope.get("method", "WEBSOCKET")
    query = scope["query_string"].decode("latin-1")
    path = f"{SHARED}{caller.key}" if caller.run else scope["path"]  # a shared path has the secret
    return AuditEntry(
        at=datetime.now(UTC),
        key=caller.key,
        name=caller.name,
        address=scope["client"][0] if scope.get("client") else "",
        action=_clean(f"{method} {getattr(scope.get('route'), 'path', scope['path'])}", MAX_ACTION),
        target=_clean(f"{path}{'?' if query else ''}{query} {body}".rstrip(), MAX_TARGET),
        collections=tuple(sorted(collections)),
        status=status,
    )


def _clean(text: str, max_length: int) -> str:
    """Truncate the text, and replace NUL characters, which Postgres rejects."""
    return text[:max_length].replace("\0", "\N{REPLACEMENT CHARACTER}")
