"""The documents page: upload, progress, retry and delete."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from api.cli.ingest import run_ingest
from support.git import GitServer, Repository
from support.viewer import HOSTILE, OpenPage, Site, confirm, violations


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a document in a subfolder, a damaged file and a hidden file."""
    (tmp_path / "leaflets" / "2024").mkdir(parents=True)
    (tmp_path / "leaflets" / "2024" / "alto.md").write_text(f"# The Alto 7\n\nIt stands in the cellar. {HOSTILE}\n")
    (tmp_path / "leaflets" / "torn.pdf").write_bytes(b"%PDF-1.7 and no more")
    (tmp_path / "leaflets" / ".DS_Store").write_bytes(b"nothing")
    return tmp_path / "leaflets"


def test_documents_are_listed_with_states_and_reasons(open_page: OpenPage) -> None:
    page = open_page("documents/pumps")
    broken = page.locator("tr").filter(has_text="broken.pdf")
    expect(broken.locator(".badge")).to_have_text("failed")
    expect(broken.locator(".reason")).to_contain_text("While ")
    coverage = page.get_by_role("region", name="Coverage")
    expect(coverage).to_contain_text("3 of 4 documents searchable")
    expect(coverage).to_contain_text("1 document: while parsing, it is damaged")
    page.get_by_role("button", name="indexed 3").click()
    expect(page.locator("tbody tr")).to_have_count(3)


def test_a_folder_is_uploaded_to_a_new_collection(open_page: OpenPage, site: Site, folder: Path) -> None:
    page = open_page("documents")
    page.get_by_label("Name of a new collection").fill("leaflets")
    page.get_by_role("button", name="New collection").click()
    expect(page.locator("main")).to_contain_text("The collection is empty")
    page.get_by_label("Folder").set_input_files(folder)
    expect(page.locator(".drop")).to_contain_text("Uploaded 2 of 2 files")
    job = page.locator(".job")
    expect(job.locator(".badge")).to_have_text("done")
    expect(job).to_contain_text("1 document indexed · 1 failed")
    alto = page.locator("tr").filter(has_text="alto.md")
    expect(alto.locator(".badge")).to_have_text("indexed")
    torn = page.locator("tr").filter(has_text="torn.pdf")
    expect(torn.locator(".reason")).to_contain_text("While parsing")
    torn.get_by_role("button", name="Retry").click()
    expect(page.locator(".job")).to_have_count(2)
    expect(page.locator(".job").last.locator(".badge")).to_have_text("done")
    alto.get_by_role("button", name="Delete").click()
    confirm(page, "Delete")
    expect(alto.locator(".badge")).to_have_text("removed")
    expect(alto.locator(".note")).to_contain_text(["removed by hand"])
    expect(alto.locator(".reason")).to_have_count(0)
    page.get_by_role("button", name="Delete collection").click()
    confirm(page, "Delete collection", "leaflets")
    expect(page.get_by_role("combobox", name="Collection")).to_have_value("pumps")
    assert "leaflets" not in [spec.collection for spec in site.candor.collections.list()]


def test_a_double_click_on_delete_deletes_nothing(open_page: OpenPage, site: Site) -> None:
    page = open_page("documents/pumps")
    page.get_by_role("button", name="Delete collection").dblclick()
    dialog = page.get_by_role("dialog", name="Delete collection?")
    expect(dialog).to_contain_text("“pumps”")
    expect(dialog).to_contain_text("uploaded files")
    dialog.get_by_role("button", name="Delete collection").dispatch_event("click", {"detail": 2})
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Delete collection").click()
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    assert "pumps" in [spec.collection for spec in site.candor.collections.list()]


