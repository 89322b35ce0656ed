"""Tables: created, filled while one watches, read by keyboard, edited and deleted."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from api.cli.ingest import run_ingest
from multi_agent.tables.values import Cell, CellStatus, Column, ColumnType
from support.panel import sentences_of
from support.replies import Reply, Request, held_until
from support.viewer import COLD, SOUND, OpenPage, Site, confirm, violations

LIMIT, NOISE = "Lowest temperature", "Noise"
MANY_ROWS, MANY_COLUMNS = 200, 20


class Filler:
    """A model that fills two columns. It holds the row of a document that says nothing about either."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def __call__(self, request: Request) -> Reply | str:
        answers = [self._answer(request, 1, "-25 °C", "-25"), self._answer(request, 2, "52 decibels", "52 decibels")]
        text = json.dumps({"answers": answers})
        return text if any(answer["values"] for answer in answers) else held_until(self.go_on, text)

    def _answer(self, request: Request, column: int, quote: str, value: str) -> dict[str, Any]:
        found = quote in request.prompt
        return {
            "column": column, "sentences": sentences_of(request, 1, quote) if found else [],
            "values": [value] if found else [], "reason": "" if found else "It says nothing about this.",
        }  # fmt: skip


@pytest.fixture
def filler(site: Site) -> Iterator[Filler]:
    made = Filler()
    site.responder = made
    yield made
    made.go_on.set()


@pytest.fixture
def table(site: Site) -> Iterator[str]:
    """A table of the pumps with two columns and no cells."""
    columns = [
        Column(name=LIMIT, question=LIMIT, type=ColumnType.NUMBER, unit="°C"),
        Column(name=NOISE, question=NOISE),
    ]
    made = site.candor.tables.create({"name": "pumps", "columns": columns}, "pumps")
    yield made.name
    site.candor.tables.store.delete(made.name)


def cell(page: Page, document: str, column: int) -> Any:
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=document, exact=True))
    return row.get_by_role("gridcell").nth(column)


def test_cells_arrive_and_a_stopped_fill_goes_on(open_page: OpenPage, site: Site, filler: Filler) -> None:
    page = open_page("tables")
    page.get_by_role("textbox", name="Name Letters").fill("limits")
    page.locator("select[name=collection]").select_option("pumps")
    page.locator("[name=column]").fill(LIMIT)
    page.locator("select[name=type]").select_option("number")
    page.get_by_label("Unit").fill("°C")
    page.get_by_role("button", name="Another column").click()
    page.locator("[name=column]").nth(1).fill(NOISE)
    page.get_by_role("button", name="Create").click()
    page.get_by_role("button", name="Fill 6 cells").click()
    expect(cell(page, "pump.md", 0)).to_have_text("-25")
    expect(cell(page, "pump.md", 1)).to_have_text("It says nothing about this.")
    expect(cell(page, "manual.txt", 0)).to_have_class("cell is-open")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".job .badge")).to_have_text("cancelled")
    filler.go_on.set()
    page.get_by_role("button", name=re.compile(r"Fill \d cells")).click()
    expect(cell(page, "manual.txt", 0)).to_have_class("cell is-empty")
    expect(page.locator("main")).to_contain_text("All cells have been read.")
    assert violations(page) == []
    page.get_by_role("button", name="Delete table").click()
    confirm(page, "Delete table")
    expect(page.locator("main")).to_contain_text("No tables yet")


