"""Measure how research scales with the number of workers, and kill workers and nodes while they work.

    PYTHONPATH=tests python -m benchmarks.workers --workers 1 2 3    # about ten minutes
    PYTHONPATH=tests python -m benchmarks.workers --kill             # about five minutes
    PYTHONPATH=tests python -m benchmarks.workers --kill --ingests   # about five minutes

Postgres, Qdrant, the scripted model endpoint, `candor serve` and `candor worker` run on this machine.

Throughput: the service accepts `--jobs` questions and is stopped, then the workers do them. Each executes `--runs` runs
at once, and each model call takes 1 to 2 seconds, so a run waits for the endpoint most of its time, and the processor
does not limit the runs. `llm.parallel` holds for all workers together; it is large enough not to limit them, as the
number of runs does. The rate is measured between a tenth and nine tenths of the runs.

`--kill`: three workers and three nodes with two copies of each shard. Every few seconds one worker and one node are
killed with SIGKILL and started again, while `--jobs` questions and `--files` files are submitted, a client searches,
and others follow every tenth run. Afterwards Postgres and Qdrant are checked: each job done once, no event lost or
doubled, each document with exactly its passages. The exit status is 1 if there is a problem or a search has failed.

With `--ingests`, no questions are asked: `--jobs` uploads of a few files wait for one collection, while workers and the
service are killed in turn, and Postgres is stopped and started again twice. An upload that gets no response is sent
again with the same idempotency key.
"""

from __future__ import annotations

import argparse
import itertools
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import httpx
from rich.console import Console
from rich.table import Table

from benchmarks.chaos.log import Log
from benchmarks.chaos.submitted import Submitted
from benchmarks.workers.checks import Postgres, calls, check, finish_times
from benchmarks.workers.kills import Kills
from benchmarks.workers.load import (
    COLLECTION,
    LIMIT_S,
    Follower,
    Searches,
    ask,
    jobs,
    percentiles,
    prepare,
    upload,
    wait_until,
    wait_until_quiet,
)  # fmt: skip
from benchmarks.workers.machines import Machines, machines, started

