"""docs/licenses.md and docs/sbom.cdx.json match the pins of constraints.txt and the installed distributions."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HINT = "run: make sbom"


@pytest.fixture(scope="module")
def built() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "build_licenses.py"))


@pytest.fixture(scope="module")
def rows(built: dict[str, Any]) -> dict[str, list[str]]:
    """The rows of the page by distribution: version, licence, part."""
    found = re.findall(
        r"^\| (\S+) \| (.+) \| (.+) \| (.+) \|$", built["PAGE"].read_text(encoding="utf-8"), re.MULTILINE
    )
    return {name: rest for name, *rest in found if name != "distribution"}


@pytest.fixture(scope="module")
def bill(built: dict[str, Any]) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(built["BILL"].read_text(encoding="utf-8"))
    return loaded


def test_both_files_have_every_pin_and_nothing_else(
    built: dict[str, Any], rows: dict[str, list[str]], bill: dict[str, Any]
) -> None:
    pins = built["pins"]()
    assert {name: row[0] for name, row in rows.items()} == pins, HINT
    assert {each["name"]: each["version"] for each in bill["components"]} == pins, HINT


def test_licences_are_those_of_the_installed_distributions(built: dict[str, Any], rows: dict[str, list[str]]) -> None:
    """A clone has not every extra, so each installed distribution is compared."""
    installed = built["installed"]()
    assert len(installed) > 100
    stated = {name: built["license_of"](each).replace("|", "\\|") for name, each in installed.items()}
    assert stated == {name: rows[name][1] for name in installed}, HINT


def test_the_files_are_those_that_the_script_writes(built: dict[str, Any]) -> None:
    found = built["installed"]()
    if missing := built["pins"]().keys() - found.keys():
        pytest.skip(f"not installed: {', '.join(sorted(missing))}")
    assert built["PAGE"].read_text(encoding="utf-8") == built["page"](found), HINT
    assert built["BILL"].read_text(encoding="utf-8") == built["bill"](found), HINT


def test_what_candor_installs_may_be_passed_on(rows: dict[str, list[str]]) -> None:
    """A licence of the GPL or AGPL would bind Candor itself, unless another licence may be chosen."""
    binding = {name for name, (_, licence, _) in rows.items() if re.search(r"(^|\W)A?GPL", licence)}
    assert {name for name in binding if " OR " not in rows[name][1]} == set()


def test_every_dependency_of_the_bill_is_a_component(bill: dict[str, Any]) -> None:
    references = {each["bom-ref"] for each in bill["components"]}
    assert len(references) == len(bill["components"])
    assert {each["ref"] for each in bill["dependencies"]} == references | {"candor"}
    assert {name for each in bill["dependencies"] for name in each["dependsOn"]} <= references
