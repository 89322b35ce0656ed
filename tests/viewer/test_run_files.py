"""A run is exported, imported and deleted in the page, and its size is shown."""

from __future__ import annotations

import gzip
from pathlib import Path

from playwright.sync_api import expect

from support.viewer import OpenPage, Site, answered, ask, confirm

WIDTHS = (1280, 768, 390)


def test_a_run_is_exported_and_imported(open_page: OpenPage, site: Site, tmp_path: Path) -> None:
    page = open_page()
    answered(page)
    page.get_by_role("link", name="Full trace").click()
    page.get_by_text("Export this run").click()
    button = page.get_by_role("button", name="Export for a colleague")
    for texts in (True, False):
        with page.expect_download() as download:
            button.click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        assert ("-25 °C" in gzip.decompress(file.read_bytes()).decode()) is texts
        page.get_by_label("With prompts").set_checked(False)
    page.get_by_label("With prompts").set_checked(True)
    with page.expect_download() as download:
        button.click()
    download.value.save_as(file)
    run_id = file.stem

    page.get_by_role("link", name="Runs").click()
    expect(page.get_by_text("1 run,")).to_be_visible()
    expect(page.locator(".runs li").first).to_contain_text("kB")
    choose = page.get_by_label("File of a run")
    choose.set_input_files(file)
    expect(page.get_by_role("alert")).to_contain_text("Run exists")
    bomb = tmp_path / "bomb.candor"
    bomb.write_bytes(gzip.compress(b" " * 70_000_000))
    choose.set_input_files(bomb)
    expect(page.get_by_role("alert")).to_contain_text("unpacks to more than 64 MB")

    site.candor.archive.delete([run_id])
    choose.set_input_files(file)
    expect(page).to_have_url(f"{site.url}#/runs/{run_id}")
    expect(page.locator(".answer").first).to_contain_text("-25 °C")


def test_old_runs_are_deleted_in_the_settings(open_page: OpenPage, site: Site) -> None:
    page = open_page()
    ask(page, "Is it old?", mode="fast")
    expect(page.locator(".live .badge").first).to_have_text("answered")
    page.goto(f"{site.url}#/settings")
    runs = len(site.candor.trace.runs())
    expect(page.get_by_text(f"{runs} run")).to_be_visible()
    page.get_by_label("Older than (days)").fill("36500")
    page.get_by_role("button", name="Find old runs").click()
    expect(page.get_by_text("0 runs, 0 bytes")).to_be_visible()
    page.get_by_label("Older than (days)").fill("0")
    page.get_by_role("button", name="Find old runs").click()
    page.get_by_role("button", name="Delete them").click()
    confirm(page, "Delete them")
    expect(page.get_by_text("Moved to the bin: ")).to_be_visible()
    expect(page.get_by_text("0 runs, 0 bytes")).to_be_visible()
    assert site.candor.trace.runs() == []
