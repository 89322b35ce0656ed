"""Problems: each transport names remedies of its own."""

from __future__ import annotations

import re

import pytest

from api.errors import command_message
from api.problems import PROBLEMS, problem_of
from multi_agent.errors import RunNotFound
from vectorstore.errors import CollectionNotFound

COMMAND = re.compile(r"`candor |--\w+")


@pytest.mark.parametrize("row", PROBLEMS, ids=lambda row: row[0].__name__)
def test_a_remedy_over_rest_names_no_command(row: tuple[type[Exception], int, str, str]) -> None:
    assert not COMMAND.search(row[3])


@pytest.mark.parametrize(
    "error", [CollectionNotFound("x", ["papers"]), RunNotFound("There is no run 'x'.").with_command("`candor runs`")]
)
def test_only_the_command_line_shows_the_command(error: Exception) -> None:
    problem = problem_of(error)
    assert "candor " not in f"{problem.detail} {problem.remedy}"
    assert "papers" not in problem.detail, "a caller may not read its name"
    assert "`candor " in command_message(error)


def test_types_of_problems_are_words() -> None:
    assert {problem_of(kind.__new__(kind)).type for kind, *_ in PROBLEMS if kind.__name__ == "NotOurs"} == {
        "urn:candor:run-of-another-process"
    }
