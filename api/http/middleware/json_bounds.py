"""Limits the work that a JSON body causes. It checks the raw bytes, because parsing a hostile body takes seconds."""

from __future__ import annotations

MOST_VALUES = 20_000
DEEPEST = 100
_OPENING, _CLOSING = b"[{", b"]}"
_KEPT = _OPENING + _CLOSING + b","
_OTHERS = bytes(set(range(256)) - set(_KEPT))


def json_fault(body: bytes) -> str:
    """Return why a body must not be parsed as JSON, or an empty string. The body may be invalid JSON."""
    if b"\0" in body:  # UTF-16 or UTF-32, whose bytes mean something else
        return "The request body is not JSON in UTF-8"
    unescaped = body.replace(rb"\\", b"").replace(rb"\"", b"")
    if unescaped.count(b'"') > 4 * MOST_VALUES:  # two for each string; a value has at most one key
        return _too_many()
    structure = b"".join(unescaped.split(b'"')[::2]).translate(None, _OTHERS)
    if structure.count(b",") + structure.count(b"[") + structure.count(b"{") > MOST_VALUES:
        return _too_many()
    if _depth(structure) > DEEPEST:
        return f"The request body has more than {DEEPEST} levels of lists and objects"
    return ""


def _depth(structure: bytes) -> int:
    depth = deepest = 0
    for each in structure.replace(b",", b""):
        depth += 1 if each in _OPENING else -1
        deepest = max(deepest, depth)
    return deepest


def _too_many() -> str:
    return f"The request body has more than {MOST_VALUES:,} values. Send less at once"
