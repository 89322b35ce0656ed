"""Formatting of numbers with their nouns for messages."""


def count(number: int, one: str, more: str = "") -> str:
    """Return the number with its noun. The plural of ``one`` is ``more``, or ``one`` with an s."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"
