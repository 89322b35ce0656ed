"""Shows the changes between two documents to a model, one per line."""

from collections.abc import Iterable

from multi_agent.prompts.show_outside import defuse


def show_change(number: int, kind: str, heading: str, sides: Iterable[tuple[str, str]]) -> str:
    """Return the line of a change: number, kind, heading, and the words on each side, such as ``old``."""
    words = "; ".join(f"{side}: {defuse(text)}" for side, text in sides if text)
    return f"[{number}] ({kind}, {defuse(heading)}) {words}"
