"""A cache for the JSON schemas of response types. Pydantic needs milliseconds to generate one."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import BaseModel


@lru_cache(maxsize=512)
def schema_of(response_model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of ``response_model``. Callers share it and must not change it."""
    return response_model.model_json_schema()
