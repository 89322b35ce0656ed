"""The base of the data models, and the words for invalid values."""

from pydantic import BaseModel, ConfigDict, ValidationError


class FrozenModel(BaseModel):
    """Base of immutable models. Unknown fields are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def describe_faults(error: ValidationError) -> str:
    """Return the location and the message of each fault, without links to the documentation of pydantic."""
    faults = ((".".join(map(str, each["loc"])), each["msg"]) for each in error.errors(include_url=False))
    return "; ".join(": ".join(filter(None, fault)) for fault in faults)
