"""The base of the data models."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """Base of immutable models. Unknown fields are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid")
