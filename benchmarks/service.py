"""Measure the service under load: many streamed runs, concurrent searches, and memory.

    python -m benchmarks.service                                     # about four minutes
    python -m benchmarks.service --runs 20 --memory-runs 60          # less than a minute
    python -m benchmarks.service --runs 0                            # searches only, and their CPU time
    python -m benchmarks.service --repeat 10 --memory-runs 0         # ten measurements of searches beside runs
    python -m benchmarks.service --repeat 0 --memory-runs 5000       # memory only

`candor serve` runs on loopback over the sample documents. The scripted endpoint, the clients that follow runs, and the
client that searches are separate processes on the same machine and clock.

- Searches alone, then `--runs` concurrent runs, each streamed to its own client, with searches at the same time. Each
  model call takes a second, so the steps of all runs end at the same moment. That is the worst case.
- Start: from a question until its run starts, while the service is idle.
- Event delay: from the event's time (or the start of the stream, if later) until the client has read it. Each stream is
  compared with the stored events: none may be lost, duplicated or changed.
- Search time: from the moment the search was due, at an even rate, so queued searches count in full. At 200 waiting
  searches no more are sent, and the output says so. The CPU time of a search is that of the service under searches
  only, minus its idle CPU time.
- Memory (RSS) of all processes of the service, at several points during `--memory-runs` runs with a faster model.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import load_settings
from benchmarks.engine import ROOT, endpoint, environment
from benchmarks.service_clients import COLLECTION, MAX_WAITING

SECONDS_A_CALL = 1.0
SECONDS_A_CALL_FOR_MEMORY = 0.05
SEARCHES_A_SECOND = 50
ALONE_S = 10.0
IDLE_RUNS = 20
WARMING_S = 3.0
DELAY_MS = 100
SEARCH_MS, QUIET_SEARCH_MS = 60, 40  # in each measurement; in the median of them on a quiet machine
MEMORY_AFTER = (0.1, 0.25, 0.5, 1.0)
SETTLE_S = 2.0
_CHILDREN = {"search": "vectorstore.remote.process:", "research": "api.jobs.assembly:"}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=100, help="concurrent runs, one client each; 0: searches only")
    options.add_argument("--parallel", type=int, help="concurrent calls of the endpoint; default: one per run")
    options.add_argument("--repeat", type=int, default=1, help="measurements of searches beside runs; 0 skips them")
    options.add_argument("--memory-runs", type=int, default=1000, help="runs of the memory measurement; 0 skips it")
    options.add_argument("--searches", type=float, default=SEARCHES_A_SECOND, help="searches a second")
    options.add_argument("--home", type=Path, help="keep the ingested documents here")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="candor-service-") as folder:
        home = chosen.home or Path(folder)
        with as_file(files(COLLECTION) / "documents") as documents:
            run_ingest(Candor(load_settings(home)), [documents], COLLECTION, progress=False)
        if not chosen.runs:
            _measure_searches(home, chosen)
            return
        _repeat_delays(home, chosen)
        if chosen.memory_runs:
            _measure_memory(home, chosen)


# Measuring


def _measure_searches(home: Path, chosen: argparse.Namespace) -> None:
    with endpoint(SECONDS_A_CALL) as model, _service(home, model, 1, 1) as (url, service):
        with _searching(url, chosen.searches):
            time.sleep(WARMING_S)  # open the collection, load the model
        with _CpuUsage(service) as idle:
            time.sleep(ALONE_S)
        with _CpuUsage(service) as account, _searching(url, chosen.searches) as alone:
            time.sleep(ALONE_S)
    table = Table("", "number", "median", "95th percentile", "99th", "slowest", "target, 95th")
    table.add_row("search alone", *_summary(alone["times"]), f"{SEARCH_MS} ms")
    Console(width=110).print(table)
    _print_skipped(alone["skipped"])
    beyond_idle = sum(account.own.values()) - sum(idle.own.values()) / idle.seconds * account.seconds
    cost = 1000 * beyond_idle / len(alone["times"])
    print(f"A search takes {cost:.1f} ms of CPU time of the service. {account.summary()}", flush=True)


def _repeat_delays(home: Path, chosen: argparse.Namespace) -> None:
    measured = [_measure_delays(home, chosen) for _ in range(chosen.repeat)]
    if chosen.repeat > 1:
        each = ", ".join(f"{p95:.0f}" for p95, _ in measured)
        alone = np.median([p95 for _, p95 in measured])
        print(
            f"95th percentile of a search during {chosen.runs} runs: {each} ms (target {SEARCH_MS} each); median "
            f"{np.median([p95 for p95, _ in measured]):.0f} ms (target {QUIET_SEARCH_MS} on a quiet machine); median "
            f"of searches alone {alone:.0f} ms."
        )


def _measure_delays(home: Path, chosen: argparse.Namespace) -> tuple[float, float]:
    """Return the 95th percentiles of searches during runs and alone, in ms."""
    parallel = chosen.parallel or chosen.runs
    with endpoint(SECONDS_A_CALL) as model, _service(home, model, chosen.runs, parallel) as (url, service):
        _client("follow", url, runs=2)  # open the collection, load the model
        starts = _client("start", url, first=20_000, runs=IDLE_RUNS)
        with _searching(url, chosen.searches) as alone:
            time.sleep(ALONE_S)
        with _CpuUsage(service) as account, _searching(url, chosen.searches) as beside:
            followed = _client("follow", url, runs=chosen.runs, first=2)
        _show_delays(starts, followed, alone, beside, parallel)
        print(account.summary(), flush=True)
    return float(np.percentile(beside["times"], 95)), float(np.percentile(alone["times"], 95))


def _measure_memory(home: Path, chosen: argparse.Namespace) -> None:
    table = Table("runs since the start", "memory (RSS)", "growth per run", "each process, MB")
    with (
        endpoint(SECONDS_A_CALL_FOR_MEMORY) as model,
        _service(home, model, chosen.runs, chosen.runs) as (url, service),
    ):
        done, before = 0, 0.0
        with _CpuUsage(service) as account:
            for share in MEMORY_AFTER:
                more = round(share * chosen.memory_runs) - done
                for first in range(done, done + more, chosen.runs):
                    at_once = min(chosen.runs, done + more - first)
                    _require_whole(_client("follow", url, runs=at_once, first=10_000 + first))
                done += more
                time.sleep(SETTLE_S)
                used = [(_name(each), each.memory_info().rss / 1000) for each in _processes(service)]
                memory = sum(each for _, each in used)
                grown = f"{(memory - before) / more:+.1f} kB" if before else ""
                parts = ", ".join(f"{name} {each / 1000:,.0f}" for name, each in used)
                table.add_row(f"{done:,}", f"{memory / 1000:,.0f} MB", grown, parts)
                before = memory
    Console(width=100).print(table)
    print("Target: flat.", account.summary(), flush=True)


@contextmanager
def _service(home: Path, model: str, runs: int, parallel: int) -> Iterator[tuple[str, psutil.Process]]:
    """Start `candor serve`. Yield its URL and its process."""
    settings = {
        "CANDOR_LLM__PROVIDER": "openai",
        "CANDOR_LLM__BASE_URL": model,
        "CANDOR_LLM__MODEL": "scripted",
        "CANDOR_LLM__CONTEXT_WINDOW": "64000",
        "CANDOR_LLM__PARALLEL": str(parallel),
        "CANDOR_SERVICE__CONCURRENT_RUNS": str(runs),
        "CANDOR_SERVICE__CONNECTIONS_PER_ADDRESS": str(2 * runs + MAX_WAITING),  # all clients have one address
    }
    command = [sys.executable, "-m", "api.cli", "serve", "--port", "0", "--json", "--home", str(home)]
    with subprocess.Popen(
        command, cwd=home, stdout=subprocess.PIPE, text=True, env={**environment(), **settings}
    ) as process:
        assert process.stdout
        try:
            received = "".join(iter(process.stdout.readline, "}\n")) + "}"
            yield json.loads(received)["url"].rstrip("/"), psutil.Process(process.pid)
        finally:
            process.terminate()


def _client(kind: str, url: str, **numbers: float) -> Any:
    """Run a client in another process. Return its result."""
    with _started(kind, url, **numbers) as process:
        return _result(process)


def _result(process: subprocess.Popen[str]) -> Any:
    output, _ = process.communicate()  # closes its standard input
    if process.returncode:
        raise SystemExit("A client failed; see above.")
    return json.loads(output.splitlines()[-1])


def _started(kind: str, url: str, **numbers: float) -> subprocess.Popen[str]:
    given = [part for name, number in numbers.items() for part in (f"--{name}", str(number))]
    command = [sys.executable, "-m", "benchmarks.service_clients", kind, "--url", url, *given]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    )


@contextmanager
def _searching(url: str, searches: float) -> Iterator[dict[str, Any]]:
    """Search until the end of the block. The yielded dictionary then has the result."""
    found: dict[str, Any] = {}
    with _started("search", url, searches=searches) as process:
        assert process.stdout
        process.stdout.readline()  # it has started
        yield found
        found |= _result(process)


def _processes(service: psutil.Process) -> list[psutil.Process]:
    """Return the service process and its children (search, research)."""
    return [service, *service.children(recursive=True)]


class _CpuUsage:
    """Measures the CPU time of the service, its children, and all other processes."""

    def __init__(self, service: psutil.Process) -> None:
        self._service = service

    def __enter__(self) -> _CpuUsage:
        self._began, self._own, self._all = time.perf_counter(), self._seconds(), _busy()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._began
        self.own = {pid: now - self._own.get(pid, 0.0) for pid, now in self._seconds().items()}
        self.all = _busy() - self._all

    def _seconds(self) -> dict[int, float]:
        processes = _processes(self._service)
        self.names = {each.pid: _name(each) for each in processes}
        return {each.pid: _seconds(each) for each in processes}

    def summary(self) -> str:
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        own = sum(self.own.values())
        parts = ", ".join(f"{self.names[pid]} {seconds:.1f} s" for pid, seconds in self.own.items())
        return (
            f"CPU time in {self.seconds:.0f} s on {os.cpu_count()} cores: {parts}, everything else "
            f"{self.all - own:.1f} s. Load: {load}."
        )


def _name(process: psutil.Process) -> str:
    command = " ".join(process.cmdline())
    return next((name for name, module in _CHILDREN.items() if module in command), "service")


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _busy() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


# Showing


def _show_delays(starts: list[float], followed: Any, alone: Any, beside: Any, parallel: int) -> None:
    statuses, faults = followed["statuses"], followed["faults"]
    ended = ", ".join(f"{statuses.count(status)} {status}" for status in sorted(set(statuses)))
    print(
        f"{len(statuses)} concurrent runs, {parallel} calls at a time, {SECONDS_A_CALL:g} s a call: "
        f"{followed['seconds']:.1f} s; {ended}. {len(followed['delays']):,} events; "
        f"{len(faults)} streams with a lost, duplicated or changed event."
    )
    table = Table("", "number", "median", "95th percentile", "99th", "slowest", "target, 95th")
    table.add_row("start of a run, idle service", *_summary(starts), "")
    table.add_row("event delay", *_summary(followed["delays"]), f"{DELAY_MS} ms")
    table.add_row("search during the runs", *_summary(beside["times"]), f"{SEARCH_MS} ms")
    table.add_row("search alone", *_summary(alone["times"]), "")
    Console(width=110).print(table)
    _print_skipped(alone["skipped"] + beside["skipped"])
    _require_whole(followed)


def _print_skipped(searches: int) -> None:
    if searches:
        print(f"{searches} searches were not sent because {MAX_WAITING} were waiting: the service cannot keep up.")


def _summary(times: Sequence[float]) -> list[str]:
    at = [f"{each:.0f} ms" for each in np.percentile(times, (50, 95, 99, 100))]
    return [f"{len(times):,}", *at]


def _require_whole(followed: Any) -> None:
    if followed["faults"]:
        raise SystemExit(f"The streams of these runs differ from the stored events: {', '.join(followed['faults'])}")


if __name__ == "__main__":
    main()
