"""The JSON schema of a response type, made once: pydantic takes milliseconds for one, and types are asked for again."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import BaseModel


@lru_cache(maxsize=512)
def schema_of(response_model: type[BaseModel]) -> dict[str, Any]:
    """The schema, shared by all who ask for it: it is read, never changed."""
    return response_model.model_json_schema()
