"""Computes formulas whose values a workbook does not store, such as one that a library wrote.

Only this module uses Formualizer. An error that it gives is not shown: its cause may be a function that it lacks.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from typing import Any

_CLOCKS = (2000, 2100)  # values that depend on the clock or on chance differ between two computations


class Computed:
    """The values of the formulas of a workbook. They are computed when the first one is needed."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def value(self, sheet: str, place: tuple[int, int]) -> tuple[str, str] | None:
        """Return the type and the text of a value as a cell stores them. None if the formula was not computed."""
        row, column = place[0] + 1, place[1] + 1
        values = [book.get_value(sheet, row, column) for book in self._books]
        if not values or values[0] != values[1] or not isinstance(values[0], bool | int | float | str):
            return None  # an error is a dictionary
        first = values[0]
        if isinstance(first, str):
            return "str", first
        return ("b", str(int(first))) if isinstance(first, bool) else ("n", repr(first))

    @cached_property
    def _books(self) -> list[Any]:
        import formualizer

        books = []
        try:
            for clock in _CLOCKS:
                options = formualizer.EvaluationConfig()
                options.enable_parallel = False  # several parsers run in parallel
                options.workbook_seed = clock
                settings = formualizer.WorkbookConfig(mode=formualizer.WorkbookMode.Interactive, eval_config=options)
                book = formualizer.Workbook.from_bytes(self._data, config=settings)
                book.set_deterministic_clock(datetime(clock, 1, 1, tzinfo=UTC))
                book.set_temporal_egress("serial")
                book.evaluate_all()
                books.append(book)
        except BaseException as error:
            known = isinstance(error, OSError | formualizer.ExcelEvaluationError)
            if not known and type(error).__name__ != "PanicException":  # a panic of native code is not an Exception
                raise
            return []
        return books
