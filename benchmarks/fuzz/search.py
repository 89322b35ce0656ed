"""Searches for inputs that violate a property, with Hypothesis."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
from hypothesis import HealthCheck, Phase, given
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy

ROOT = Path(__file__).parents[2]
EXAMPLES = 300
"""Examples of one property in one batch."""


class Finding(NamedTuple):
    """An input that violates a property. Findings with the same ``title`` are the same defect."""

    title: str
    report: str
    file: tuple[str, bytes] | None = None
    """Name and content, if the input was a file."""


class Batch(NamedTuple):
    """The results for the inputs of one seed."""

    cases: int
    findings: tuple[Finding, ...] = ()


Target = AbstractContextManager[Callable[[int], Batch]]
"""Gives a function that tries one batch of inputs. The same seed gives the same inputs."""


class Property(NamedTuple):
    """A property of all examples. It holds if ``check`` raises no exception."""

    examples: SearchStrategy[Any]
    check: Callable[[Any], None]
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or self.check.__name__

    def search(self, seed: int, examples: int = EXAMPLES) -> int:
        """Check examples and return their number. Raise the error of the smallest example that fails."""
        cases = 0

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=examples,
            deadline=None,
            database=None,
            print_blob=False,
            report_multiple_bugs=False,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(self.examples)
        def try_one(example: Any) -> None:
            nonlocal cases
            cases += 1
            try:
                self.check(example)
            except Exception as error:
                error.add_note(f"Example: {example!r}")
                raise

        with suppress(Unsatisfiable):  # there is no example, such as an invalid request without parameters
            try_one()
        return cases


def search_all(properties: Iterable[Property], seed: int, examples: int = EXAMPLES) -> Batch:
    """Check examples of each property."""
    cases = 0
    findings: list[Finding] = []
    for each in properties:
        try:
            cases += each.search(seed, examples)
        except Exception as error:  # noqa: BLE001 - every error is a finding
            cases += examples
            findings.append(Finding(f"{each.name}: {describe(error)}", traceback.format_exc()))
    return Batch(cases, tuple(findings))


def describe(error: Exception) -> str:
    """Return the type of the error and the innermost line of this repository in its traceback."""
    frames = [
        f"{Path(frame.filename).relative_to(ROOT)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(ROOT) and ".venv" not in frame.filename
    ]
    return f"{type(error).__name__} at {frames[-1] if frames else 'an unknown place'}"
