"""Who asks, and what they may do: the rights of a caller over collections.

Every route asks here before it reads or changes anything. A collection that a caller may not read is told in the very
words of one that is not there: nobody learns by asking what others have. ``admission.py`` finds out who asks, and
``keys.py`` keeps the keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from enum import StrEnum
from typing import Annotated

from fastapi import Depends
from fastapi.requests import HTTPConnection
from pydantic import Field

from api.errors import Forbidden, Unauthorized
from vectorstore.errors import CollectionNotFound
from vectorstore.models import FrozenModel

EVERYTHING = "*"
ASKED_FOR: ContextVar[set[str]] = ContextVar("asked_for")
"""Where the collections that a request requires a right over are noted, for the audit; unset outside of requests."""


class Right(StrEnum):
    """What may be done with a collection; each holds the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def covers(self, other: Right) -> bool:
        """Whether who has this has the other, too."""
        order = list(Right)
        return order.index(self) >= order.index(other)


class Limits(FrozenModel):
    """What a key may take in a day, from midnight to midnight in UTC; None is without limit."""

    requests_per_day: int | None = Field(default=None, ge=1, le=2**31 - 1)
    tokens_per_day: int | None = Field(
        default=None, ge=1, le=2**63 - 1, description="of prompts and responses of its runs together"
    )


class Caller(FrozenModel):
    """Who asks: the holder of a key, or the person at this machine, who needs none."""

    key: str = Field(default="", description="id of the key; empty for the person at this machine")
    name: str = Field(description="what the key was named, for people")
    rights: Mapping[str, Right] = Field(description="by collection; '*' stands for all, and for the service itself")
    limits: Limits = Limits()

    @property
    def owner(self) -> bool:
        """Whether all is theirs: keys, agents, settings, and every collection."""
        return self.rights.get(EVERYTHING) is Right.ADMIN

    @property
    def readable(self) -> frozenset[str] | None:
        """The collections they may read, be they there or not; None stands for all."""
        return None if EVERYTHING in self.rights else frozenset(self.rights)

    def may(self, right: Right, collection: str) -> bool:
        """Whether they have this right over the collection, be it there or not."""
        granted = (self.rights.get(collection), self.rights.get(EVERYTHING))
        return any(each.covers(right) for each in granted if each)

    def require(self, right: Right, collection: str) -> None:
        """Raises CollectionNotFound for what they may not even read, Forbidden for what they may only read."""
        note_asked(collection)
        if not self.may(Right.READ, collection):
            raise CollectionNotFound(collection)
        if not self.may(right, collection):
            raise Forbidden(f"This needs the right {right.value!r} over the collection {collection!r}.")

    def require_owner(self) -> None:
        """Raises Forbidden for everybody whose right is not 'admin' over all collections."""
        if not self.owner:
            raise Forbidden("This needs a key with the right 'admin' over all collections ('*').")


AT_THIS_MACHINE = Caller(name="the person at this machine", rights={EVERYTHING: Right.ADMIN})


def note_asked(collection: str) -> None:
    """For the audit: the request is about this collection."""
    if (asked_for := ASKED_FOR.get(None)) is not None:
        asked_for.add(collection)


def caller_of(connection: HTTPConnection) -> Caller:
    """Who sent the request, as ``admission.py`` found out before any of it was read. Raises Unauthorized."""
    caller = caller_if_known(connection)
    if caller is None:
        raise Unauthorized
    return caller


def caller_if_known(connection: HTTPConnection) -> Caller | None:
    """Who sent the request; None for strangers, who come no further than to what is open to all."""
    caller: Caller | None = connection.state.caller
    return caller


# Coroutines, since FastAPI calls everything else in a thread, which costs more than all that is done here.
async def _called(connection: HTTPConnection) -> Caller:
    return caller_of(connection)


async def _called_if_known(connection: HTTPConnection) -> Caller | None:
    return caller_if_known(connection)


Called = Annotated[Caller, Depends(_called)]
CalledIfKnown = Annotated[Caller | None, Depends(_called_if_known)]
