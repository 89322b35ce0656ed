"""A number with its noun, for messages."""

from __future__ import annotations


def count(number: int, one: str, more: str = "") -> str:
    """Return the number with the noun ``one``, or with its plural: ``more``, or ``one`` with an s."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"
