"""Measure the web page with a long run: open it and scroll its events in Chromium.

    PYTHONPATH=tests python -m benchmarks.viewer [--events 10000] [--times 5]

Opening lasts from the click in the list of runs until the events are drawn. Scrolling is 60 jumps over the whole list,
each until it is drawn. Needs Chromium (on Debian: apt-get install chromium).
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

from api.bootstrap import Candor
from api.settings import load_settings
from support.long_run import long_run

COLLECTION = "none"
OPEN_S = 1.0
JUMPS = """async jumps => {
    const list = document.querySelector(".events");
    const times = [];
    for (let at = 1; at <= jumps; at += 1) {
        const before = performance.now();
        list.scrollTop = at / jumps * list.scrollHeight;
        await new Promise(requestAnimationFrame);
        list.getBoundingClientRect();
        times.push(performance.now() - before);
    }
    return times;
}"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--events", type=int, default=10_000)
    options.add_argument("--times", type=int, default=5)
    chosen = options.parse_args()
    found = shutil.which("chromium")
    if found is None:
        raise SystemExit("Chromium is not installed (on Debian: apt-get install chromium).")
    with tempfile.TemporaryDirectory(prefix="candor-viewer-") as folder:
        home = Path(folder)
        run_id = long_run(Candor(load_settings(home)), COLLECTION, chosen.events)
        with _service(home) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1360, "height": 900})
            opened = [_opened(page, url, run_id) for _ in range(chosen.times)]
            jumps = page.evaluate(JUMPS, 60)
            browser.close()
    table = Table(f"{chosen.events:,} events", "median", "slowest", "target")
    table.add_row("opened", f"{statistics.median(opened):.2f} s", f"{max(opened):.2f} s", f"{OPEN_S:g} s")
    table.add_row("a jump in the list", f"{statistics.median(jumps):.0f} ms", f"{max(jumps):.0f} ms", "smooth")
    Console(width=100).print(table)


@contextmanager
def _service(home: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "api.cli", "serve", "--port", "0", "--json", "--home", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            address = "".join(iter(process.stdout.readline, "}\n")) + "}"
            yield json.loads(address)["url"].rstrip("/")
        finally:
            process.terminate()


def _opened(page: Page, url: str, run_id: str) -> float:
    page.goto(f"{url}/#/runs")
    page.wait_for_selector(".runs li")
    began = time.perf_counter()
    page.goto(f"{url}/#/runs/{run_id}")
    page.wait_for_selector(".event")
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
