"""API keys in SQL: their rights, expiry and daily limits.

A key is ``candor_ID_SECRET``. Only the SHA-256 of the secret is stored. The secret has 256 random bits and cannot be
guessed, so a slow password hash would only delay every request.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self

import sqlalchemy as sql
from pydantic import AwareDatetime, Field, model_validator

from api.auth.permissions import ALL_COLLECTIONS, Caller, Limits, Right
from api.errors import KeyNotFound, LimitReached, Unauthorized, UsageError
from base.database import METADATA, SqlStore
from base.models import FrozenModel, UtcTime

KEY_PREFIX = "candor_"
_KEY = re.compile(rf"{KEY_PREFIX}([0-9a-f]{{12}})_([A-Za-z0-9_-]{{43}})")
_DUMMY_HASH = hashlib.sha256(secrets.token_bytes()).hexdigest()

_keys = sql.Table(
    "keys",
    METADATA,
    sql.Column("id", sql.String(12), primary_key=True),
    sql.Column("secret_hash", sql.String(64), nullable=False),
    sql.Column("name", sql.String(100), nullable=False),
    sql.Column("user_id", sql.String(12), nullable=True),
    sql.Column("run_id", sql.String(64), nullable=True),
    sql.Column("rights", sql.JSON, nullable=False),
    sql.Column("origins", sql.JSON, nullable=False, server_default="[]"),
    sql.Column("requests_per_day", sql.Integer, nullable=True),
    sql.Column("tokens_per_day", sql.BigInteger, nullable=True),
    sql.Column("upload_bytes_per_day", sql.BigInteger, nullable=True),
    sql.Column("created_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("expires_at", sql.DateTime(timezone=True), nullable=True),
    sql.Column("revoked_at", sql.DateTime(timezone=True), nullable=True),
    sql.Column("last_used_at", sql.DateTime(timezone=True), nullable=True),
    sql.Column("last_day", sql.String(10), nullable=False),
    sql.Column("requests", sql.Integer, nullable=False),
    sql.Column("uploaded", sql.BigInteger, nullable=False, server_default="0"),
)

CollectionName = Annotated[str, Field(pattern=r"^(\*|[A-Za-z0-9_-]{1,63})$")]
Rights = Annotated[
    dict[CollectionName, Right],
    Field(min_length=1, description="by collection; '*' means all collections. `ask` must be the only one"),
]
Origin = Annotated[str, Field(pattern=r"^https?://[a-z0-9.:\[\]-]+$", max_length=300)]


class KeyRequest(FrozenModel):
    """A key to create."""

    name: str = Field(min_length=1, max_length=100, pattern=r"\S", description="owner or purpose")
    user_id: str | None = Field(
        default=None, max_length=12, description="the user to whom the key belongs. It can do what the user can do, too"
    )
    run_id: str | None = Field(
        default=None, max_length=64, description="a run whose answer the key shares as a page, at `/shared/KEY`. The "
        "key can read nothing else; its rights are those to read the collections of the run"
    )  # fmt: skip
    rights: Rights
    origins: tuple[Origin, ...] = Field(
        default=(), max_length=100, description="With the right `ask`: origins of the web pages that may use the key, "
        "such as `https://example.org`. Without any, no page of another site may use it",
    )  # fmt: skip
    expires_at: UtcTime | None = Field(default=None, description="None means never")
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _asks_alone(self) -> Self:
        asks = Right.ASK in self.rights.values()
        if asks and (len(self.rights) > 1 or ALL_COLLECTIONS in self.rights or self.run_id):
            raise ValueError("a key with the right 'ask' has this right over one collection, and no other right")
        if self.origins and not asks:
            raise ValueError("only a key with the right 'ask' can have origins")
        return self


class Key(FrozenModel):
    """A key without its secret."""

    id: str
    name: str
    user_id: str | None
    run_id: str | None
    rights: dict[str, Right]
    origins: tuple[str, ...]
    limits: Limits
    created_at: AwareDatetime
    expires_at: AwareDatetime | None
    revoked_at: AwareDatetime | None
    last_used_at: AwareDatetime | None
    requests_today: int = Field(description="since midnight UTC")
    uploaded_today: int = Field(description="bytes since midnight UTC")

    def valid(self, now: datetime) -> bool:
        """Return whether the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class NewKey(FrozenModel):
    """A created key with its secret."""

    key: Key
    secret: str = Field(description="the API key to send; shown only once")


