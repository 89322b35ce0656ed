"""Sessions and invitations of users, and the limits of failed sign-ins, in SQL.

Both are random tokens of 256 bits, which cannot be guessed. Only their SHA-256 is stored.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from enum import Enum
from ipaddress import ip_address, ip_network

import sqlalchemy as sql

from api.auth.keys import hash_secret
from api.errors import TooManyAttempts
from base.database import METADATA, SqlStore

COOKIE = "candor_session"
_WINDOW = timedelta(minutes=15)
_MOST_BY_BOTH, _MOST_BY_NAME, _MOST_BY_ADDRESS = 10, 100, 100  # failed sign-ins in the window

_tokens = sql.Table(
    "user_tokens",
    METADATA,
    sql.Column("token_hash", sql.String(64), primary_key=True),
    sql.Column("user_id", sql.String(12), nullable=False, index=True),
    sql.Column("kind", sql.String(20), nullable=False),
    sql.Column("expires_at", sql.DateTime(timezone=True), nullable=False),
)
_attempts = sql.Table(
    "sign_in_attempts",
    METADATA,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("name", sql.String(64), nullable=False, index=True),
    sql.Column("address", sql.String(100), nullable=False, index=True),
    sql.Column("at", sql.DateTime(timezone=True), nullable=False),
)


class TokenKind(Enum):
    """What a token is for, with its lifetime in days."""

    SESSION = 14
    INVITATION = 7


class Sessions(SqlStore):
    """All tokens and attempts. Calls block."""

    def start(self, user: str, kind: TokenKind) -> str:
        """Return a new token of a user. Tokens that have expired are deleted."""
        token, now = secrets.token_urlsafe(32), datetime.now(UTC)
        row = {"token_hash": hash_secret(token), "user_id": user, "kind": kind.name}
        with self._engine.begin() as connection:
            connection.execute(_tokens.delete().where(_tokens.c.expires_at <= now))
            connection.execute(_tokens.insert(), {**row, "expires_at": now + timedelta(days=kind.value)})
        return token

    def user(self, token: str, kind: TokenKind) -> str | None:
        """Return the id of the user with this token. None if it has ended."""
        query = sql.select(_tokens.c.user_id).where(
            _tokens.c.token_hash == hash_secret(token), _tokens.c.kind == kind.name
        )
        found = self._select(query.where(_tokens.c.expires_at > datetime.now(UTC)))
        return found[0].user_id if found else None

    def end(self, token: str, kind: TokenKind = TokenKind.SESSION) -> str | None:
        """Delete the token and return the id of its user. None if it has ended, also if another call ended it."""
        user = self.user(token, kind)
        mine = sql.and_(_tokens.c.token_hash == hash_secret(token), _tokens.c.kind == kind.name)
        return user if self._execute(_tokens.delete().where(mine)) else None

    @contextmanager
    def attempt(self, name: str, address: str) -> Iterator[None]:
        """Count a sign-in as failed unless the block succeeds. Raises TooManyAttempts.

        It is counted before the password is compared, so that many at once cannot exceed the limit. A stranger who
        knows a name blocks it only for the address of the stranger.
        """
        now = datetime.now(UTC)
        row = {"name": hash_secret(name), "address": network_of(address), "at": now}
        with self._engine.begin() as connection:
            connection.execute(_attempts.delete().where(_attempts.c.at <= now - _WINDOW))
            number = connection.execute(_attempts.insert().returning(_attempts.c.id), row).scalar_one()
            same_name, same_address = (column == row[column.name] for column in (_attempts.c.name, _attempts.c.address))
            for same, most in (
                (same_name & same_address, _MOST_BY_BOTH),
                (same_name, _MOST_BY_NAME),
                (same_address, _MOST_BY_ADDRESS),
            ):
                if (connection.scalar(sql.select(sql.func.count()).where(same)) or 0) > most:
                    raise TooManyAttempts(int(_WINDOW.total_seconds()))  # rolls back: a refused one does not count
        yield
        self._execute(_attempts.delete().where(_attempts.c.id == number))


def end_all(connection: sql.Connection, user: str) -> None:
    """End all sessions and invitations of a user."""
    connection.execute(_tokens.delete().where(_tokens.c.user_id == user))


def network_of(address: str) -> str:
    """Return the address, or the network of one IPv6 customer."""
    try:
        wide = ip_address(address).version == 6
    except ValueError:  # a proxy may send any name
        return address[:100]
    return str(ip_network((address, 64), strict=False)) if wide else address