def test_the_quotes_of_a_cell_and_its_page_are_beside_it(open_page: OpenPage, table: str, filler: Filler) -> None:
    filler.go_on.set()
    page = open_page(f"tables/{table}")
    page.get_by_role("button", name="Fill 6 cells").click()
    expect(page.locator("main")).to_contain_text("All cells have been read.")
    cell(page, "pump.md", 0).click()
    panel = page.locator("#panel")
    expect(panel.locator("mark.current")).to_have_text(COLD)
    expect(panel.locator(".short")).to_have_text("-25 °C")
    expect(cell(page, "pump.md", 0)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(panel).to_contain_text("It says nothing about this.")
    page.keyboard.press("End")
    page.keyboard.press("ArrowDown")
    expect(cell(page, "sheet.pdf", 1)).to_be_focused()
    expect(panel.locator("blockquote")).to_have_text(SOUND)
    expect(panel.locator(".box.current")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(panel).to_be_focused()
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(cell(page, "sheet.pdf", 1)).to_be_focused()
    page.keyboard.press("Control+Home")
    expect(cell(page, "manual.txt", 0)).to_be_focused()


def test_a_cell_is_edited_like_one_of_a_spreadsheet(open_page: OpenPage, table: str, site: Site) -> None:
    page = open_page(f"tables/{table}")
    cell(page, "pump.md", 0).click()
    page.keyboard.press("e")
    page.keyboard.type("cold")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("'cold'")
    field = page.get_by_role("textbox", name=LIMIT)
    expect(field).to_have_value("cold")
    field.fill("-30")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(cell(page, "pump.md", 0)).to_have_class("cell is-found number by-hand")
    expect(cell(page, "sheet.pdf", 0)).to_be_focused()
    page.keyboard.press("F2")
    page.keyboard.type("1")
    page.keyboard.press("Escape")
    expect(cell(page, "sheet.pdf", 0)).to_have_text("")
    assert [each.value for each in site.candor.tables.store.cells(table)] == [-30]
    page.get_by_role("columnheader", name=LIMIT).get_by_role("button").click()
    expect(page.get_by_role("rowheader").first).to_have_text("pump.md")
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    assert saved.value.suggested_filename == f"{table}.csv"
    assert "-30" in Path(saved.value.path()).read_text(encoding="utf-8")


def test_a_new_column_is_added_and_rows_are_found(open_page: OpenPage, table: str) -> None:
    page = open_page(f"tables/{table}")
    page.locator("summary").filter(has_text="Add columns").click()
    page.locator("[name=column]").fill("State")
    page.locator("select[name=type]").select_option("choice")
    page.get_by_label("Choices").fill("new | old")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("columnheader")).to_have_count(4)
    cell(page, "pump.md", 2).dblclick()
    page.get_by_role("combobox", name="State").select_option("old")
    page.keyboard.press("Enter")
    expect(cell(page, "pump.md", 2)).to_have_text("old")
    page.get_by_role("searchbox", name="Find rows").fill("old")
    expect(page.get_by_role("rowheader")).to_have_text(["pump.md"])


@pytest.fixture
def large(site: Site, tmp_path: Path) -> Iterator[str]:
    """A filled table of 200 rows and 20 columns."""
    for number in range(MANY_ROWS):
        (tmp_path / f"note{number:03}.txt").write_text(f"Note {number} is about nothing.", encoding="utf-8")
    run_ingest(site.candor, [tmp_path], "notes", progress=False)
    columns = [Column(name=f"C{number}", question="What?") for number in range(MANY_COLUMNS)]
    made = site.candor.tables.create({"name": "large", "columns": columns}, "notes")
    rows = site.candor.tables.grid(made).rows
    assert len(rows) == MANY_ROWS
    site.candor.tables.store.put(
        "large", [value_of(row.document, row.version, each.name) for row in rows for each in columns]
    )
    yield made.name
    site.candor.tables.store.delete(made.name)
    site.candor.collections.drop("notes")


def value_of(document: str, version: str, column: str) -> Cell:
    return Cell(
        document=document, column=column, status=CellStatus.FOUND, value=f"{column} of it", by="scripted",
        at=datetime.now(UTC), version=version,
    )  # fmt: skip


def test_in_a_large_table_a_change_draws_one_cell_and_no_key_any(
    open_page: OpenPage, large: str, site: Site, changed_cells: Callable[[Page], int]
) -> None:
    page = open_page(f"tables/{large}")
    expect(page.get_by_role("gridcell")).to_have_count(MANY_ROWS * MANY_COLUMNS)
    page.evaluate(WATCH)
    cell(page, "note000.txt", 0).click()
    for _ in range(30):
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
    expect(cell(page, "note030.txt", MANY_COLUMNS - 1)).to_be_focused()
    expect(cell(page, "note030.txt", MANY_COLUMNS - 1)).to_be_in_viewport()
    assert changed_cells(page) == 0
    page.keyboard.press("e")
    page.keyboard.press("Control+a")
    page.keyboard.type("new")
    page.keyboard.press("Enter")
    expect(cell(page, "note030.txt", MANY_COLUMNS - 1)).to_have_text("new")
    assert changed_cells(page) == 1


WATCH = """() => {
    window.changed = new Set();
    const watch = new MutationObserver((changes) => changes.forEach(({target}) => window.changed.add(target)));
    watch.observe(document.querySelector(".grid-frame"), {childList: true, subtree: true});
}"""


@pytest.fixture
def changed_cells() -> Callable[[Page], int]:
    """Count the elements whose children have changed since ``WATCH``."""
    return lambda page: int(page.evaluate("window.changed.size"))
