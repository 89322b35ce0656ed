"""The first view stays small, also with many runs and documents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from multi_agent.storage.tables import RUNS
from support.viewer import OpenPage, Site

MOST = 152_000  # bytes, with headers; the aim is 150,000
BYTES = (
    """performance.getEntries().filter((each) => each.transferSize).reduce((sum, each) => sum + each.transferSize, 0)"""
)


@pytest.fixture
def many(site: Site) -> None:
    """1,000 runs and 2,000 documents."""
    now, known = datetime.now(UTC), site.candor.documents.list("pumps", None)[0]
    texts = {"collection": "pumps", "model": "m", "status": "answered", "key": "", "continues": "", "note": "",
             "environment": "", "forked_from": "", "forked_at": "", "basis": ""}  # fmt: skip
    rows = [
        texts
        | {"run_id": f"run_{number:04}", "question": f"Question {number}?", "started_at": now - timedelta(days=number)}
        for number in range(1_000)
    ]
    with site.candor.engine.begin() as connection:
        connection.execute(RUNS.insert(), rows)
    site.candor.ledger.record(
        *(known.model_copy(update={"id": f"many-{n}", "path": f"/{n}.md", "name": f"{n}.md"}) for n in range(2_000))
    )


@pytest.mark.usefixtures("many")
def test_the_first_view_is_small(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.get_by_role("textbox", name="Question")).to_be_visible()
    page.wait_for_load_state("networkidle")
    transferred = page.evaluate(BYTES)
    print(f"{transferred:,} bytes")
    assert 0 < transferred <= MOST
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("textbox", name="Question")).to_be_visible()


def test_a_page_that_does_not_arrive_says_so(open_page: OpenPage) -> None:
    page = open_page()
    expect(page.get_by_role("textbox", name="Question")).to_be_visible()
    page.route("**/pages/runs.js", lambda route: route.abort())
    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_role("alert").get_by_role("button", name="Try again")).to_be_visible()
    page.unroute("**/pages/runs.js")
    page.get_by_role("alert").get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
