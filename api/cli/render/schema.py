"""Formats JSON schemas as lines of text."""

from __future__ import annotations

from typing import Any


def schema_lines(title: str, schema: dict[str, Any]) -> list[str]:
    """Return a title and a line per field of a JSON schema. Return no lines if it has no fields."""
    fields = schema.get("properties", {})
    lines = [f"  {name}: {_allowed(field)}{field.get('description', '')}" for name, field in fields.items()]
    return [f"{title} (`--json` has the JSON schema):", *lines] if lines else []


def _allowed(field: dict[str, Any]) -> str:
    """Return the allowed values of a field. Empty if its schema does not list them."""
    allowed = field.get("enum") or field.get("items", {}).get("enum") or ()
    return f"{' | '.join(map(str, allowed))}; " if allowed else ""
