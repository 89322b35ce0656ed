"""Texts of documents on screen: rows with pipes are tables, and lines of paragraphs are joined."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from api.cli.ingest import run_ingest
from support.panel import Panel
from support.viewer import OpenPage, Site, ask, violations

ROW = "| Borea 12 | 53 dB |"
MANUAL = Path(__file__).parents[2] / "sample_docs" / "documents" / "borea_12_manual.pdf"


@pytest.fixture
def sheets(site: Site, tmp_path: Path) -> Iterator[Site]:
    """The service with a document that has a table."""
    (tmp_path / "noise.txt").write_text(f"| Model | Noise |\n| --- | --- |\n{ROW}\n", encoding="utf-8")
    run_ingest(site.candor, [tmp_path], "sheets", progress=False)
    yield site
    site.candor.collections.drop("sheets")


def test_rows_with_pipes_are_tables_in_evidence_and_hits(open_page: OpenPage, sheets: Site) -> None:
    sheets.responder = Panel("53 dB")
    page = open_page()
    page.locator("select[name=collection]").select_option("sheets")
    ask(page)
    panel = page.locator("#panel")
    expect(panel.locator(".document").get_by_role("columnheader")).to_have_text([" Model ", " Noise "])
    expect(panel.locator(".document mark.current")).to_have_text([" Borea 12 ", " 53 dB "])
    expect(panel.locator("blockquote").get_by_role("cell")).to_have_text([" Borea 12 ", " 53 dB "])
    expect(page.locator(".sources .words .pipes > span > span")).to_have_text(["Borea 12", "53 dB"])
    assert violations(page) == []
    page.keyboard.press("s")
    expect(panel.locator(".words .pipes").first).to_contain_text("Borea 12")
    expect(panel).not_to_contain_text("| Borea")


def test_the_lines_of_a_quote_are_joined_on_screen_and_kept_in_the_data(open_page: OpenPage, site: Site) -> None:
    site.responder = Panel("certificate for flammable refrigerants")
    run_ingest(site.candor, [MANUAL], "manuals", progress=False)
    page = open_page()
    page.locator("select[name=collection]").select_option("manuals")
    ask(page)
    quote = page.locator("#panel blockquote")
    expect(quote).to_be_visible()
    kept = site.candor.trace.answer(page.url.rpartition("/")[2]).evidence[0].quote
    assert "\n" in kept
    assert quote.inner_text() == kept.replace("\n", " ")
    site.candor.collections.drop("manuals")
