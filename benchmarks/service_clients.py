"""Clients of ``benchmarks.service``. Each runs in its own process and prints its result as JSON.

python -m benchmarks.service_clients follow --url URL --runs 100
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any

import aiohttp

from benchmarks.engine import KINDS

COLLECTION = "sample_docs"
MAX_WAITING = 200
NO_LIMIT = aiohttp.ClientTimeout(total=None)
KEEP_ALIVE_S = 2.0  # shorter than the service's, so that it never closes a connection in use


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("kind", choices=_CLIENTS)
    options.add_argument("--url", required=True)
    options.add_argument("--first", type=int, default=0, help="number of the first question")
    options.add_argument("--runs", type=int, default=0, help="number of runs")
    options.add_argument("--searches", type=float, default=0, help="searches a second")
    chosen = options.parse_args()
    print(json.dumps(asyncio.run(_CLIENTS[chosen.kind](chosen))), flush=True)


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
                await _check(response)
                run_id = (await response.json())["run_id"]
            async with http.get(f"/v1/runs/{run_id}/events") as response:
                async for line in response.content:
                    if line.startswith(b"data: "):
                        times.append(1000 * (_when(json.loads(line[6:])) - began))
                        break
            async with http.post(f"/v1/runs/{run_id}/cancel") as response:
                await _check(response)
    return times


async def _check(response: aiohttp.ClientResponse) -> None:
    if not response.ok:
        raise SystemExit(f"{response.method} {response.url}: {response.status} {await response.text()}")


def _session(url: str) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S)
    return aiohttp.ClientSession(url, connector=connector, timeout=NO_LIMIT)


def _numbers(chosen: argparse.Namespace) -> range:
    return range(chosen.first, chosen.first + chosen.runs)


async def _one(http: aiohttp.ClientSession, question: str) -> _Stream:
    asked = {"question": question, "collection": COLLECTION, "wait": False}
    async with http.post("/v1/research", json=asked) as response:
        await _check(response)
        run_id = (await response.json())["run_id"]
    stream = _Stream(run_id, time.time(), [])
    async with http.get(f"/v1/runs/{run_id}/events") as response:
        await _check(response)
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
        await _check(response)
        await response.read()
    times.append(1000 * (time.perf_counter() - due))


_CLIENTS = {"follow": _follow, "search": _search, "start": _start}


if __name__ == "__main__":
    main()
