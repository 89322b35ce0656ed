"""Measure the time of a run in which it does not wait for a model, and its CPU time, by kind of question.

    python -m benchmarks.overhead [--runs 20] [--rounds 3] [--beside CHECKOUT] [--kinds panel table]

A scripted endpoint in another process streams each response, a token of 4 characters at a time, after 50 ms. It pauses
for `--token-ms` after each token: the default, 2, is ten times as fast as a large GPU serves a small model, and 0 sends
all tokens at once, so that the time to read them counts in full. Runs of all kinds take turns over the sample
documents. Prints for each kind

- overhead: the wall time of a run minus the time in which the endpoint generates at least one response;
- CPU time of the process in a run;
- the floor of both: the same requests, in the same order and side by side as in the run, by plain httpx, which reads
  the streams and does not parse them.

With `--beside`, another checkout of Candor is measured in turn with this one, `--rounds` times.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from rich.console import Console
from rich.table import Table

from benchmarks.engine import ROOT, environment, scripted_model

DELAY_S = 0.05
TOKEN = 4
TARGET_MS = 100
WARMING = 2
KINDS = {
    "fast": "[fast] Which refrigerant does the Borea 12 use?",
    "follow-up": "[fast] And which one does its predecessor use?",
    "comparison": "[comparison] Which of the Borea 12 and its predecessor uses less refrigerant?",
    "panel": "[panel] How does the warranty of the Borea 12 differ from that of its predecessor?",
    "table": "[rows] Which three runners were fastest in 2024?",
}

Samples = dict[str, list[dict[str, float]]]
"""The measured runs by kind. Times in ms."""


class Call(NamedTuple):
    """A request that the endpoint received, and the times at which it did and had generated its response."""

    at: float
    answered: float
    body: dict[str, Any]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=20, help="runs of each kind in a round")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--beside", type=Path, help="another checkout of Candor")
    options.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    options.add_argument("--token-ms", type=float, default=2.0, help="pause of the endpoint after each token")
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.serve:
        _serve(chosen.token_ms / 1000)
    elif chosen.measure:
        print(json.dumps(asyncio.run(_measure(chosen.kinds, chosen.runs, chosen.token_ms))))
    else:
        checkouts = [chosen.beside.resolve(), ROOT] if chosen.beside else [ROOT]
        measured: dict[Path, Samples] = {each: {kind: [] for kind in chosen.kinds} for each in checkouts}
        for _ in range(chosen.rounds):
            for checkout in checkouts:
                for kind, samples in _measure_checkout(checkout, chosen).items():
                    measured[checkout][kind] += samples
        _show(measured)


def _measure_checkout(checkout: Path, chosen: argparse.Namespace) -> Samples:
    """Measure the code of a checkout with this module, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="candor-overhead-") as folder:
        (Path(folder) / "benchmarks").symlink_to(ROOT / "benchmarks")
        paths = os.pathsep.join(map(str, (folder, checkout, checkout / "tests")))
        command = [sys.executable, "-m", "benchmarks.overhead", "--measure", "--runs", str(chosen.runs)]
        command += ["--token-ms", str(chosen.token_ms), "--kinds", *chosen.kinds]
        output = subprocess.run(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, check=True, text=True
        ).stdout
    samples: Samples = json.loads(output.splitlines()[-1])
    return samples


# The endpoint


