"""Passwords, hashed with Argon2id."""

from __future__ import annotations

from functools import cache
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MAX_LENGTH = 200  # characters; hashing a longer one takes too long
Password = Annotated[str, Field(min_length=10, max_length=MAX_LENGTH)]
_HASHING = BoundedSemaphore(4)  # each hash takes 19 MiB of memory, also for strangers


@cache
def hasher() -> PasswordHasher:
    """Return the hasher, with the least parameters that OWASP recommends."""
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


def matches(password: str, hashed: str | None) -> bool:
    """Return whether the password matches the hash. Takes the same time without a hash."""
    from argon2.exceptions import VerifyMismatchError

    with _HASHING:
        try:
            return hasher().verify(hashed or _dummy(), password) and hashed is not None
        except VerifyMismatchError:
            return False


@cache
def _dummy() -> str:
    return hasher().hash("no password")
