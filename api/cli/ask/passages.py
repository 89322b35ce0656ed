"""Reads the file of ``candor ask --passages``."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from api.errors import UsageError, fault_list
from multi_agent.values.request import RagResult

_RESULTS = TypeAdapter(tuple[RagResult, ...])


def read_passages(path: Path) -> tuple[RagResult, ...]:
    """Return the passages in a JSON file. Raises UsageError if it is unreadable, invalid or empty."""
    try:
        passages = _RESULTS.validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"The file {str(path)!r} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise UsageError(
            f"The file {str(path)!r} must contain a JSON list of passages, each with `text` and `source`: "
            f"{fault_list(error)}."
        ) from error
    if not passages:
        raise UsageError(f"The file {str(path)!r} contains no passages. Add some, or omit --passages.")
    return passages
