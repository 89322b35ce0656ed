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
ASK_PATH = "/v1/research"
"""The only path for keys that can only ask, and for pages of other sites."""
ACCESSED_COLLECTIONS: ContextVar[set[str]] = ContextVar("accessed_collections")
"""The collections that the current request accesses, for the audit log. Unset outside of requests."""


class Right(StrEnum):
    """What a caller may do with a collection. Each right includes the ones before it."""

    ASK = "ask"
    """Only for keys, which can do nothing else: to ask questions and read the public part of the answers."""
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    @property
    def level(self) -> int:
        """The position among the rights. A higher one includes the lower ones."""
        return list(Right).index(self)

    def covers(self, other: Right) -> bool:
        """Return whether this right includes the other one."""
        return self.level >= other.level


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
    """The holder of an API key, a user who is signed in, or a local user without a key."""

    key: str = Field(default="", description="id of the key or of the user; empty for a local user without a key")
    user: str = Field(default="", description="id of the user who is signed in or to whom the key belongs")
    run: str = Field(default="", description="the only run that the key shares; empty for other keys")
    name: str = Field(description="name of the key or user, for people")
    rights: Mapping[str, Right] = Field(description="by collection; '*' covers all collections and the service itself")
    limits: Limits = Limits()
    asks: bool = Field(default=False, description="whether the key can only ask questions of its collection")
    origins: tuple[str, ...] = Field(default=(), description="origins of the pages that the key is limited to")

    @property
    def is_admin(self) -> bool:
        """Whether the caller may do everything: keys, agents, settings and every collection."""
        return self.rights.get(ALL_COLLECTIONS) is Right.ADMIN

    @property
    def readable(self) -> frozenset[str] | None:
        """The names of the collections that the caller may read, whether they exist or not. None means all."""
        return self.names_with(Right.READ)

    def names_with(self, right: Right) -> frozenset[str] | None:
        """Return the names of the collections over which the caller has this right. None means all."""
        return None if ALL_COLLECTIONS in self.rights else frozenset(n for n in self.rights if self._may(right, n))

    @property
    def signed_in(self) -> bool:
        """Whether a user is here in person, not by a key."""
        return bool(self.user) and self.user == self.key

    def may(self, right: Right, selection: str) -> bool:
        """Return whether the caller has this right over each collection of the selection. They need not exist."""
        return all(self._may(right, name) for name in names_in(selection))

    def require(self, right: Right, selection: str) -> None:
        """Raise CollectionNotFound if the caller may not read a collection, Forbidden if this right is missing."""
        for name in names_in(selection):
            record_access(name)
            if not self._may(right, name):
                if not self._may(Right.READ, name):
                    raise CollectionNotFound(name)
                raise Forbidden(f"This needs the right {right.value!r} over the collection {name!r}.")

    def _may(self, right: Right, collection: str) -> bool:
        granted = _granted(self.rights, collection)
        return granted is not None and granted.covers(right)

    def require_admin(self) -> None:
        """Raise Forbidden unless the caller has the right 'admin' over all collections."""
        if not self.is_admin:
            raise Forbidden("This needs the right 'admin' over all collections ('*').")


LOCAL_CALLER = Caller(name="the person at this machine", rights={ALL_COLLECTIONS: Right.ADMIN})


def union(*granted: Mapping[str, Right]) -> dict[str, Right]:
    """Return the highest right over each collection."""
    names = {name for each in granted for name in each}
    return {
        name: max((each[name] for each in granted if name in each), key=lambda right: right.level) for name in names
    }


def intersection(first: Mapping[str, Right], second: Mapping[str, Right]) -> dict[str, Right]:
    """Return the rights that both grant."""
    both = {name: (_granted(first, name), _granted(second, name)) for name in {*first, *second}}
    return {
        name: min(one, other, key=lambda right: right.level) for name, (one, other) in both.items() if one and other
    }


def _granted(rights: Mapping[str, Right], collection: str) -> Right | None:
    """Return the right over a collection. None if there is none."""
    found = (rights.get(collection), rights.get(ALL_COLLECTIONS))
    return max(filter(None, found), key=lambda right: right.level, default=None)


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
