"""Collections as people name them (a name, a list of names, or ``*`` for all), and values such as ``NAME=VALUE``."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BeforeValidator
from sqlalchemy import Engine

from api.errors import InBin, UsageError
from base.bin import places
from vectorstore.models import SEPARATOR, FieldValue, names_in


def join(names: Any) -> Any:
    """Return a list of names as one selection. Other values, also invalid ones, are unchanged."""
    is_list = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    return (SEPARATOR.join(names) or None) if is_list else names


Selection = Annotated[str | None, BeforeValidator(join, json_schema_input_type=str | list[str] | None)]
"""A field of a request. ``Collections.resolve_for`` validates the names."""


def require_kept(engine: Engine, selection: str) -> None:
    """Raise InBin if a collection of the selection is in the bin."""
    hidden = places(engine)
    if binned := next((name for name in names_in(selection) if name in hidden), None):
        raise InBin(binned)


def named_values(written: Iterable[str]) -> dict[str, FieldValue]:
    """Return the values of texts such as ``project=Orion``, by name. Several values of a name are a list.

    Raises UsageError.
    """
    found: dict[str, list[str]] = {}
    for each in written:
        name, equals, value = each.partition("=")
        if not name.strip() or not equals:
            raise UsageError(f"Metadata must be NAME=VALUE, such as project=Orion, not {each!r}.")
        found.setdefault(name.strip(), []).append(value)
    return {name: tuple(values) if len(values) > 1 else values[0] for name, values in found.items()}
