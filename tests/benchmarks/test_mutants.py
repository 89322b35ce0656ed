"""Mutants change one thing each, and only tests that notice it count."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks.mutants.__main__ import Tried, find_tests, pick, try_all
from benchmarks.mutants.mutate import mutants_of

SOURCE = '''"""Größe, whose letters ö and ß take two bytes each."""

from math import inf


def largest(sizes: list[int], limit: float = inf) -> int | None:
    """Return the largest size below the limit, and 0 for none: -1."""
    found = 0
    for size in sizes:
        if "ß" and size > found and not size > limit:
            found = size + 1
    return found
'''
CHANGES = [
    "0  ->  (1)",
    """"ß" and size > found and not size > limit  ->  (not ('ß' and size > found and (not size > limit)))""",
    """"ß" and size > found and not size > limit  ->  ('ß' or size > found or (not size > limit))""",
    "size > found  ->  (size >= found)",
    "not size > limit  ->  (size > limit)",
    "size > limit  ->  (size >= limit)",
    "size + 1  ->  (size - 1)",
    "1  ->  (2)",
    "return found  ->  return None",
]
TEST = "from base.sizes import largest\n\n\ndef test_largest():\n    assert largest([3, 4]) == 4\n"
"""It does not test the limit."""


def test_each_mutant_changes_one_thing() -> None:
    mutants = mutants_of(SOURCE.encode())
    assert [str(each) for each in mutants] == CHANGES
    changed = [each.apply(SOURCE.encode()).decode() for each in mutants]
    assert len({ast.dump(ast.parse(each)) for each in changed}) == len(CHANGES)
    assert "        if (not ('ß' and" in changed[1], "offsets count bytes"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree with one module and its test."""
    for name, text in {"base/sizes.py": SOURCE, "base/other.py": "", "tests/base/test_sizes.py": TEST}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_only_what_a_test_asserts_is_killed(tree: Path) -> None:
    told: list[Tried] = []
    picked = [each for each in pick(tree, ["base/sizes.py"], 0, seed=1) if each[1].before.startswith(("size >", "ret"))]
    tried = try_all(tree, picked, [], 2, told.append)
    assert told == tried
    survivors = [str(each.mutant) for each in tried if not each.killed]
    assert survivors == ["size > limit  ->  (size >= limit)"]
    assert "SURVIVED base/sizes.py:10  size > limit" in str(tried[1])
    assert "FAILED tests/base/test_sizes.py::test_largest" in str(tried[-1])
    assert (tree / "base/sizes.py").read_text(encoding="utf-8") == SOURCE


def test_a_failing_test_without_a_mutant_is_an_error(tree: Path) -> None:
    (tree / "tests/base/test_sizes.py").write_text("def test_wrong():\n    assert False\n")
    with pytest.raises(ExceptionGroup) as caught:
        try_all(tree, pick(tree, ["base/sizes.py"], 1, seed=1), [], 1, print)
    assert "The tests of base/sizes.py fail without a mutant" in str(caught.value.exceptions[0])


def test_the_tests_of_a_module_are_its_own_and_those_that_import_it(tree: Path) -> None:
    (tree / "tests/base/inner").mkdir()
    (tree / "tests/base/inner/test_use.py").write_text("from base import sizes\n")
    assert find_tests(tree, "base/sizes.py") == ["tests/base/test_sizes.py", "tests/base/inner/test_use.py"]
    assert find_tests(tree, "base/other.py") == ["tests/base"]


def test_the_same_seed_picks_the_same_mutants(tree: Path) -> None:
    picks = [pick(tree, ["base/sizes.py"], 4, seed) for seed in (1, 1, 3)]
    assert picks[0] == picks[1] != picks[2]
