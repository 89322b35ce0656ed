"""The load: questions and files that are submitted, searches, and clients that follow runs."""

from __future__ import annotations

import hashlib
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import httpx

from benchmarks.chaos.clients import TOPICS
from benchmarks.chaos.submitted import Submitted, Upload
from multi_agent.values.events import Event

COLLECTION = "machines"
FIRST = ("first.md", "# First\n\nThe pump works down to -5 degrees.\n")
BATCH = 300
PAUSE_S = 0.3
SEARCH_PAUSE_S = 0.2
LIMIT_S = 1800
OPEN = ("waiting", "running")


def prepare(http: httpx.Client) -> None:
    """Create the collection with one document."""
    job = http.post(f"/v1/collections/{COLLECTION}/documents", files={"files": FIRST}).raise_for_status().json()["id"]
    wait_until(lambda: http.get(f"/v1/jobs/{job}").raise_for_status().json()["status"] not in OPEN)
    if jobs(http, "failed"):
        raise SystemExit(f"The first ingest failed: {jobs(http, 'failed')}")


def ask(http: httpx.Client, number: int) -> str:
    """Submit the question with this number. Return the id of its run."""
    question = f"Question {number}: how cold may the {TOPICS[number % len(TOPICS)]} get?"
    asked = {"question": question, "collection": COLLECTION, "mode": "fast", "wait": False}
    response = http.post("/v1/research", json=asked, headers={"Idempotency-Key": f"run {number}"})
    return str(response.raise_for_status().json()["run_id"])


def upload(http: httpx.Client, submitted: Submitted, files: int, size: int = BATCH) -> None:
    """Upload small files in batches of ``size``. Each batch is one ingest job."""
    texts = {
        f"file-{number}.md": f"# File {number}\n\nThe {TOPICS[number % len(TOPICS)]} works down to -{number} degrees.\n"
        for number in range(files)
    }
    names = list(texts)
    for first in range(0, files, size):
        batch = names[first : first + size]
        sent = [("files", (name, texts[name])) for name in batch]
        job = _post(http, sent, f"upload {first}")["id"]
        submitted.ingests[f"upload {first}"] = [job]
        for name in batch:
            submitted.uploads[name].append(Upload(hashlib.sha256(texts[name].encode()).hexdigest(), job))


def _post(http: httpx.Client, sent: list[Any], key: str) -> dict[str, Any]:
    """Send an upload until it is accepted. A service that was killed, or whose database is away, accepts nothing."""
    for _ in retrying():
        with suppress(httpx.TransportError):
            path, headers = f"/v1/collections/{COLLECTION}/documents", {"Idempotency-Key": key}
            response = http.post(path, files=sent, headers=headers)
            if response.status_code < 500:
                accepted: dict[str, Any] = response.raise_for_status().json()
                return accepted
    raise TimeoutError(f"{key} was not accepted within {LIMIT_S} s.")


def retrying(pause_s: float = 0.5) -> Iterator[None]:
    """Yield for each attempt, until ``LIMIT_S`` is over."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        yield
        time.sleep(pause_s)


def wait_until_quiet(http: httpx.Client) -> None:
    """Wait until all jobs have ended."""
    wait_until(lambda: not jobs(http, *OPEN), pause_s=1)


def jobs(http: httpx.Client, *states: str) -> list[dict[str, Any]]:
    """Return the jobs in these states, with one request: a job can change from running to waiting in between."""
    query: dict[str, Any] = {"status": states, "limit": 1000}
    for _ in retrying():
        with suppress(httpx.TransportError):
            response = http.get("/v1/jobs", params=query)
            if response.status_code < 500:
                found: list[dict[str, Any]] = response.raise_for_status().json()
                return found
    raise TimeoutError(f"The service did not list its jobs within {LIMIT_S} s.")


def wait_until(condition: Callable[[], object], pause_s: float = 0.1) -> None:
    """Wait until the condition holds. Raises TimeoutError after ``LIMIT_S``."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"Not finished within {LIMIT_S} s.")
        time.sleep(pause_s)


class Searches:
    """Searches one after the other, with their durations and failures."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._ended = threading.Event()
        self.seconds: list[float] = []
        self.failures: list[str] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Search until the end of the block."""
        thread = threading.Thread(target=self._search, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _search(self) -> None:
        asked = {"query": "How cold may the pump get?", "collection": COLLECTION}
        with httpx.Client(base_url=self._url, timeout=120) as http:
            while not self._ended.wait(SEARCH_PAUSE_S):
                began = time.monotonic()
                try:
                    response = http.post("/v1/search", json=asked)
                    if response.status_code != 200 or not response.json():
                        self.failures.append(f"a search got {response.status_code}: {response.text[:200]}")
                except httpx.TransportError as error:
                    self.failures.append(f"a search got {error!r}")
                self.seconds.append(time.monotonic() - began)


class Follower:
    """A client that follows one run, with the numbers of its events and how late each arrived."""

    def __init__(self, url: str, run_id: str) -> None:
        self.run_id = run_id
        self.numbers: list[int] = []
        self.late_s: list[float] = []
        self._url = url
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def problems(self) -> Iterator[str]:
        """Wait for the end of the stream. Yield what was lost or repeated."""
        self._thread.join(LIMIT_S)
        if not self.numbers or self.numbers != list(range(1, len(self.numbers) + 1)):
            yield f"the stream of run {self.run_id} had the events {self.numbers}"

    def _follow(self) -> None:
        opened = datetime.now(UTC)
        with (
            suppress(httpx.TransportError),
            httpx.stream("GET", f"{self._url}/v1/runs/{self.run_id}/events", timeout=LIMIT_S) as response,
        ):
            for line in response.iter_lines():
                if line.startswith("data: "):
                    event = Event.model_validate_json(line.removeprefix("data: "))
                    self.numbers.append(event.number)
                    if event.at > opened:
                        self.late_s.append((datetime.now(UTC) - event.at).total_seconds())


def percentiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median, the 95th percentile and the maximum."""
    cuts = statistics.quantiles(values, n=20) if len(values) > 1 else list(values) * 19
    return statistics.median(values), cuts[18], max(values)
