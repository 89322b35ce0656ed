"""Fixtures of the viewer tests: a real Chromium, the real service, and a scripted model."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import Settings
from support.browser import NO_CHROMIUM, find_chromium
from support.files import write_pdf
from support.panel import Panel
from support.viewer import DOCUMENTS, SOUND, Site
from support.waiting import LIMIT_S
from vectorstore.embedding.embedder import Embedder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium; nothing is downloaded.

    Playwright keeps an event loop running in this thread, so its lifetime is one module: other tests need their own.
    """
    found = find_chromium()
    if found is None:
        pytest.skip(NO_CHROMIUM)
    expect.set_options(timeout=LIMIT_S * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def ingested(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Path:
    """A data folder with the documents, ingested once. Each service gets a copy."""
    root = tmp_path_factory.mktemp("ingested")
    folder = root / "files"
    folder.mkdir()
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    write_pdf(folder / "sheet.pdf", parts=["A pump for the cellar.", SOUND, ("page",), "Its weight is 120 kilograms."])
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 and then nothing of the kind")
    candor = Candor(Settings(home=root / "home"))
    candor.embedder = embedder
    run_ingest(candor, [folder], "pumps", progress=False)
    candor.engine.dispose()
    return candor.settings.home


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, ingested: Path, embedder: Embedder) -> Iterator[Site]:
    """One service per module."""
    site = Site(shutil.copytree(ingested, tmp_path_factory.mktemp("site") / "home"), embedder)
    with site.endpoint:
        site.start()
        yield site
        site.stop()


@pytest.fixture
def site(served: Site) -> Site:
    """The service, with a model that finds one quote."""
    served.responder = Panel("-25 °C")
    return served


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    """Open a page of the viewer: ``open_page("runs")``. ``at``: URL of another service.

    An uncaught script error fails the test.
    """
    pages: list[Page] = []
    errors: list[str] = []

    def open_at(path: str = "", at: str = "", **options: Any) -> Page:
        # The badge of a running run pulses 60 times a second otherwise, which takes a fifth of the CPU time.
        still = {"viewport": {"width": 1360, "height": 900}, "reduced_motion": "reduce"}
        context = browser.new_context(**{**still, **options})
        context.set_default_timeout(LIMIT_S * 1000)
        page = context.new_page()
        pages.append(page)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{at or site.url}#/{path}")
        return page

    yield open_at
    for page in pages:
        page.unroute_all(behavior="ignoreErrors")  # else the error of a route that is under way fails the next test
        page.context.close()
    assert not errors
