"""The viewer in a real Chromium, on the real service, over a scripted model: what the tests of the viewer share."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from api.cli.ingest import run_ingest
from support.files import write_pdf
from support.panel import Panel
from support.viewer import DOCUMENTS, SOUND, Site
from vectorstore.embedding.embedder import Embedder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium as the system has it; nothing is downloaded.

    Playwright keeps an event loop in this thread as long as it is up: other modules' tests need one of their own.
    """
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("Chromium is not installed (on Debian: apt-get install chromium).")
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[Site]:
    """One service for all tests of a module: ingesting takes longer than most of them."""
    root = tmp_path_factory.mktemp("site")
    folder = root / "files"
    folder.mkdir()
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    write_pdf(folder / "sheet.pdf", parts=["A pump for the cellar.", SOUND, ("page",), "Its weight is 120 kilograms."])
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and then nothing of the kind")
    site = Site(root / "home", embedder)
    with site.endpoint:
        site.begin()
        run_ingest(site.candor, [folder], "pumps", progress=False)
        yield site
        site.end()


@pytest.fixture
def site(served: Site) -> Site:
    """With a model that finds one quote, until the test says otherwise."""
    served.responder = Panel("-25 °C")
    return served


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    """Opens a page of the viewer: ``open_page("runs")``; ``at`` names another service than the site's.

    An error that a script does not catch fails the test.
    """
    contexts: list[Any] = []
    errors: list[str] = []

    def open_at(path: str = "", at: str = "", **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1360, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{at or site.url}#/{path}")
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert not errors
