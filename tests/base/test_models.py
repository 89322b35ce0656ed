"""Times with an offset are read in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from base.models import UtcTime

TIMES = TypeAdapter[datetime](UtcTime)


def test_a_time_is_converted_to_utc() -> None:
    assert TIMES.validate_python("2026-03-01T00:30:00+01:00") == datetime(2026, 2, 28, 23, 30, tzinfo=UTC)


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:00:00-14:00"])
def test_a_time_outside_of_the_calendar_is_rejected(at: str) -> None:
    with pytest.raises(ValidationError, match="outside of the years 1 to 9999"):
        TIMES.validate_python(at)
