"""The audit: who read or changed what over the service, when, and from where.

A request is recorded before its answer goes out, also one that is refused to a known caller: what cannot be recorded
is not told. Requests of strangers are not recorded, for they could fill the disk; they read nothing. What is older than
is wanted is taken out, which is recorded, too; ``retention.py`` does so every day.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import sqlalchemy as sql
from pydantic import AwareDatetime, Field
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.auth.permissions import ASKED_FOR, Caller
from api.http.errors import problem_of, problem_response
from api.http.middleware.auth import is_open
from vectorstore.models import FrozenModel

_HEADS = {"http.response.start", "websocket.http.response.start", "websocket.accept"}
_LONGEST, _LONGEST_ACTION = 2000, 300
_AT_ONCE = 10_000  # entries taken out in one transaction: others that write wait for no more
_TELL_IN_THE_BODY = ("/mcp",)  # one address for all that is read: which tool is called with what

_metadata = sql.MetaData()

_audit = sql.Table(
    "audit",
    _metadata,
    sql.Column("id", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("at", sql.DateTime(timezone=True), nullable=False, index=True),
    sql.Column("key", sql.String(12), nullable=False, index=True),
    sql.Column("name", sql.String(100), nullable=False),
    sql.Column("address", sql.String(100), nullable=False),
    sql.Column("action", sql.String(_LONGEST_ACTION), nullable=False),
    sql.Column("target", sql.Text, nullable=False),
    sql.Column("collections", sql.JSON, nullable=False),
    sql.Column("status", sql.Integer, nullable=False),
)


class AuditEntry(FrozenModel):
    """One request of a known caller, or that entries were taken out."""

    id: int = Field(default=0, description="its place in the order of all")
    at: AwareDatetime
    key: str = Field(description="id of the key; empty for the person at this machine")
    name: str = Field(description="what the key was named then")
    address: str = Field(description="where the request came from; empty if it was none")
    action: str = Field(description="method and route, such as GET /v1/runs/{run_id}; or prune audit")
    target: str = Field(description="what was asked for: path and query; for MCP the call itself, too")
    collections: tuple[str, ...] = Field(description="whose rights were asked for")
    status: int = Field(description="of the answer; 101 for a web socket that was opened; 0 if it was no request")


class AuditQuery(FrozenModel):
    """Which entries are wanted; the newest come first."""

    key: str | None = Field(default=None, description="only those of the key with this id")
    collection: str | None = Field(default=None, description="only those about this collection")
    text: str | None = Field(default=None, description="only those with this in action or target")
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    before: int | None = Field(
        default=None, ge=1, le=2**63 - 1, description="only those before the entry with this id: to page"
    )
    limit: int = Field(default=100, ge=1, le=10_000)


class Audit:
    """All entries, in the database behind ``engine``. Makes its table if it is not there. Calls block."""

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine
        _metadata.create_all(engine)

    def write(self, entries: Sequence[AuditEntry]) -> None:
        """Keep them durably."""
        rows = [entry.model_dump(exclude={"id"}) | {"collections": list(entry.collections)} for entry in entries]
        with self._engine.begin() as connection:
            connection.execute(_audit.insert(), rows)

    def list(self, wanted: AuditQuery) -> list[AuditEntry]:
        """The wanted entries, the newest first."""
        query = sql.select(_audit).order_by(_audit.c.id.desc()).limit(wanted.limit)
        if wanted.key is not None:
            query = query.where(_audit.c.key == wanted.key)
        if wanted.collection is not None:
            named = sql.cast(_audit.c.collections, sql.Text).contains(f'"{wanted.collection}"', autoescape=True)
            query = query.where(named)
        if wanted.text is not None:
            about = (_audit.c.action, _audit.c.target)
            query = query.where(sql.or_(*(column.icontains(wanted.text, autoescape=True) for column in about)))
        if wanted.since is not None:
            query = query.where(_audit.c.at >= wanted.since.astimezone(UTC))
        if wanted.until is not None:
            query = query.where(_audit.c.at <= wanted.until.astimezone(UTC))
        if wanted.before is not None:
            query = query.where(_audit.c.id < wanted.before)
        with self._engine.connect() as connection:
            return [_entry(row) for row in connection.execute(query).mappings()]

    def prune(self, days: int, by: str) -> int:
        """Take out what is older than so many days; gives how many entries that was.

        That ``by`` does so is recorded first, if there is anything: killed in the middle, it is known all the same.
        """
        now = datetime.now(UTC)
        old = _audit.c.at < now - timedelta(days=days)
        with self._engine.connect() as connection:
            count = connection.scalar(sql.select(sql.func.count()).where(old))
        if count:
            of = f"{count} entries older than {days} days"
            done = AuditEntry(
                at=now, key="", name=by, address="", action="prune audit", target=of, collections=(), status=0
            )
            self.write([done])
        some = _audit.delete().where(_audit.c.id.in_(sql.select(_audit.c.id).where(old).limit(_AT_ONCE)))
        gone = 0
        while taken := self._executed(some):
            gone += taken
        return gone

    def _executed(self, statement: sql.Delete) -> int:
        with self._engine.begin() as connection:
            return connection.execute(statement).rowcount


class AuditMiddleware:
    """ASGI middleware: lets an answer out when its request has been recorded.

    Requests that are answered at once are written at once: the first one writes for all that wait meanwhile.
    """

    def __init__(self, app: ASGIApp, write: Callable[[Sequence[AuditEntry]], None]) -> None:
        self._app, self._write = app, write
        self._waiting: list[AuditEntry] = []
        self._writing = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller | None = scope.get("state", {}).get("caller")
        if scope["type"] not in ("http", "websocket") or caller is None or _tells_of_nobody(scope["path"]):
            await self._app(scope, receive, send)
            return
        collections: set[str] = set()
        noting, refused, body = ASKED_FOR.set(collections), False, bytearray()

        async def received() -> Message:
            message = await receive()
            if scope["path"] in _TELL_IN_THE_BODY:
                body.extend(message.get("body", b"")[: _LONGEST - len(body)])
            return message

        async def sent(message: Message) -> None:
            nonlocal refused
            if message["type"] in _HEADS:
                try:
                    told, status = body.decode(errors="replace"), message.get("status", 101)
                    await self._record(_made(scope, caller, collections, told, status))
                except SQLAlchemyError as error:
                    refused = True
                    await problem_response(problem_of(error))(scope, receive, send)
            if not refused:
                await send(message)

        try:
            await self._app(scope, received, sent)
        finally:
            ASKED_FOR.reset(noting)

    async def _record(self, entry: AuditEntry) -> None:
        """Returns when it has been written. Raises SQLAlchemyError."""
        self._waiting.append(entry)
        async with self._writing:
            if not any(each is entry for each in self._waiting):
                return  # whoever had the lock before has written it, too
            batch, self._waiting = self._waiting, []
            try:
                await run_in_threadpool(self._write, batch)
            except SQLAlchemyError:  # the others try again for themselves
                self._waiting[:0] = [each for each in batch if each is not entry]
                raise


def _tells_of_nobody(path: str) -> bool:
    return path in ("/v1/me", "/metrics") or is_open(path)


def _made(scope: Scope, caller: Caller, collections: set[str], body: str, status: int) -> AuditEntry:
    method = scope.get("method", "WEBSOCKET")
    query = scope["query_string"].decode("latin-1")
    return AuditEntry(
        at=datetime.now(UTC),
        key=caller.key,
        name=caller.name,
        address=scope["client"][0] if scope.get("client") else "",
        action=_kept(f"{method} {getattr(scope.get('route'), 'path', scope['path'])}", _LONGEST_ACTION),
        target=_kept(f"{scope['path']}{'?' if query else ''}{query} {body}".rstrip(), _LONGEST),
        collections=tuple(sorted(collections)),
        status=status,
    )


def _kept(text: str, most: int) -> str:
    """As much as is kept, without what Postgres does not take in a text."""
    return text[:most].replace("\0", "\N{REPLACEMENT CHARACTER}")


def _entry(row: sql.RowMapping) -> AuditEntry:
    values = dict(row)
    if values["at"].tzinfo is None:  # SQLite keeps no time zone; all is in UTC
        values["at"] = values["at"].replace(tzinfo=UTC)
    return AuditEntry(**values)
