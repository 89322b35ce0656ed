"""Callers and their rights over collections.

Every route calls ``Caller.require`` before it reads or changes anything. A collection that the caller may not read
gives the same error as one that does not exist, so that callers cannot find out what others have. Keys are in
``keys.py``; the authentication middleware of the service sets the caller of each request.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import Field

from api.errors import Forbidden, Unauthorized
from base.models import FrozenModel
from vectorstore.errors import CollectionNotFound
from vectorstore.models import names_in

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

ALL_COLLECTIONS = "*"
ACCESSED_COLLECTIONS: ContextVar[set[str]] = ContextVar("accessed_collections")
"""The collections that the current request accesses, for the audit log. Unset outside of requests."""


class Right(StrEnum):
    """What a caller may do with a collection. Each right includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def covers(self, other: Right) -> bool:
        """Return whether this right includes the other one."""
        order = list(Right)
        return order.index(self) >= order.index(other)


class Limits(FrozenModel):
    """Daily limits of a key. A day lasts from midnight to midnight UTC. None means no limit."""

    requests_per_day: int | None = Field(default=None, ge=1, le=2**31 - 1)
    tokens_per_day: int | None = Field(
        default=None, ge=1, le=2**63 - 1, description="prompt and completion tokens of all model calls for the key"
    )
    upload_bytes_per_day: int | None = Field(
        default=None, ge=1, le=2**63 - 1, description="bytes of the files that the key uploads"
    )


class Caller(FrozenModel):
    """The holder of an API key, or a local user without a key."""

    key: str = Field(default="", description="id of the key; empty for a local user without a key")
    name: str = Field(description="name of the key, for people")
    rights: Mapping[str, Right] = Field(description="by collection; '*' covers all collections and the service itself")
    limits: Limits = Limits()

    @property
    def is_admin(self) -> bool:
        """Whether the caller may do everything: keys, agents, settings and every collection."""
        return self.rights.get(ALL_COLLECTIONS) is Right.ADMIN

    @property
    def readable(self) -> frozenset[str] | None:
        """The names of the collections that the caller may read, whether they exist or not. None means all."""
        return None if ALL_COLLECTIONS in self.rights else frozenset(self.rights)

    def may(self, right: Right, selection: str) -> bool:
        """Return whether the caller has this right over each collection of the selection. They need not exist."""
        return all(self._may(right, name) for name in names_in(selection))

    def require(self, right: Right, selection: str) -> None:
        """Raise CollectionNotFound if the caller may not read a collection, Forbidden if this right is missing."""
        for name in names_in(selection):
            record_access(name)
            if not self._may(Right.READ, name):
                raise CollectionNotFound(name)
            if not self._may(right, name):
                raise Forbidden(f"This needs the right {right.value!r} over the collection {name!r}.")

    def _may(self, right: Right, collection: str) -> bool:
        granted = (self.rights.get(collection), self.rights.get(ALL_COLLECTIONS))
        return any(each.covers(right) for each in granted if each)

    def require_admin(self) -> None:
        """Raise Forbidden unless the caller has the right 'admin' over all collections."""
        if not self.is_admin:
            raise Forbidden("This needs a key with the right 'admin' over all collections ('*').")


LOCAL_CALLER = Caller(name="the person at this machine", rights={ALL_COLLECTIONS: Right.ADMIN})


def record_access(collection: str) -> None:
    """Note for the audit log that the current request is about this collection."""
    if (accessed := ACCESSED_COLLECTIONS.get(None)) is not None:
        accessed.add(collection)


def caller_of(connection: HTTPConnection) -> Caller:
    """Return the caller that the authentication middleware found. Raises Unauthorized if there is none."""
    caller = optional_caller_of(connection)
    if caller is None:
        raise Unauthorized
    return caller


def optional_caller_of(connection: HTTPConnection) -> Caller | None:
    """Return the caller that the authentication middleware found, or None for an anonymous request."""
    caller: Caller | None = connection.state.caller
    return caller
