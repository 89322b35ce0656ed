"""The comparison of two documents: its changes on both pages side by side, and what a model says they mean."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from api.cli.ingest import run_ingest
from support.files import write_pdf
from support.panel import Panel
from support.viewer import OpenPage, Site, violations

OLD, NEW = "The term is 24 months.", "The term is 36 months."
LAW, ADDED = "The courts of Dublin decide.", "Either party keeps secrets for five years."


def test_changes_are_shown_on_both_pages_with_their_meaning(open_page: OpenPage, site: Site, tmp_path: Path) -> None:
    write_pdf(tmp_path / "lease_2023.pdf", parts=["This is the lease of a shed.", ("page",), OLD, LAW])
    write_pdf(tmp_path / "lease_2024.pdf", parts=["This is the lease of a shed.", ("page",), NEW, LAW, ADDED])
    run_ingest(site.candor, [tmp_path], "leases", progress=False)
    said = {"points": [{"changes": [1], "text": "The term is 36 instead of 24 months."}]}
    site.responder = Panel(roles={"MeaningPoints": lambda _: json.dumps(said)})

    page = open_page(f"documents/leases/{site.candor.documents.find('lease_2023.pdf', 'leases').id}")
    page.get_by_text("Compare with another document").click()
    page.get_by_label("Newer document").fill("lease_2024.pdf")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("lease_2023.pdf → lease_2024.pdf")
    changes = page.get_by_role("region", name="Changes").get_by_role("button")
    expect(changes).to_have_text([f"Removed: {OLD} p. 2Added: {NEW} p. 2", f"Added: {ADDED} p. 2"])
    old, new = (page.get_by_role("region", name=f"{side} document", exact=True) for side in ("Old", "New"))
    for side in (old, new):
        expect(side.get_by_label("Page number")).to_have_value("2")
        expect(side.locator(".box.current")).to_have_count(1)
    assert violations(page) == []

    page.get_by_role("button", name="Ask the model what the changes mean").click()
    meaning = page.get_by_role("region", name="Meaning")
    expect(meaning).to_contain_text("The term is 36 instead of 24 months.")
    changes.nth(1).click()
    new.get_by_role("button", name="Text").click()
    expect(new.locator("mark.current")).to_have_text(ADDED)
    meaning.get_by_role("button").click()
    expect(new.locator("mark.current")).to_have_text(NEW)
