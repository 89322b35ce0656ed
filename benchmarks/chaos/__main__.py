"""Kill processes of the service, fill its disk and move its clock while clients use it; then check what is left.

    python -m benchmarks.chaos --minutes 20 --seed 1 --log chaos.log

`candor serve` runs on a temporary data folder, with a scripted model endpoint in its own process. Clients submit runs,
uploads, deletions and evaluations over REST, and repeat every request until it is acknowledged. Every few seconds one
fault happens: SIGKILL of the service, of one of its child processes, or of the model endpoint; a frozen process; a full
disk (root only); a jump of `time.time`. The seed chooses the requests and faults, not their timing. At the end all
faults are undone, failed files are tried again, and `checker.py` reads the data folder of the stopped service. The exit
status is 1 if it finds a problem.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

import httpx

from benchmarks.chaos import faults
from benchmarks.chaos.checker import check, check_service, report
from benchmarks.chaos.clients import Clients
from benchmarks.chaos.faults import Faults, small_disk
from benchmarks.chaos.log import Log
from benchmarks.chaos.processes import Model, Service
from benchmarks.chaos.submitted import Submitted

COLLECTION = "chaos"
BETWEEN_S = (2.0, 20.0)
QUIET_S = 1200
"""How long the service may take to finish its jobs after the last fault."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--minutes", type=float, default=20)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--log", type=Path, default=Path("chaos.log"))
    options.add_argument("--keep", type=Path, help="work in this new folder, and keep it (a mounted disk is lost)")
    chosen = options.parse_args()
    log = Log(chosen.log)
    log(f"seed {chosen.seed}, {chosen.minutes:g} minutes")
    if chosen.keep:
        chosen.keep.mkdir(parents=True)
        return _run(chosen.keep, chosen, log)
    with tempfile.TemporaryDirectory(prefix="candor-chaos-") as work:
        return _run(Path(work), chosen, log)


def _run(work: Path, chosen: argparse.Namespace, log: Log) -> int:
    disk = work / "disk"
    disk.mkdir()
    with small_disk(disk) as mounted:
        if not mounted:
            log(faults.NO_DISK)
        log(faults.NO_SLOW_DISK)
        model = Model()
        service = Service(disk / "home", work, model, log)
        model.start()
        service.start()
        try:
            return _test(service, model, work, chosen, log, disk if mounted else None)
        finally:
            model.kill()
            service.process.kill()
            service.process.wait()


def _test(service: Service, model: Model, work: Path, chosen: argparse.Namespace, log: Log, disk: Path | None) -> int:
    submitted = Submitted(COLLECTION)
    service.wait_until_up()
    clients = Clients(service.url, submitted, chosen.seed, log)
    _prepare(service)
    clients.start()
    struck = _strike(service, Faults(service, model, random.Random(chosen.seed), disk), 60 * chosen.minutes, log)
    service.clock.write_text("0")
    service.wait_until_up()
    clients.stop(QUIET_S)
    log(f"{struck} faults; {len(submitted.runs)} runs, {len(submitted.ingests)} uploads, "
        f"{len(submitted.evaluations)} evaluations; responses: {dict(sorted(clients.responses.items()))}")  # fmt: skip
    with httpx.Client(base_url=service.url, timeout=QUIET_S) as http:
        _settle(http, log)
        problems = list(check_service(http, submitted))
        log(f"states of jobs: {_states(http)}")
    log(f"the service stopped with exit status {service.stop()}")
    (work / "submitted.json").write_text(json.dumps(submitted.plain()))
    problems += check(service.home, submitted)
    for error in service.errors():
        log(f"logged by the service: {error}")
    for problem in problems:
        log(f"PROBLEM: {problem}")
    log(f"{len(problems)} problems")
    return report(problems)


def _prepare(service: Service) -> None:
    """Create the collection, which questions need."""
    with httpx.Client(base_url=service.url, timeout=QUIET_S) as http:
        first = ("first.md", "# First\n\nThe pump works down to -5 degrees.\n")
        http.post(f"/v1/collections/{COLLECTION}/documents", files={"files": first}).raise_for_status()
        _wait_until_quiet(http)


def _strike(service: Service, faults: Faults, seconds: float, log: Log) -> int:
    """Cause faults until the time is up. Return their number."""
    end, struck = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        pause = time.monotonic() + random.uniform(*BETWEEN_S)
        while time.monotonic() < pause:
            service.keep_running()
            time.sleep(0.2)
        log(faults.strike())
        struck += 1
        service.wait_until_up()
    return struck


def _settle(http: httpx.Client, log: Log) -> None:
    """Wait until all jobs have ended. Retry failed files and evaluations."""
    _wait_until_quiet(http)
    log("all jobs have ended; failed files are tried again")
    retried = http.post(f"/v1/collections/{COLLECTION}/ingest", json={"retry_failed": True})
    if retried.status_code != 202 and retried.json()["detail"] != "No file has failed.":
        log(f"PROBLEM: failed files cannot be tried again: {retried.text}")
    for job in _jobs(http, "failed"):
        log(f"failed job {job['id']}: {job['error']}")
        if job["kind"] == "evaluation":
            http.post(f"/v1/evaluations/{job['id']}/resume", json={}).raise_for_status()
    _wait_until_quiet(http)


def _wait_until_quiet(http: httpx.Client) -> None:
    end = time.monotonic() + QUIET_S
    while unended := [*_jobs(http, "waiting"), *_jobs(http, "running")]:
        if time.monotonic() > end:
            raise TimeoutError(f"{len(unended)} jobs have not ended: {unended}")
        time.sleep(1)


def _jobs(http: httpx.Client, status: str) -> list[dict[str, str]]:
    response = http.get("/v1/jobs", params={"status": status, "limit": 1000}).raise_for_status()
    found: list[dict[str, str]] = response.json()
    return found


def _states(http: httpx.Client) -> dict[str, int]:
    return {status: len(_jobs(http, status)) for status in ("waiting", "running", "done", "failed", "cancelled")}


if __name__ == "__main__":
    sys.exit(main())
