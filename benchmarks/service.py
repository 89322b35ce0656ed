"""Measure the service under load: many streamed runs, concurrent searches, and memory.

    python -m benchmarks.service                                     # about four minutes
    python -m benchmarks.service --runs 20 --memory-runs 60          # less than a minute
    python -m benchmarks.service --runs 0                            # searches only, and their CPU time

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
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import as_file, files
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import load_settings
from benchmarks.engine import KINDS, ROOT, endpoint, environment

COLLECTION = "sample_docs"
SECONDS_A_CALL = 1.0
SECONDS_A_CALL_FOR_MEMORY = 0.05
SEARCHES_A_SECOND = 50
ALONE_S = 10.0
IDLE_RUNS = 20
WARMING_S = 3.0
DELAY_MS = 100
SEARCH_MS = 100
MEMORY_AFTER = (0.1, 0.25, 0.5, 1.0)
MAX_WAITING = 200
SETTLE_S = 2.0
NO_LIMIT = aiohttp.ClientTimeout(total=None)
KEEP_ALIVE_S = 2.0  # shorter than the service's, so that it never closes a connection in use


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=100, help="concurrent runs, one client each; 0: searches only")
    options.add_argument("--parallel", type=int, help="concurrent calls of the endpoint; default: one per run")
    options.add_argument("--memory-runs", type=int, default=1000, help="runs of the memory measurement; 0 skips it")
    options.add_argument("--searches", type=float, default=SEARCHES_A_SECOND, help="searches a second")
    options.add_argument("--home", type=Path, help="keep the ingested documents here")
    options.add_argument("--as-client", choices=_CLIENTS, help=argparse.SUPPRESS)
    options.add_argument("--url", help=argparse.SUPPRESS)
    options.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.as_client:
        print(json.dumps(asyncio.run(_CLIENTS[chosen.as_client](chosen))), flush=True)
        return
    with tempfile.TemporaryDirectory(prefix="candor-service-") as folder:
        home = chosen.home or Path(folder)
        with as_file(files(COLLECTION) / "documents") as documents:
            run_ingest(Candor(load_settings(home)), [documents], COLLECTION, progress=False)
        if not chosen.runs:
            _measure_searches(home, chosen)
            return
        _measure_delays(home, chosen)
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
    beyond_idle = account.own[0] - idle.own[0] / idle.seconds * account.seconds
    cost = 1000 * beyond_idle / len(alone["times"])
    print(f"A search takes {cost:.1f} ms of CPU time of the service. {account.summary()}", flush=True)


def _measure_delays(home: Path, chosen: argparse.Namespace) -> None:
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


def _measure_memory(home: Path, chosen: argparse.Namespace) -> None:
    table = Table("runs since the start", "memory (RSS)", "growth per run")
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
                memory = sum(each.memory_info().rss for each in _processes(service)) / 1000
                grown = f"{(memory - before) / more:+.1f} kB" if before else ""
                table.add_row(f"{done:,}", f"{memory / 1000:,.0f} MB", grown)
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
    command = [sys.executable, "-m", "benchmarks.service", "--as-client", kind, "--url", url, *given]
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
    """Return the service process and its children (research, query embedding)."""
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
        return {each.pid: _seconds(each) for each in _processes(self._service)}

    def summary(self) -> str:
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        own = sum(self.own.values())
        itself = self.own[self._service.pid]
        return (
            f"CPU time in {self.seconds:.0f} s on {os.cpu_count()} cores: service {itself:.1f} s, its children "
            f"{own - itself:.1f} s, everything else {self.all - own:.1f} s. Load: {load}."
        )


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _busy() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


# Clients, each kind in its own process


@dataclass
class _Stream:
    """The stream of one client: the start time, and the received data with times."""

    run_id: str
    asked: float
    read: list[tuple[float, bytes]]

    def events(self) -> Iterator[tuple[float, dict[str, Any]]]:
        """Yield each event with the time at which it was complete."""
        rest = b""
        for at, data in self.read:
            *whole, rest = (rest + data).split(b"\n\n")
            for message in whole:
                if event := next((line[6:] for line in message.split(b"\n") if line.startswith(b"data: ")), None):
                    yield at, json.loads(event)


async def _follow(chosen: argparse.Namespace) -> dict[str, Any]:
    """Start all runs, follow each, and compare each stream with the stored events."""
    questions = [f"{list(KINDS.values())[each % len(KINDS)]} (Case {each})" for each in _numbers(chosen)]
    async with _session(chosen.url) as http:
        began = time.time()
        streams = await asyncio.gather(*(_one(http, question) for question in questions))
        seconds = time.time() - began
        faults, delays, statuses = [], [], []
        for stream in streams:
            received = list(stream.events())
            async with http.get(f"/v1/runs/{stream.run_id}/events", params={"follow": "false"}) as response:
                stored = await response.json()
            faults += [stream.run_id] if [event for _, event in received] != stored else []
            delays += [1000 * (at - max(_when(event), stream.asked)) for at, event in received]
            statuses.append(stored[-1]["body"].get("status", "unended"))
    return {"seconds": seconds, "delays": delays, "faults": faults, "statuses": statuses}


async def _start(chosen: argparse.Namespace) -> list[float]:
    """Start runs one after another, and cancel each. Return the times until their first events."""
    times = []
    async with _session(chosen.url) as http:
        for number in _numbers(chosen):
            asked = {"question": f"{next(iter(KINDS.values()))} (Case {number})", "wait": False}
            began = time.time()
            async with http.post("/v1/research", json={**asked, "collection": COLLECTION}) as response:
                response.raise_for_status()
                run_id = (await response.json())["run_id"]
            async with http.get(f"/v1/runs/{run_id}/events") as response:
                async for line in response.content:
                    if line.startswith(b"data: "):
                        times.append(1000 * (_when(json.loads(line[6:])) - began))
                        break
            async with http.post(f"/v1/runs/{run_id}/cancel") as response:
                response.raise_for_status()
    return times


def _session(url: str) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S)
    return aiohttp.ClientSession(url, connector=connector, timeout=NO_LIMIT)


def _numbers(chosen: argparse.Namespace) -> range:
    return range(chosen.first, chosen.first + chosen.runs)


async def _one(http: aiohttp.ClientSession, question: str) -> _Stream:
    asked = {"question": question, "collection": COLLECTION, "wait": False}
    async with http.post("/v1/research", json=asked) as response:
        response.raise_for_status()
        run_id = (await response.json())["run_id"]
    stream = _Stream(run_id, time.time(), [])
    async with http.get(f"/v1/runs/{run_id}/events") as response:
        response.raise_for_status()
        async for data in response.content.iter_any():
            stream.read.append((time.time(), data))  # parsed later, so that reading stays quick
    return stream


def _when(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["at"]).timestamp()


async def _search(chosen: argparse.Namespace) -> dict[str, Any]:
    """Send distinct searches at an even rate until standard input is closed."""
    print("begun", flush=True)
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    times: list[float] = []
    async with _session(chosen.url) as http:
        began = time.perf_counter()
        skipped, begun = 0, list[asyncio.Task[None]]()
        for number in count():
            due = began + number / chosen.searches
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if ended.done():
                break
            if len(begun) - len(times) >= MAX_WAITING:
                skipped += 1
                continue
            begun.append(asyncio.create_task(_timed_search(http, due, times)))
        await asyncio.gather(*begun)  # raises if a search failed
    return {"times": times, "skipped": skipped}


async def _timed_search(http: aiohttp.ClientSession, due: float, times: list[float]) -> None:
    asked = {"query": f"warranty of the compressor, case {due:.6f}", "collection": COLLECTION}
    async with http.post("/v1/search", json=asked) as response:
        response.raise_for_status()
        await response.read()
    times.append(1000 * (time.perf_counter() - due))


_CLIENTS = {"follow": _follow, "search": _search, "start": _start}


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