DELAY_S = (1.0, 2.0)
NODES = KILLED_WORKERS = 3
FOLLOWED = 10
"""One run in so many is followed."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--workers", type=int, nargs="+", default=[1, 2, 3], help="numbers of workers to compare")
    options.add_argument("--kill", action="store_true", help="kill workers and nodes instead")
    options.add_argument("--ingests", action="store_true", help="with --kill: uploads instead of questions")
    options.add_argument("--jobs", type=int, default=200)
    options.add_argument("--runs", type=int, default=4, help="concurrent runs of a worker")
    options.add_argument("--files", type=int, default=300, help="files to ingest with --kill")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--log", type=Path, default=Path("workers.log"))
    chosen = options.parse_args()
    log = Log(chosen.log)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # stop the processes also when it is terminated
    if chosen.kill:
        return _kill(chosen, log)
    return _compare(chosen, log)


def _compare(chosen: argparse.Namespace, log: Log) -> int:
    rates = {number: _throughput(number, chosen, log) for number in chosen.workers}
    table = Table("workers", "runs a minute", "of linear")
    fewest = min(rates)
    for number, rate in sorted(rates.items()):
        table.add_row(str(number), f"{60 * rate:.1f}", f"{rate / (rates[fewest] / fewest * number):.1%}")
    Console(width=60).print(table)
    return 0


def _throughput(workers: int, chosen: argparse.Namespace, log: Log) -> float:
    """Return the runs a second of this number of workers."""
    with (
        tempfile.TemporaryDirectory(prefix="candor-workers-") as work,
        machines(Path(work), workers, 1, chosen.runs, DELAY_S, log) as running,
        closing(Postgres(running.postgres.url)) as database,
    ):
        with httpx.Client(base_url=running.service.url, timeout=LIMIT_S) as http:
            prepare(http)
            for number in range(chosen.jobs):
                ask(http, number)
        running.service.stop()
        with started(running.workers):
            began = time.time()
            wait_until(lambda: len(finish_times(database)) == chosen.jobs)
        own = [at for at in finish_times(database) if at > began]
        first, last = own[len(own) // 10], own[len(own) * 9 // 10]
        rate = (len(own) * 9 // 10 - len(own) // 10) / (last - first)
        log(f"{workers} workers: {chosen.jobs} runs, {rate:.2f} runs a second")
        return rate


def _kill(chosen: argparse.Namespace, log: Log) -> int:
    submitted = Submitted(COLLECTION)
    with (
        tempfile.TemporaryDirectory(prefix="candor-workers-") as work,
        machines(Path(work), KILLED_WORKERS, NODES, chosen.runs, DELAY_S, log) as running,
    ):
        return (_check_ingests if chosen.ingests else _check_kills)(running, submitted, chosen, log)


def _check_ingests(running: Machines, submitted: Submitted, chosen: argparse.Namespace, log: Log) -> int:
    kills = Kills(running, chosen.seed, log, restarts=2)
    began = time.monotonic()
    with started(running.workers), httpx.Client(base_url=running.service.url, timeout=LIMIT_S) as http:
        prepare(http)
        with kills.running():
            upload(http, submitted, chosen.files, max(1, chosen.files // chosen.jobs))
            wait_until_quiet(http)
            wait_until(lambda: not kills.restarts)
            wait_until_quiet(http)
        seconds = time.monotonic() - began
        problems = [f"job {job['id']} failed: {job['error']}" for job in jobs(http, "failed")]
    with closing(Postgres(running.postgres.url)) as database:
        problems += check(database, running.nodes[0].url, submitted)
    table = Table("", "")
    table.add_row("uploads, files", f"{len(submitted.ingests)}, {chosen.files} in {seconds:.0f} s")
    table.add_row("killed workers, services", f"{kills.workers}, {kills.services}")
    table.add_row("restarts of Postgres", str(kills.restarted))
    return _report(table, problems, log)


def _check_kills(running: Machines, submitted: Submitted, chosen: argparse.Namespace, log: Log) -> int:
    kills, searches = Kills(running, chosen.seed, log), Searches(running.service.url)
    followers: list[Follower] = []
    began = time.monotonic()
    with started(running.workers), httpx.Client(base_url=running.service.url, timeout=LIMIT_S) as http:
        prepare(http)
        with searches.running(), kills.running():
            upload(http, submitted, chosen.files)
            for number in range(chosen.jobs):
                run_id = ask(http, number)
                submitted.runs[f"run {number}"] = [run_id]
                if number % FOLLOWED == 0:
                    followers.append(Follower(running.service.url, run_id))
            wait_until_quiet(http)
        seconds = time.monotonic() - began
        failed = [f"job {job['id']} failed: {job['error']}" for job in jobs(http, "failed")]
        problems = [*failed, *searches.failures, *itertools.chain(*(each.problems() for each in followers))]
    with closing(Postgres(running.postgres.url)) as database:
        problems += check(database, running.nodes[0].url, submitted)
        stored = calls(database)
    late = percentiles([each for follower in followers for each in follower.late_s])
    searched = percentiles(searches.seconds)
    table = Table("", "")
    table.add_row("questions, files", f"{chosen.jobs}, {chosen.files} in {seconds:.0f} s")
    table.add_row("killed workers, nodes", f"{kills.workers}, {kills.nodes}")
    table.add_row("model calls stored", str(stored))
    table.add_row("searches, failed", f"{len(searches.seconds)}, {len(searches.failures)}")
    table.add_row("search: median, p95, slowest", " ".join(f"{1000 * each:,.0f} ms" for each in searched))
    table.add_row("event: median, p95, slowest", " ".join(f"{1000 * each:,.0f} ms" for each in late))
    return _report(table, problems, log)


def _report(table: Table, problems: Sequence[str], log: Log) -> int:
    table.add_row("problems", str(len(problems)))
    Console(width=80).print(table)
    for problem in problems:
        log(f"PROBLEM: {problem}")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
