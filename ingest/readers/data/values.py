"""Values of data files. Numbers and dates are the text that the file writes, so none is rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

COMMENT = "#"
"""The key of a field that is a comment of the file."""


@dataclass(frozen=True, slots=True)
class Record:
    """Keys with their values in the order of the file. A key may stand there twice."""

    fields: tuple[tuple[str, Value], ...]

    def get(self, key: str) -> Value:
        """Return the value of the first field with this key, or ``""``."""
        return next((value for name, value in self.fields if name == key), "")


Value: TypeAlias = "str | bool | list[Value] | Record | None"
