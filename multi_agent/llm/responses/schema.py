"""A cache for JSON schemas of response types and their outlines. Pydantic needs milliseconds to generate a schema."""

from __future__ import annotations

from functools import lru_cache

from pydantic import BaseModel

from multi_agent.llm.endpoint import JsonSchema
from multi_agent.llm.responses.outline import outline_schema


@lru_cache(maxsize=512)
def schema_of(response_model: type[BaseModel]) -> JsonSchema:
    """Return the schema of ``response_model``. Callers share it and must not change it."""
    return response_model.model_json_schema()


@lru_cache(maxsize=512)
def outline_of(response_model: type[BaseModel]) -> str:
    """Return the outline of ``response_model`` for a prompt. See ``outline.py``."""
    return outline_schema(schema_of(response_model))
