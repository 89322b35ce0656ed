"""The collections of a search or a question, as people name them: a name, a list of names, or ``*`` for all."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from vectorstore.models import SEPARATOR


def join(names: Any) -> Any:
    """Return a list of names as one selection. Other values, also invalid ones, are unchanged."""
    is_list = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    return (SEPARATOR.join(names) or None) if is_list else names


Selection = Annotated[str | None, BeforeValidator(join, json_schema_input_type=str | list[str] | None)]
"""A field of a request. ``Collections.resolve_for`` validates the names."""
