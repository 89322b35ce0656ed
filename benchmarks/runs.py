"""Measure the list of runs and the opening of a run, through the service and the command line.

    python -m benchmarks.runs [--runs 1000] [--home HOME]

Copies of the demo's three runs fill a data folder, under new ids, questions and times. Their events and model calls are
repeated until each run has at least 40 events and 10 calls of about 10 kB. `candor serve` runs on loopback in its own
process. Each request is sent 20 times after one to warm up. Prints the fastest and the median time of each, the CPU
time that the service needs for it, and the sizes. On a busy machine, only the fastest and the CPU time mean anything.

- list: the first page of 50 runs, as the page shows it; also sorted by tokens, filtered by text, and all runs at once.
- open: one run with its answer, its events and its conversation, one after the other, as the page requests them.
- journal: all prompts and responses of one run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import httpx
import psutil
from rich.console import Console
from rich.table import Table

from api.bootstrap import Candor
from api.settings import load_settings
from api.storage.home import DATABASE
from benchmarks.engine import environment
from multi_agent.storage.recording import Recording, load_recording

TIMES = 20
EVENTS, CALLS = 40, 10
LIST_MS, OPEN_MS = 50, 200


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=1000, help="number of runs")
    options.add_argument("--home", type=Path, help="keep the runs in this data folder, or use those of an earlier call")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="candor-runs-") as folder:
        home = chosen.home or Path(folder)
        _fill(home, chosen.runs)
        with _service(home) as (url, service), httpx.Client(base_url=url, timeout=60) as http:
            _show(http, service, home)


def _fill(home: Path, runs: int) -> None:
    """Add runs to the data folder until it has so many."""
    candor = Candor(load_settings(home))
    missing = runs - candor.archive.usage().runs
    if missing > 0:
        _candor("demo", home)
        origins = [load_recording(candor.trace, candor.tools.calls, run.run_id) for run in candor.trace.runs()]
        for number in range(candor.archive.usage().runs, runs):
            candor.archive.add(_copy(_grown(origins[number % len(origins)]), number))
    candor.engine.dispose()


def _grown(origin: Recording) -> Recording:
    """Return the run with its events and calls repeated until there are as many as in a long run."""
    events = [origin.events[number % len(origin.events)] for number in range(max(EVENTS, len(origin.events)) - 1)]
    numbered = (each.model_copy(update={"number": at}) for at, each in enumerate([*events, origin.events[-1]], start=1))
    calls = [origin.calls[number % len(origin.calls)] for number in range(max(CALLS, len(origin.calls)))]
    return origin.model_copy(
        update={
            "events": tuple(numbered),
            "calls": tuple(each.model_copy(update={"key": f"{at:064}"}) for at, each in enumerate(calls)),
        }
    )


def _copy(origin: Recording, number: int) -> Recording:
    """Return the run under another id, with another question and time."""
    run_id, at = f"run_{number:012x}", datetime.now(UTC) - timedelta(minutes=number)
    question = f"{origin.run.question} ({number})"
    return origin.model_copy(
        update={
            "run": origin.run.model_copy(update={"run_id": run_id, "question": question, "started_at": at}),
            "answer": origin.answer.model_copy(update={"run_id": run_id, "question": question}),
            "events": tuple(event.model_copy(update={"run_id": run_id}) for event in origin.events),
        }
    )


def _show(http: httpx.Client, service: psutil.Process, home: Path) -> None:
    runs = http.get("/v1/runs", params={"limit": 100_000}).json()
    opened = [run["run_id"] for run in runs[:: max(1, len(runs) // TIMES)]][:TIMES]
    table = Table("request", "fastest", "median", "CPU time", "target")
    for name, paths, target in (
        ("list, first page", ["/v1/runs?limit=50"], f"{LIST_MS} ms"),
        ("list by tokens", ["/v1/runs?limit=50&sort=tokens"], f"{LIST_MS} ms"),
        ("list with a text", ["/v1/runs?limit=50&text=marathon"], f"{LIST_MS} ms"),
        ("list all", ["/v1/runs?limit=100000"], ""),
        ("total size", ["/v1/runs/storage"], f"{LIST_MS} ms"),
        ("open", ["/v1/runs/{}", "/v1/runs/{}/events?follow=false", "/v1/runs/{}/conversation"], f"{OPEN_MS} ms"),
        ("journal", ["/v1/runs/{}/journal"], ""),
    ):
        _get(http, paths, opened[0])
        before = _cpu(service)
        times = [_milliseconds(partial(_get, http, paths, run)) for run in opened]
        used = (_cpu(service) - before) * 1000 / len(times)
        table.add_row(name, *_summary(times), f"{used:.1f} ms", target)
    before = _cpu(psutil.Process())
    listed = [_milliseconds(partial(_candor, "runs", home)) for _ in range(5)]
    used = (_cpu(psutil.Process()) - before) * 1000 / len(listed)
    table.add_row("`candor runs`, a process", *_summary(listed), f"{used:.0f} ms", "")
    stored = http.get("/v1/runs/storage").json()
    Console(width=100).print(table)
    file = (home / DATABASE).stat().st_size
    print(f"{stored['runs']} runs take {stored['bytes'] / 1e6:.1f} MB of a database of {file / 1e6:.1f} MB.")


def _summary(times: Sequence[float]) -> tuple[str, str]:
    return f"{min(times):.1f} ms", f"{statistics.median(times):.1f} ms"


def _cpu(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and of its ended children."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def _get(http: httpx.Client, paths: list[str], run_id: str) -> None:
    for path in paths:
        http.get(path.format(run_id)).raise_for_status()


def _milliseconds(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    act()
    return (time.perf_counter() - started) * 1000


def _candor(command: str, home: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "api.cli", command, "--home", str(home)], check=True, capture_output=True,
        env=environment(),
    )  # fmt: skip


@contextmanager
def _service(home: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Start `candor serve`. Yield its URL and its process."""
    command = [sys.executable, "-m", "api.cli", "serve", "--port", "0", "--json", "--home", str(home)]
    with subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout
        try:
            received = "".join(iter(process.stdout.readline, "}\n")) + "}"
            yield json.loads(received)["url"].rstrip("/"), psutil.Process(process.pid)
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
