"""API keys in SQL: who may do what with which collection, until when, and how much in a day.

A key is ``candor_ID_SECRET``. Only the SHA-256 of the secret is kept: it is 256 random bits, which nobody can try out,
so that a slow hash, made for words that people think of, would only cost time with every request.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import sqlalchemy as sql
from pydantic import AwareDatetime, Field

from api.auth.permissions import Caller, Limits, Right
from api.errors import KeyNotFound, LimitReached, Unauthorized, UsageError
from vectorstore.models import FrozenModel

KEY_PREFIX = "candor_"
_KEY = re.compile(rf"{KEY_PREFIX}([0-9a-f]{{12}})_([A-Za-z0-9_-]{{43}})")
_NOBODYS = hashlib.sha256(secrets.token_bytes()).hexdigest()

_metadata = sql.MetaData()

_keys = sql.Table(
    "keys",
    _metadata,
    sql.Column("id", sql.String(12), primary_key=True),
    sql.Column("secret_hash", sql.String(64), nullable=False),
    sql.Column("name", sql.String(100), nullable=False),
    sql.Column("rights", sql.JSON, nullable=False),
    sql.Column("requests_per_day", sql.Integer, nullable=True),
    sql.Column("tokens_per_day", sql.BigInteger, nullable=True),
    sql.Column("created_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("expires_at", sql.DateTime(timezone=True), nullable=True),
    sql.Column("revoked_at", sql.DateTime(timezone=True), nullable=True),
    sql.Column("last_used_at", sql.DateTime(timezone=True), nullable=True),
    sql.Column("last_day", sql.String(10), nullable=False),
    sql.Column("requests", sql.Integer, nullable=False),
)

CollectionName = Annotated[str, Field(pattern=r"^(\*|[A-Za-z0-9_-]{1,63})$")]
Rights = Annotated[
    dict[CollectionName, Right], Field(min_length=1, description="by collection; '*' stands for all of them")
]


class KeyRequest(FrozenModel):
    """The key that is wanted."""

    name: str = Field(min_length=1, max_length=100, pattern=r"\S", description="whose it is, or what for")
    rights: Rights
    expires_at: AwareDatetime | None = Field(default=None, description="none means never")
    limits: Limits = Limits()


class Key(FrozenModel):
    """What is known of a key; its secret is not."""

    id: str
    name: str
    rights: dict[str, Right]
    limits: Limits
    created_at: AwareDatetime
    expires_at: AwareDatetime | None
    revoked_at: AwareDatetime | None
    last_used_at: AwareDatetime | None
    requests_today: int = Field(description="since midnight UTC")

    def valid(self, now: datetime) -> bool:
        """Whether it opens anything."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class NewKey(FrozenModel):
    """A key that was made, with all that its holder needs."""

    key: Key
    secret: str = Field(description="what has to be sent; it is shown this once and cannot be found out again")


class Keys:
    """All keys, in the database behind ``engine``. Makes its table if it is not there. Calls block."""

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine
        _metadata.create_all(engine)

    def add(self, order: KeyRequest) -> NewKey:
        """Make a key. Raises UsageError for one that would have expired already."""
        now = datetime.now(UTC)
        if order.expires_at and order.expires_at <= now:
            raise UsageError(f"A key that expires at {order.expires_at.isoformat()} would have expired already.")
        key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        row = {
            "id": key_id,
            "secret_hash": _hash(secret),
            "name": order.name.strip(),
            "rights": {collection: right.value for collection, right in order.rights.items()},
            **order.limits.model_dump(),
            "created_at": now,
            "expires_at": order.expires_at and order.expires_at.astimezone(UTC),
            "last_day": _day(now),
            "requests": 0,
        }
        with self._engine.begin() as connection:
            connection.execute(_keys.insert().values(row))
        return NewKey(key=self.get(key_id), secret=f"{KEY_PREFIX}{key_id}_{secret}")

    def get(self, key_id: str) -> Key:
        """The key with this id. Raises KeyNotFound."""
        row = self._row(key_id)
        if row is None:
            raise KeyNotFound(f"There is no key {key_id!r}.")
        return _key(row)

    def list(self) -> list[Key]:
        """All keys, the newest first; also those that are not valid any more."""
        query = sql.select(_keys).order_by(_keys.c.created_at.desc(), _keys.c.id)
        with self._engine.connect() as connection:
            return [_key(row) for row in connection.execute(query).mappings()]

    def revoke(self, key_id: str) -> Key:
        """Make a key useless from now on; one that was revoked stays as it is. Raises KeyNotFound."""
        revoked = _keys.update().where(_keys.c.id == key_id, _keys.c.revoked_at.is_(None))
        with self._engine.begin() as connection:
            connection.execute(revoked.values(revoked_at=datetime.now(UTC)))
        return self.get(key_id)

    def any_valid(self) -> bool:
        """Whether anybody could come in with a key."""
        now = datetime.now(UTC)
        return any(key.valid(now) for key in self.list())

    def admit(self, sent: str) -> Caller:
        """Who holds the key; counts the request. Raises Unauthorized, LimitReached."""
        shape = _KEY.fullmatch(sent)
        key_id, secret = shape.groups() if shape else ("", sent)
        row = self._row(key_id)
        # Compared in any case: how long it takes does not tell whether there is a key with this id.
        same = hmac.compare_digest(_hash(secret), row["secret_hash"] if row else _NOBODYS)
        now = datetime.now(UTC)
        if row is None or not same or not (key := _key(row)).valid(now):
            raise Unauthorized
        self._count(key, now)
        return Caller(key=key.id, name=key.name, rights=key.rights, limits=key.limits)

    def _count(self, key: Key, now: datetime) -> None:
        """One request more today, in one statement: many processes may count at once."""
        today = _keys.c.last_day == _day(now)
        most = _keys.c.requests_per_day
        counted = (
            _keys.update()
            .where(_keys.c.id == key.id, sql.or_(most.is_(None), sql.not_(today), _keys.c.requests < most))
            .values(requests=sql.case((today, _keys.c.requests + 1), else_=1), last_day=_day(now), last_used_at=now)
        )
        with self._engine.begin() as connection:
            if not connection.execute(counted).rowcount:
                raise LimitReached(f"{key.limits.requests_per_day} requests a day", until_midnight(now))

    def _row(self, key_id: str) -> sql.RowMapping | None:
        with self._engine.connect() as connection:
            return connection.execute(sql.select(_keys).where(_keys.c.id == key_id)).mappings().first()


def until_midnight(now: datetime) -> int:
    """Seconds until a new day begins in UTC."""
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return int((midnight - now).total_seconds()) + 1


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _day(now: datetime) -> str:
    return now.date().isoformat()


def _key(row: sql.RowMapping) -> Key:
    values: dict[str, Any] = {name: row[name] for name in Key.model_fields if name in row}
    for name in ("created_at", "expires_at", "revoked_at", "last_used_at"):
        if values[name] is not None and values[name].tzinfo is None:  # SQLite keeps no time zone; all is in UTC
            values[name] = values[name].replace(tzinfo=UTC)
    limits = Limits(requests_per_day=row["requests_per_day"], tokens_per_day=row["tokens_per_day"])
    today = row["requests"] if row["last_day"] == _day(datetime.now(UTC)) else 0
    return Key(**values, limits=limits, requests_today=today)
