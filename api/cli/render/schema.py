"""Prints JSON schemas as lines."""

from __future__ import annotations

from typing import Any


def schema_lines(title: str, schema: dict[str, Any]) -> list[str]:
    """Return a line for each field of a JSON schema, under a title; none without fields."""
    fields = schema.get("properties", {})
    lines = [f"  {name}: {_allowed(field)}{field.get('description', '')}" for name, field in fields.items()]
    return [f"{title} (`--json` has the JSON schema):", *lines] if lines else []


def _allowed(field: dict[str, Any]) -> str:
    """Return the values that a field allows, if its schema lists them."""
    allowed = field.get("enum") or field.get("items", {}).get("enum") or ()
    return f"{' | '.join(map(str, allowed))}; " if allowed else ""
