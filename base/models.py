"""The base of the data models."""

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """Base of immutable models. Unknown fields are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid")
