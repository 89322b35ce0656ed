"""The base of the data models, and the words for invalid values."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, ValidationError


def _in_utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ValueError("is outside of the years 1 to 9999 in UTC") from None


UtcTime = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""A time with an offset, converted to UTC."""


class FrozenModel(BaseModel):
    """Base of immutable models. Unknown fields are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def describe_faults(error: ValidationError) -> str:
    """Return the location and the message of each fault, without links to the documentation of pydantic."""
    faults = ((".".join(map(str, each["loc"])), each["msg"]) for each in error.errors(include_url=False))
    return "; ".join(": ".join(filter(None, fault)) for fault in faults)