def test_dropped_files_are_uploaded_and_errors_shown(open_page: OpenPage) -> None:
    page = open_page("documents/pumps")
    expect(page.locator(".drop")).to_be_visible()
    dropped = page.evaluate_handle(
        """() => {
            const transfer = new DataTransfer();
            transfer.items.add(new File(["The Piano 3 is the smallest pump."], "piano.txt"));
            return transfer;
        }"""
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": dropped})
    piano = page.locator("tr").filter(has_text="piano.txt")
    expect(piano.locator(".badge")).to_have_text("indexed")
    page.get_by_label("Files", exact=True).set_input_files({"name": "x" * 300, "mimeType": "", "buffer": b"x"})
    expect(page.get_by_role("alert")).to_contain_text("255 bytes")
    piano.get_by_role("button", name="Delete").click()
    confirm(page, "Delete")
    expect(piano.locator(".badge")).to_have_text("removed")


def test_a_collection_that_the_store_has_lost_is_restored(open_page: OpenPage, site: Site, folder: Path) -> None:
    run_ingest(site.candor, [folder], "lost", progress=False)
    shutil.rmtree(site.candor.settings.home / "collections" / "lost")
    page = open_page("documents/lost")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("The vector store has lost this collection.")
    expect(page.locator("tr").filter(has_text="alto.md").locator(".badge")).to_have_text("indexed")
    expect(page.get_by_role("region", name="Coverage")).to_contain_text("0 of 3 documents searchable")
    alert.get_by_role("button", name="Restore").click()
    expect(page.locator(".job")).to_contain_text("1 restored")
    expect(page.locator(".job")).to_contain_text("1 document is missing from the store and will be restored")
    expect(alert).to_have_count(0)
    expect(page.get_by_role("region", name="Coverage")).to_contain_text("1 of 3 documents searchable")
    site.candor.collections.require("lost")


def test_a_source_is_added_synced_and_removed(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("base.web.is_public", lambda _: True)
    repository = Repository(tmp_path / "leaflets.git")
    repository.commit({"alto.md": "# The Alto 7\n\nIt stands in the cellar.\n"})
    page = open_page("documents/pumps")
    sources = page.locator("details.sources")
    sources.locator("summary").click()
    with GitServer(tmp_path) as server:
        sources.get_by_label("Address").fill(server.url("leaflets.git"))
        sources.get_by_label("Read again").select_option("every hour")
        sources.get_by_role("button", name="Add source").click()
        row = sources.locator("tbody tr")
        expect(row.locator(".badge")).to_have_text("synced")
        expect(sources.locator("summary")).to_have_text("1 source")
        expect(row).to_contain_text("every 1h")
        expect(page.locator("table.documents tr").filter(has_text="alto.md").locator(".badge")).to_have_text("indexed")
        assert violations(page) == []
    row.get_by_role("button", name="Sync now").click()
    expect(row.locator(".badge")).to_have_text("failed")
    expect(row.locator(".reason")).to_contain_text("Git cannot read")
    expect(sources.locator("summary")).to_contain_text("1 failed")
    sources.get_by_label("Address").fill("file:///etc")
    sources.get_by_role("button", name="Add source").click()
    expect(sources.get_by_role("alert")).to_contain_text("not an address of the web")
    row.get_by_role("button", name="Remove source").click()
    expect(page.get_by_role("dialog")).to_contain_text("its 1 document")
    confirm(page, "Remove source")
    expect(row).to_have_count(0)
    expect(page.locator("table.documents tr").filter(has_text="alto.md").locator(".badge")).to_have_text("removed")


def test_a_new_collection_takes_a_name_with_spaces(open_page: OpenPage, site: Site) -> None:
    page = open_page("documents")
    page.get_by_label("Name of a new collection").fill("Órdenes de 2024")
    page.get_by_role("button", name="New collection").click()
    expect(page.get_by_role("combobox", name="Collection")).to_have_value("ordenes-de-2024")


def test_a_large_library_has_pages_and_is_sorted_and_found(open_page: OpenPage, site: Site, tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"note{number:02}.txt").write_text(f"Note {number}.", encoding="utf-8")
    run_ingest(site.candor, [tmp_path], "notes", progress=False)
    page = open_page("documents/notes")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text("note00.txt")
    page.get_by_role("button", name="Next page").click()
    expect(rows).to_have_count(10)
    page.get_by_role("columnheader", name="Document").get_by_role("button").click()
    expect(rows.first).to_contain_text("note59.txt")
    page.get_by_role("searchbox", name="Find documents").fill("note07")
    expect(rows).to_have_count(1)
    site.candor.collections.drop("notes")


def test_chosen_documents_are_tagged_and_deleted_together(open_page: OpenPage, site: Site, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(f"The file {name}.", encoding="utf-8")
    run_ingest(site.candor, [tmp_path], "few", progress=False)
    page = open_page("documents/few")
    page.get_by_role("checkbox", name="Choose a.txt").check()
    page.get_by_role("checkbox", name="Choose b.txt").check()
    bulk = page.get_by_role("group", name="Chosen documents")
    expect(bulk).to_contain_text("2 chosen")
    bulk.get_by_label("Tags for the chosen documents").fill("taxes")
    bulk.get_by_role("button", name="Add tags").click()
    expect(page.locator(".tag")).to_have_text(["taxes×", "taxes×"])
    assert violations(page) == []
    bulk.get_by_role("button", name="Delete chosen").click()
    confirm(page, "Delete chosen")
    expect(page.locator("tr").filter(has_text="c.txt").locator(".badge")).to_have_text("indexed")
    expect(page.locator("tbody .badge").filter(has_text="removed")).to_have_count(2)
    expect(bulk).to_be_hidden()
    site.candor.collections.drop("few")
