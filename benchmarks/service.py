"""What the service holds out: many runs streamed to many clients, searches beside them, and its memory.

    python -m benchmarks.service                                     # about four minutes
    python -m benchmarks.service --runs 20 --memory-runs 60          # a look in under one
    python -m benchmarks.service --runs 0                            # searches alone, and what one costs

`candor serve` is on loopback, over the sample documents, with the process that researches for it. Beside it are, each
in a process of its own, the scripted endpoint, the clients that follow runs, and the one that searches: what clients do
for themselves is no delay of the service's. All share this machine's clock.

- Searches alone, then `--runs` runs at once, each streamed to a client of its own, with the searches beside. The model
  takes a second for a call, and as many calls at once as are asked of it: the steps of all runs end at the same
  moment, which is the worst that can be.
- An event's delay: from when it happened (its `at`), or its client had asked for the stream if that was later, to when
  the client had read it. What a client was told is compared with what is stored: nothing may be missing, double or
  different.
- A search's time: from the moment it was due, at an even pace, so that one that had to wait for others counts in full.
  Where 200 wait already, no more are sent, and the line says so. What one costs is the processor time of the service
  while nothing but searches is asked of it, less what it takes when nothing is asked.
- Memory (RSS) of the service, all its processes together, after some, and after `--memory-runs` runs, with a faster
  model and the streams as before.
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
WARMING_S = 3.0
DELAY_MS = 100
SEARCH_MS = 100
MEMORY_AFTER = (0.1, 0.25, 0.5, 1.0)
MOST_WAITING = 200
SETTLE_S = 2.0
NO_LIMIT = aiohttp.ClientTimeout(total=None)
KEEP_ALIVE_S = 2.0  # shorter than the service's own: or a connection may be closed there just as it is used again


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=100, help="at once, and so many clients; 0: searches alone")
    options.add_argument("--parallel", type=int, help="calls that the endpoint takes at once; one for each run")
    options.add_argument("--memory-runs", type=int, default=1000, help="0 leaves this part out")
    options.add_argument("--searches", type=float, default=SEARCHES_A_SECOND, help="a second")
    options.add_argument("--home", type=Path, help="keeps the documents, ingested, for the next time")
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
            time.sleep(WARMING_S)  # opens the collection, loads the model
        with _Accounted(service) as idle:
            time.sleep(ALONE_S)
        with _Accounted(service) as account, _searching(url, chosen.searches) as alone:
            time.sleep(ALONE_S)
    table = Table("", "number", "median", "95th percentile", "99th", "slowest", "target, 95th")
    table.add_row("search alone", *_summary(alone["times"]), f"{SEARCH_MS} ms")
    Console(width=110).print(table)
    _tell_left_out(alone["left_out"])
    beside_idling = account.own[0] - idle.own[0] / idle.seconds * account.seconds
    cost = 1000 * beside_idling / len(alone["times"])
    print(f"A search takes {cost:.1f} ms of the service's processor time. {account.told()}", flush=True)


def _measure_delays(home: Path, chosen: argparse.Namespace) -> None:
    parallel = chosen.parallel or chosen.runs
    with endpoint(SECONDS_A_CALL) as model, _service(home, model, chosen.runs, parallel) as (url, service):
        _client("follow", url, runs=2)  # opens the collection, loads the model
        with _searching(url, chosen.searches) as alone:
            time.sleep(ALONE_S)
        with _Accounted(service) as account, _searching(url, chosen.searches) as beside:
            followed = _client("follow", url, runs=chosen.runs, first=2)
        _show_delays(followed, alone, beside, parallel)
        print(account.told(), flush=True)


def _measure_memory(home: Path, chosen: argparse.Namespace) -> None:
    table = Table("runs since it was started", "memory (RSS)", "since the line before, each run")
    with (
        endpoint(SECONDS_A_CALL_FOR_MEMORY) as model,
        _service(home, model, chosen.runs, chosen.runs) as (url, service),
    ):
        done, before = 0, 0.0
        with _Accounted(service) as account:
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
    print("Target: flat.", account.told(), flush=True)


@contextmanager
def _service(home: Path, model: str, runs: int, parallel: int) -> Iterator[tuple[str, psutil.Process]]:
    """`candor serve` in a process of its own, as a shell would start it: its address, and the process."""
    settings = {
        "CANDOR_LLM__PROVIDER": "openai",
        "CANDOR_LLM__BASE_URL": model,
        "CANDOR_LLM__MODEL": "scripted",
        "CANDOR_LLM__CONTEXT_WINDOW": "64000",
        "CANDOR_LLM__PARALLEL": str(parallel),
        "CANDOR_SERVICE__RUNS": str(runs),
    }
    command = [sys.executable, "-m", "api.cli", "serve", "--port", "0", "--json", "--home", str(home)]
    with subprocess.Popen(
        command, cwd=home, stdout=subprocess.PIPE, text=True, env={**environment(), **settings}
    ) as process:
        assert process.stdout
        try:
            told = "".join(iter(process.stdout.readline, "}\n")) + "}"
            yield json.loads(told)["url"].rstrip("/"), psutil.Process(process.pid)
        finally:
            process.terminate()


def _client(kind: str, url: str, **numbers: float) -> Any:
    """What a client in a process of its own found."""
    with _started(kind, url, **numbers) as process:
        return _said(process)


def _said(process: subprocess.Popen[str]) -> Any:
    said, _ = process.communicate()  # closes its standard input
    if process.returncode:
        raise SystemExit("A client came to grief; see above.")
    return json.loads(said.splitlines()[-1])


def _started(kind: str, url: str, **numbers: float) -> subprocess.Popen[str]:
    given = [part for name, number in numbers.items() for part in (f"--{name}", str(number))]
    command = [sys.executable, "-m", "benchmarks.service", "--as-client", kind, "--url", url, *given]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    )


@contextmanager
def _searching(url: str, searches: float) -> Iterator[dict[str, Any]]:
    """Searches until the end of the block; what became of them is in the dictionary then."""
    found: dict[str, Any] = {}
    with _started("search", url, searches=searches) as process:
        assert process.stdout
        process.stdout.readline()  # it has begun
        yield found
        found |= _said(process)


def _processes(service: psutil.Process) -> list[psutil.Process]:
    """The service itself, and what it has started: those that research and embed for it."""
    return [service, *service.children(recursive=True)]


class _Accounted:
    """Who used the processors in the meantime: the service, the processes beside it, and all others together."""

    def __init__(self, service: psutil.Process) -> None:
        self._service = service

    def __enter__(self) -> _Accounted:
        self._began, self._own, self._all = time.perf_counter(), self._seconds(), _busy()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._began
        self.own = {pid: now - self._own.get(pid, 0.0) for pid, now in self._seconds().items()}
        self.all = _busy() - self._all

    def _seconds(self) -> dict[int, float]:
        return {each.pid: _seconds(each) for each in _processes(self._service)}

    def told(self) -> str:
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        own = sum(self.own.values())
        itself = self.own[self._service.pid]
        return (
            f"In {self.seconds:.0f} s, of {os.cpu_count()} processors, the service used {itself:.1f} s, the processes "
            f"beside it {own - itself:.1f} s; endpoint, clients and whatever else ran, "
            f"{self.all - own:.1f} s. Load of the machine: {load}."
        )


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _busy() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


# Clients, each kind in a process of its own


@dataclass
class _Stream:
    """What one client was told of its run: when it asked, and what it had read when."""

    run_id: str
    asked: float
    read: list[tuple[float, bytes]]

    def events(self) -> Iterator[tuple[float, dict[str, Any]]]:
        """Each event with the time at which its end was there."""
        rest = b""
        for at, data in self.read:
            *whole, rest = (rest + data).split(b"\n\n")
            for message in whole:
                if event := next((line[6:] for line in message.split(b"\n") if line.startswith(b"data: ")), None):
                    yield at, json.loads(event)


async def _follow(chosen: argparse.Namespace) -> dict[str, Any]:
    """Begin all runs at once and follow each; then see whether what was told is what is stored."""
    questions = [f"{list(KINDS.values())[each % len(KINDS)]} (Case {each})" for each in _numbers(chosen)]
    async with _session(chosen.url) as http:
        began = time.time()
        streams = await asyncio.gather(*(_one(http, question) for question in questions))
        seconds = time.time() - began
        faults, delays, statuses = [], [], []
        for stream in streams:
            told = list(stream.events())
            async with http.get(f"/v1/runs/{stream.run_id}/events", params={"follow": "false"}) as response:
                stored = await response.json()
            faults += [stream.run_id] if [event for _, event in told] != stored else []
            delays += [1000 * (at - max(_when(event), stream.asked)) for at, event in told]
            statuses.append(stored[-1]["body"].get("status", "unended"))
    return {"seconds": seconds, "delays": delays, "faults": faults, "statuses": statuses}


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
            stream.read.append((time.time(), data))  # taken apart later: the others are to be read
    return stream


def _when(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["at"]).timestamp()


async def _search(chosen: argparse.Namespace) -> dict[str, Any]:
    """Searches at an even pace, no two alike, until standard input is closed."""
    print("begun", flush=True)
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    times: list[float] = []
    async with _session(chosen.url) as http:
        began = time.perf_counter()
        left_out, begun = 0, list[asyncio.Task[None]]()
        for number in count():
            due = began + number / chosen.searches
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if ended.done():
                break
            if len(begun) - len(times) >= MOST_WAITING:
                left_out += 1
                continue
            begun.append(asyncio.create_task(_timed_search(http, due, times)))
        await asyncio.gather(*begun)  # raises if one was not answered
    return {"times": times, "left_out": left_out}


async def _timed_search(http: aiohttp.ClientSession, due: float, times: list[float]) -> None:
    asked = {"query": f"warranty of the compressor, case {due:.6f}", "collection": COLLECTION}
    async with http.post("/v1/search", json=asked) as response:
        response.raise_for_status()
        await response.read()
    times.append(1000 * (time.perf_counter() - due))


_CLIENTS = {"follow": _follow, "search": _search}


# Showing


def _show_delays(followed: Any, alone: Any, beside: Any, parallel: int) -> None:
    statuses, faults = followed["statuses"], followed["faults"]
    ended = ", ".join(f"{statuses.count(status)} {status}" for status in sorted(set(statuses)))
    print(
        f"{len(statuses)} runs at once, {parallel} calls at a time, {SECONDS_A_CALL:g} s a call: "
        f"{followed['seconds']:.1f} s; {ended}. {len(followed['delays']):,} events; "
        f"{len(faults)} streams with one lost, doubled or changed."
    )
    table = Table("", "number", "median", "95th percentile", "99th", "slowest", "target, 95th")
    table.add_row("delay of an event", *_summary(followed["delays"]), f"{DELAY_MS} ms")
    table.add_row("search beside the runs", *_summary(beside["times"]), f"{SEARCH_MS} ms")
    table.add_row("search alone", *_summary(alone["times"]), "")
    Console(width=110).print(table)
    _tell_left_out(alone["left_out"] + beside["left_out"])
    _require_whole(followed)


def _tell_left_out(searches: int) -> None:
    if searches:
        print(f"{searches} searches were not sent, since {MOST_WAITING} waited for their answers: it cannot keep up.")


def _summary(times: Sequence[float]) -> list[str]:
    at = [f"{each:.0f} ms" for each in np.percentile(times, (50, 95, 99, 100))]
    return [f"{len(times):,}", *at]


def _require_whole(followed: Any) -> None:
    if followed["faults"]:
        raise SystemExit(f"The streams of these runs are not what is stored: {', '.join(followed['faults'])}")


if __name__ == "__main__":
    main()
