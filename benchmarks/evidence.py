"""Measure how fast the page shows the evidence of an answer: its quotes one after another, and the same picture again.

    PYTHONPATH=tests python -m benchmarks.evidence [--times 3]

An answer cites seven quotes on four pages of a PDF. Each time opens the run in a new browser and goes through all its
quotes with the key `n`, each until it is marked on the picture of its page. Needs Chromium (on Debian: apt-get install
chromium).
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx
from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.table import Table

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import load_settings
from multi_agent.model import Usage
from multi_agent.values.answer import Answer, Quote, Status
from multi_agent.values.context import Claim
from multi_agent.values.events import Event, RunFinished, RunStarted
from multi_agent.values.request import Request
from support.files import write_pdf
from support.service import RunningService, with_service

COLLECTION, RUN, QUESTION = "reports", "run_evidence", "What does the report say?"
QUOTES = 7
PAGES = 4
WAIT_MS = 120_000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--times", type=int, default=3)
    chosen = options.parse_args()
    found = shutil.which("chromium")
    if found is None:
        raise SystemExit("Chromium is not installed (on Debian: apt-get install chromium).")
    with tempfile.TemporaryDirectory(prefix="candor-evidence-") as folder:
        candor = Candor(with_service(load_settings(Path(folder) / "home"), research_process=True))
        document = _answered_run(candor, Path(folder))
        with RunningService(candor) as service, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
            opened = [_walk(browser, service.url) for _ in range(chosen.times)]
            browser.close()
            pictures = _pictures(service.url, document)
    table = Table(f"{QUOTES} quotes on {PAGES} pages", "requests", "first time", "again, median")
    seconds = [spent for _, spent in opened]
    again = f"{statistics.median(seconds[1:]):.2f} s" if seconds[1:] else "-"
    table.add_row("from opening the run to the last quote", str(opened[0][0]), f"{seconds[0]:.2f} s", again)
    table.add_row("the same picture three times", "3", *_shown(pictures))
    Console(width=120).print(table)


def _answered_run(candor: Candor, folder: Path) -> str:
    """Ingest a report, store a run that cites it, and return the id of the report."""
    facts = [f"Plant {number} made {number * 137} pumps in its best year." for number in range(1, QUOTES + 1)]
    filler = "The plants work in two shifts, and each shift checks the pumps of the other one. " * 20
    parts: list[object] = []
    for number, fact in enumerate(facts):
        parts += [filler, fact, *([("page",)] if number % 2 else [])]
    (folder / "files").mkdir()
    write_pdf(folder / "files" / "report.pdf", parts=parts)
    run_ingest(candor, [folder / "files"], COLLECTION, progress=False)
    record = candor.documents.find("report.pdf", COLLECTION)
    text = candor.documents.text(record)
    quotes = []
    for number, fact in enumerate(facts, 1):
        start = re.search(r"\s+".join(map(re.escape, fact.split())), text.text)
        assert start, fact
        pages = tuple(page.number for page in text.pages if page.start < start.end() and start.start() < page.end)
        quotes.append(
            Quote(
                number=number, document=record.path, document_id=record.id, chunk_id="", pages=pages,
                start=start.start(), end=start.end(), quote=start.group(),
            )
        )  # fmt: skip
    claims = tuple(Claim(text=fact, evidence=(number,), supported=True) for number, fact in enumerate(facts, 1))
    answer = Answer(
        run_id=RUN, status=Status.ANSWERED, mode="high", question=QUESTION, answer=" ".join(facts), claims=claims,
        evidence=tuple(quotes),
    )  # fmt: skip
    candor.trace.start(RUN, Request(question=QUESTION), COLLECTION, "scripted")
    _store(candor, answer)
    return record.id


def _store(candor: Candor, answer: Answer) -> None:
    started = RunStarted(request=Request(question=QUESTION), collection=COLLECTION, model="scripted")
    ended = RunFinished(status="answered", reason="", usage=Usage())
    events = [
        Event(run_id=RUN, number=number, at=datetime.now(UTC), body=body)
        for number, body in enumerate((started, ended), 1)
    ]
    asyncio.run(candor.trace.record(events[0]))
    candor.trace.finish(answer, events[1])


def _walk(browser: Browser, url: str) -> tuple[int, float]:
    """Open the run and all its quotes. Return the number of requests for evidence and the seconds."""
    page = browser.new_page(viewport={"width": 1360, "height": 900})
    page.set_default_timeout(WAIT_MS)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    began = time.perf_counter()
    page.goto(f"{url}/#/runs/{RUN}")
    page.locator(".claims .mark").first.click()
    for number in range(1, QUOTES + 1):
        page.locator("#panel h2", has_text=f"Evidence [{number}]").wait_for()
        page.locator("#panel .box.current").first.wait_for()
        if number < QUOTES:
            page.keyboard.press("n")
    spent = time.perf_counter() - began
    page.close()
    return sum("/v1/documents/" in each or "/evidence?" in each for each in asked), spent


def _pictures(url: str, document: str) -> list[float]:
    """Return the seconds of the same picture, three times, each with the ETag of the one before."""
    seconds, known = [], ""
    address = f"{url}/v1/documents/{document}/pages/1.png?collection={COLLECTION}&scale=1.9"
    for _ in range(3):
        began = time.perf_counter()
        response = httpx.get(address, headers={"If-None-Match": known}, timeout=60)
        seconds.append(time.perf_counter() - began)
        known = response.headers.get("etag", "")
    return seconds


def _shown(seconds: list[float]) -> tuple[str, str]:
    return f"{seconds[0]:.2f} s", " and ".join(f"{each * 1000:.0f} ms" for each in seconds[1:])


if __name__ == "__main__":
    main()