class Endpoint:
    """The scripted endpoint in another process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin
        assert process.stdout
        self._asks, self._tells = process.stdin, process.stdout
        self.url = self._tells.readline().strip()

    def calls(self) -> list[Call]:
        """Return the requests since the last call of this method."""
        self._asks.write("\n")
        self._asks.flush()
        return [Call(*each) for each in json.loads(self._tells.readline())]


@contextmanager
def _endpoint(token_ms: float) -> Iterator[Endpoint]:
    command = [sys.executable, "-m", "benchmarks.overhead", "--serve", "--token-ms", str(token_ms)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        yield Endpoint(process)
        assert process.stdin
        process.stdin.close()


def _serve(pause: float) -> None:
    from support.replies import delayed, in_pieces
    from support.scripted_endpoint import ScriptedEndpoint

    respond = scripted_model()
    with ScriptedEndpoint(lambda each: delayed(in_pieces(respond(each), TOKEN, pause=pause), DELAY_S)) as server:
        print(server.url("openai"), flush=True)
        for _ in sys.stdin:
            calls, server.requests = server.requests, []
            answered = [call.streamed if pause else call.at + DELAY_S for call in calls]
            timed = [(call.at, end, call.body) for call, end in zip(calls, answered, strict=True)]
            print(json.dumps(timed), flush=True)


# Measuring


async def _measure(kinds: Sequence[str], runs: int, token_ms: float) -> Samples:
    from api.bootstrap import Candor
    from api.cli.ingest import run_ingest
    from api.settings import load_settings

    with tempfile.TemporaryDirectory(prefix="candor-overhead-") as folder, _endpoint(token_ms) as endpoint:
        candor = Candor(load_settings(Path(folder)))
        with as_file(files("sample_docs") / "documents") as documents:
            await asyncio.to_thread(run_ingest, candor, [documents], "sample_docs", progress=False)
        with candor.collections.open_library("sample_docs") as library:
            measured: Samples = {kind: [] for kind in kinds}
            panel = _panel(candor, library, endpoint.url)
            async with httpx.AsyncClient(base_url=endpoint.url, trust_env=False, timeout=60) as client:
                for number in range(WARMING + runs):
                    for kind in kinds:
                        sample = await _measure_run(panel, kind, endpoint, client)
                        if number >= WARMING:
                            measured[kind].append(sample)
    return measured


def _panel(candor: Any, library: Any, url: str) -> Any:
    from multi_agent.llm.models import Models, build_llm
    from multi_agent.llm.settings import EndpointSettings

    settings = EndpointSettings(
        provider="openai", base_url=url, model="scripted", parallel=16, context_window=64_000, timeout_s=600
    )
    memory = candor.memories.for_key("")
    return replace(candor.panel.orchestrator(library, Models(build_llm(settings))), memory=memory)


async def _measure_run(panel: Any, kind: str, endpoint: Endpoint, client: httpx.AsyncClient) -> dict[str, float]:
    """Run a question, then only its model calls with ``client``."""
    from multi_agent.values.request import Request

    request = Request(question=KINDS[kind], session="benchmark" if kind == "follow-up" else "")
    began, cpu = time.perf_counter(), time.process_time()
    answer = await panel.research(request)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    if answer.status.value == "failed":
        raise SystemExit(f"{kind}: {answer.reasoning}")
    calls = endpoint.calls()
    floor_began, floor_cpu = time.perf_counter(), time.process_time()
    await _repeat(calls, client)
    floor_seconds, floor_cpu = time.perf_counter() - floor_began, time.process_time() - floor_cpu
    return {
        "calls": len(calls),
        "overhead": 1000 * (seconds - waiting(calls)),
        "cpu": 1000 * cpu,
        "floor": 1000 * (floor_seconds - waiting(endpoint.calls())),
        "floor_cpu": 1000 * floor_cpu,
    }


def waiting(calls: Sequence[Call]) -> float:
    """Return the seconds in which the endpoint generated the response of at least one of the calls."""
    total = until = 0.0
    for call in sorted(calls, key=lambda each: each.at):
        total += max(0.0, call.answered - max(until, call.at))
        until = max(until, call.answered)
    return total


async def _repeat(calls: Sequence[Call], client: httpx.AsyncClient) -> None:
    """Send the requests again. Each waits for the responses that were there when it was first sent."""
    ended = [asyncio.Event() for _ in calls]

    async def send(number: int) -> None:
        for other, end in zip(calls, ended, strict=True):
            if other.answered <= calls[number].at:
                await end.wait()
        async with client.stream("POST", "chat/completions", json=calls[number].body) as response:
            response.raise_for_status()
            async for _ in response.aiter_raw():
                pass
        ended[number].set()

    async with asyncio.TaskGroup() as group:
        for number in range(len(calls)):
            group.create_task(send(number))


# Showing


def _show(measured: dict[Path, Samples]) -> None:
    console = Console(width=140)
    names = ("before", "now") if len(measured) == 2 else ("now",)
    for (field, floor), title in {
        ("overhead", "floor"): f"wall time without waiting for the model (target {TARGET_MS} ms)",
        ("cpu", "floor_cpu"): "CPU time",
    }.items():
        table = Table(f"{title}: median (minimum), ms", "calls", *names, "floor")
        for kind in next(iter(measured.values())):
            found = [samples[kind] for samples in measured.values()]
            calls = f"{statistics.median(each['calls'] for each in found[-1]):g}"
            table.add_row(kind, calls, *(_figures(each, field) for each in found), _figures(found[-1], floor))
        console.print(table)
    console.print(f"Load: {', '.join(f'{each:.1f}' for each in os.getloadavg())}.")


def _figures(samples: Sequence[dict[str, float]], field: str) -> str:
    values = [each[field] for each in samples]
    return f"{statistics.median(values):.0f} ({min(values):.0f})"


if __name__ == "__main__":
    main()