class Keys(SqlStore):
    """All API keys in SQL. Calls block."""

    def add(self, request: KeyRequest) -> NewKey:
        """Create a key. Raises UsageError if its expiry date is in the past."""
        now = datetime.now(UTC)
        if request.expires_at and request.expires_at <= now:
            raise UsageError(f"The expiry date {request.expires_at.isoformat()} is in the past; choose a later one.")
        key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        row = {
            "id": key_id,
            "secret_hash": hash_secret(secret),
            "name": request.name.strip(),
            "user_id": request.user_id,
            "run_id": request.run_id,
            "rights": {collection: right.value for collection, right in request.rights.items()},
            "origins": request.origins,
            **request.limits.model_dump(),
            "created_at": now,
            "expires_at": request.expires_at,
            "last_day": _day(now),
            "requests": 0,
            "uploaded": 0,
        }
        self._execute(_keys.insert(), row)
        return NewKey(key=self.get(key_id), secret=f"{KEY_PREFIX}{key_id}_{secret}")

    def get(self, key_id: str) -> Key:
        """Return the key with this id. Raises KeyNotFound."""
        row = self._row(key_id)
        if row is None:
            raise KeyNotFound(f"There is no key {key_id!r}.")
        return _key(row)

    def list(self, user: str | None = None) -> list[Key]:
        """Return all keys, or those of a user, newest first, including revoked and expired ones."""
        mine = _keys.c.user_id == user if user else sql.true()
        query = sql.select(_keys).where(mine).order_by(_keys.c.created_at.desc(), _keys.c.id)
        return [_key(row._mapping) for row in self._select(query)]

    def origins(self) -> set[str]:
        """Return the origins of all keys. Pages of revoked keys are told that the key is not valid."""
        rows = self._select(sql.select(_keys.c.origins).where(_keys.c.secret_hash != ""))
        return {origin for row in rows for origin in row.origins}

    def revoke(self, key_id: str) -> Key:
        """Revoke a key. A key that is already revoked stays unchanged. Raises KeyNotFound."""
        revoked = _keys.update().where(_keys.c.id == key_id, _keys.c.revoked_at.is_(None))
        self._execute(revoked.values(revoked_at=datetime.now(UTC)))
        return self.get(key_id)

    def restore(self, key_id: str) -> None:
        """Make a revoked key valid again, unless it has expired or was erased."""
        kept = _keys.c.id == key_id, _keys.c.secret_hash != ""
        self._execute(_keys.update().where(*kept).values(revoked_at=None))

    def erase(self, key_id: str) -> None:
        """Erase the secret of a key. Its name stays, so that the audit log can be read."""
        self._execute(_keys.update().where(_keys.c.id == key_id).values(secret_hash=""))

    def has_valid(self) -> bool:
        """Return whether there is a valid key that does more than share an answer."""
        now = datetime.now(UTC)
        return any(key.valid(now) and not key.run_id for key in self.list())

    def authenticate(self, sent: str) -> Key:
        """Return the key that was sent. Raises Unauthorized."""
        match = _KEY.fullmatch(sent)
        key_id, secret = match.groups() if match else ("", sent)
        row = self._row(key_id)
        # The secret is compared even without a row, so that the response time does not reveal whether the id exists.
        matches = hmac.compare_digest(hash_secret(secret), row["secret_hash"] if row else _DUMMY_HASH)
        if row is None or not matches or not (key := _key(row)).valid(datetime.now(UTC)):
            raise Unauthorized
        return key

    def count_request(self, key_id: str) -> None:
        """Count a request. Raises LimitReached."""
        self._count(key_id, datetime.now(UTC), requests=1)

    def uploads_left(self, caller: Caller) -> int | None:
        """Return the bytes that the caller may still upload today, or None without a limit."""
        limit = caller.limits.upload_bytes_per_day
        return None if limit is None else max(limit - self.get(caller.key).uploaded_today, 0)

    def count_upload(self, caller: Caller, size: int) -> None:
        """Count uploaded bytes.

        Raises LimitReached if they exceed what is left today; then they are not counted.
        """
        if size and caller.key and not caller.signed_in:
            self._count(caller.key, datetime.now(UTC), uploaded=size)

    def _count(self, key_id: str, now: datetime, *, requests: int = 0, uploaded: int = 0) -> None:
        """Add to today's figures. A single statement, because several processes may count at once.

        Raises LimitReached for what exceeds its limit; then nothing is counted.
        """
        today = _keys.c.last_day == _day(now)
        total_requests = sql.case((today, _keys.c.requests), else_=0) + requests
        total_uploaded = sql.case((today, _keys.c.uploaded), else_=0) + uploaded
        limit = _keys.c.upload_bytes_per_day if uploaded else _keys.c.requests_per_day
        total = total_uploaded if uploaded else total_requests
        values = {
            "requests": total_requests, "uploaded": total_uploaded, "last_day": _day(now), "last_used_at": now
        }  # fmt: skip
        statement = _keys.update().where(_keys.c.id == key_id, sql.or_(limit.is_(None), total <= limit)).values(values)
        if not self._execute(statement):
            limits = self.get(key_id).limits
            raise uploads_used_up(limits) if uploaded else _used_up(f"{limits.requests_per_day} requests")

    def _row(self, key_id: str) -> sql.RowMapping | None:
        found = self._select(sql.select(_keys).where(_keys.c.id == key_id))
        return found[0]._mapping if found else None


def until_midnight(now: datetime) -> int:
    """Return the seconds until the next midnight UTC, rounded up."""
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return int((midnight - now).total_seconds()) + 1


def uploads_used_up(limits: Limits) -> LimitReached:
    """Return the error for an upload that exceeds the daily limit."""
    return _used_up(f"{limits.upload_bytes_per_day} bytes of uploads")


def _used_up(what: str) -> LimitReached:
    return LimitReached(f"{what} a day", until_midnight(datetime.now(UTC)))


def hash_secret(secret: str) -> str:
    """Return the SHA-256 of a random secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _day(now: datetime) -> str:
    return now.date().isoformat()


def _key(row: sql.RowMapping) -> Key:
    values: dict[str, Any] = {name: row[name] for name in Key.model_fields if name in row}
    for name in ("created_at", "expires_at", "revoked_at", "last_used_at"):
        if values[name] is not None and values[name].tzinfo is None:  # SQLite drops the time zone (UTC)
            values[name] = values[name].replace(tzinfo=UTC)
    limits = Limits(**{name: row[name] for name in Limits.model_fields})
    today = row["last_day"] == _day(datetime.now(UTC))
    requests, uploaded = (row["requests"], row["uploaded"]) if today else (0, 0)
    return Key(**values, limits=limits, requests_today=requests, uploaded_today=uploaded)
