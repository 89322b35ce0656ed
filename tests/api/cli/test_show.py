"""``candor show``: one page of a document, and a citation with a link to its source."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.llm.settings import EndpointSettings
from support.files import write_pdf
from support.panel import Panel

Run = Callable[..., Any]
COLD = "The Borea 12 works down to -25 °C."
SECOND = "The weight of the pump is 120 kilograms."


@pytest.fixture
def home(make_candor: Callable[..., Candor], tmp_path: Path) -> Path:
    """A data folder with a PDF of two pages and a text without pages."""
    folder = tmp_path / "sheets"
    folder.mkdir()
    write_pdf(folder / "sheet.pdf", parts=[("h1", "Data sheet"), COLD, ("page",), SECOND])
    (folder / "note.md").write_text("# Pumps\n\nThey are quiet.\n")
    candor = make_candor()
    run_ingest(candor, [folder], "papers", progress=False)
    return candor.settings.home


def test_one_page_is_printed(run: Run, home: Path) -> None:
    page = run("show", "sheet.pdf", "--page", "2", "--home", home)
    assert (page.code, SECOND in page.out, COLD in page.out) == (0, True, False), page.err
    assert page.out.endswith("\n")
    as_json = run("show", "sheet.pdf", "--page", "1", "--json", "--home", home).json
    assert (as_json["pages"], COLD in as_json["text"]) == (2, True)
    whole = run("show", "sheet.pdf", "--home", home).out
    assert ("state  indexed" in whole, " stage  " in whole) == (True, False), "it is not being read"


def test_a_missing_page_is_refused_with_the_number_of_pages(run: Run, home: Path) -> None:
    beyond = run("show", "sheet.pdf", "--page", "3", "--home", home)
    assert (beyond.code != 0, "'sheet.pdf' has 2 pages; 3 is not one." in " ".join(beyond.err.split())) == (True, True)
    without = run("show", "note.md", "--page", "1", "--home", home)
    assert (without.code != 0, "'note.md' has no pages." in " ".join(without.err.split())) == (True, True)


def test_a_page_is_printed_by_the_number_that_stands_on_it(
    run: Run, make_candor: Callable[..., Candor], tmp_path: Path
) -> None:
    candor = make_candor()
    case = Path(__file__).parents[2] / "ingest" / "cases" / "32-page-labels" / "q12_labels.pdf"
    shutil.copy(case, tmp_path / "report.pdf")
    run_ingest(candor, [tmp_path / "report.pdf"], "papers", progress=False)
    preface = run("show", "report.pdf", "--page", "ii", "--home", candor.settings.home)
    assert ("Preface two" in preface.out, "Page 2 (printed ii)" in preface.err) == (True, True)
    third = run("show", "report.pdf", "--page", "3", "--home", candor.settings.home)
    assert ("fee is 42 EUR" in third.out, "Page 3 (printed 1)" in third.err) == (True, True)
    missing = run("show", "report.pdf", "--page", "iii", "--home", candor.settings.home)
    assert (missing.code != 0, "No page has the printed number 'iii'" in missing.err) == (True, True)
    hits = run("search", "What is the fee?", "--home", candor.settings.home)
    assert "report.pdf, pages 1-4 (printed i to 2)" in hits.out


def test_a_citation_has_its_page_and_a_link(
    run: Run, home: Path, serve: Callable[..., EndpointSettings], use_model: Callable[[EndpointSettings], None]
) -> None:
    use_model(serve(Panel("120 kilograms")))
    answer = run("ask", "How heavy is the pump?", "--json", "--home", home).json
    [quote] = answer["evidence"]
    shown = run("show", answer["run_id"], "1", "--home", home).out
    assert f"[1] {quote['document']}, page 2" in shown
    assert f">>>{SECOND}<<<" in shown, "a pipe has no colours"
    assert re.search(r"Open: file:///\S+/sheet\.pdf#page=2", shown)
    assert run("show", answer["run_id"], "1", "--json", "--home", home).json["pages"] == [2]
