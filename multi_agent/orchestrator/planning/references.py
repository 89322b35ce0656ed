"""Resolves references to outputs of earlier steps: ``@{outputs.STEP.FIELD}``.

A reference that is a whole input is replaced by the value. A reference that is a whole list entry is replaced by all
entries if the value is a list. Inside a longer text it is replaced by the value as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from pydantic import JsonValue

from multi_agent.agent import StepOutput
from multi_agent.errors import NothingFound, ReferenceFailed
from multi_agent.values.plan import REFERENCE, Reference


def resolve(value: JsonValue, outputs: Mapping[str, StepOutput], steps: Collection[str]) -> Any:
    """Replace every reference to one of the ``steps`` by its output. Others are a person's text and stay.

    Raises ReferenceFailed for an unknown step or field, NothingFound for an empty output. References inside outputs
    are not resolved.
    """
    return _replace(
        value, lambda reference: _look_up(reference, outputs) if reference.step in steps else str(reference)
    )


def stand_in(value: JsonValue, types: Mapping[Reference, Any], text: str) -> Any:
    """Replace every reference by a sample value of its declared type; texts by ``text``."""
    return _replace(value, lambda reference: _sample(types[reference], text))


def _replace(value: JsonValue, give: Callable[[Reference], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _replace(each, give) for key, each in value.items()}
    if isinstance(value, list):
        return [item for each in value for item in _entries(each, give)]
    if not isinstance(value, str):
        return value
    if whole := REFERENCE.fullmatch(value.strip()):
        return give(Reference(*whole.groups()))
    return REFERENCE.sub(lambda match: _as_text(give(Reference(*match.groups()))), value)


def _entries(entry: JsonValue, give: Callable[[Reference], Any]) -> list[Any]:
    replaced = _replace(entry, give)
    spliced = isinstance(entry, str) and REFERENCE.fullmatch(entry.strip()) and isinstance(replaced, list | tuple)
    return list(replaced) if spliced else [replaced]


def _look_up(reference: Reference, outputs: Mapping[str, StepOutput]) -> Any:
    if reference.step not in outputs:
        raise ReferenceFailed(f"{reference} refers to step {reference.step!r}, which gave nothing.")
    given = outputs[reference.step]
    if reference.field not in type(given).model_fields:
        fields = ", ".join(type(given).model_fields) or "none"
        raise ReferenceFailed(f"{reference}: that step has no output {reference.field!r}; it has {fields}.")
    value = getattr(given, reference.field)
    if value in ("", (), []):
        raise NothingFound(f"{reference} is empty: step {reference.step!r} {given.why_empty}")
    return value


def _sample(annotation: Any, text: str) -> Any:
    examples: dict[Any, Any] = {str: text, int: 1, float: 1.0, bool: True}
    return examples.get(annotation, [text])


def _as_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_as_text(each) for each in value)
    return value if isinstance(value, str) else json.dumps(value)
