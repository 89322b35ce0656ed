"""Uploads to a fresh home, and names of collections in a person's own words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from support.viewer import OpenPage, Site
from vectorstore.embedding.embedder import Embedder

FILE = {"name": "pump.md", "mimeType": "text/markdown", "buffer": b"# Pump\n\nIt is quiet."}


@pytest.fixture(name="site")
def fresh_site(tmp_path: Path, embedder: Embedder) -> Iterator[Site]:
    site = Site(tmp_path / "home", embedder)
    with site.endpoint:
        site.start()
        yield site
        site.stop()


def test_a_fresh_home_takes_files_at_once(open_page: OpenPage, site: Site) -> None:
    page = open_page("documents")
    name = page.get_by_label("Collection")
    expect(name).to_have_value("documents")
    name.fill("My papers")
    expect(page.get_by_role("status").filter(has_text="The name will be")).to_have_text("The name will be my-papers.")
    page.get_by_label("Files", exact=True).set_input_files(FILE)
    expect(page.locator("tr").filter(has_text="pump.md").locator(".badge")).to_have_text("indexed")
    assert page.url.endswith("#/documents/my-papers")
    expect(page.get_by_role("combobox", name="Collection")).to_have_value("my-papers")
    page.reload()
    expect(page.locator("tr").filter(has_text="pump.md")).to_be_visible()


def test_a_name_without_letters_is_refused_inline_and_nothing_is_lost(open_page: OpenPage, site: Site) -> None:
    page = open_page("documents")
    name = page.get_by_label("Collection")
    name.fill("论文")
    expect(page.get_by_role("status").filter(has_text="letters from a to z")).to_be_visible()
    page.get_by_label("Files", exact=True).set_input_files(FILE)
    expect(page.get_by_role("alert")).to_contain_text("letters from a to z")
    expect(name).to_have_value("论文")
