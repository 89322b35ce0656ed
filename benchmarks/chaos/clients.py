"""Clients that submit runs, uploads and evaluations. Each retries a request until the service acknowledges it."""

from __future__ import annotations

import hashlib
import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx

from benchmarks.chaos.submitted import Submitted, Upload

FILES = 30
REPEATED = 0.2
"""Share of acknowledged requests that are sent again with the same idempotency key."""
CANCELLED, DELETED = 0.1, 0.05
PAUSE_S = {"runs": 3.0, "uploads": 4.0, "evaluations": 60.0}
TOPICS = ("pump", "compressor", "boiler", "valve", "turbine")


class Clients:
    """Sends each kind of request in its own thread. ``responses`` counts status codes and connection errors."""

    def __init__(self, url: str, submitted: Submitted, seed: int, say: Callable[[str], None]) -> None:
        self._url, self._submitted, self._seed, self._say = url, submitted, seed, say
        self._ended = threading.Event()
        self.responses: Counter[str] = Counter()
        kinds = {"runs": self._ask, "uploads": self._upload, "evaluations": self._evaluate}
        self._threads = [
            threading.Thread(target=self._repeat, args=(kind, act), name=kind, daemon=True)
            for kind, act in kinds.items()
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self, limit_s: float) -> None:
        """Wait until the service has acknowledged all requests that were sent. Raises TimeoutError."""
        self._ended.set()
        for thread in self._threads:
            thread.join(limit_s)
            if thread.is_alive():
                raise TimeoutError(f"A request of the client for {thread.name} was not acknowledged in {limit_s} s.")

    def _repeat(self, kind: str, act: Callable[[httpx.Client, random.Random, int], None]) -> None:
        chosen, number = random.Random(f"{self._seed} {kind}"), 0
        with httpx.Client(base_url=self._url, timeout=60) as http:
            while not self._ended.wait(chosen.uniform(0, 2 * PAUSE_S[kind])):
                number += 1
                try:
                    act(http, chosen, number)
                except Exception as error:
                    self._say(f"FINDING: the client for {kind} failed: {error!r}")
                    raise

    def _send(self, http: httpx.Client, method: str, path: str, **content: Any) -> httpx.Response:
        """Retry the request until the service responds with a status other than 503."""
        while True:
            try:
                response = http.request(method, path, **content)
            except httpx.TransportError as error:
                self.responses[type(error).__name__] += 1
            else:
                self.responses[f"{method} {response.status_code}"] += 1
                if response.status_code < 500:
                    return response
                if response.status_code != 503:
                    self._say(f"{method} {path}: {response.status_code} {response.text[:300]}")
            threading.Event().wait(0.3)

    def _ask(self, http: httpx.Client, chosen: random.Random, number: int) -> None:
        topic, file = chosen.choice(TOPICS), chosen.randrange(FILES)
        asked = {"question": f"Question {number}: how cold may the {topic} of file {file} get?", "wait": False}
        asked |= {"collection": self._submitted.collection}
        run = self._acknowledged(self._submitted.runs, f"run {number}", chosen, lambda key: self._send(
            http, "POST", "/v1/research", json=asked, headers={"Idempotency-Key": key}))  # fmt: skip
        if run and chosen.random() < CANCELLED:
            self._send(http, "POST", f"/v1/runs/{run}/cancel")

    def _upload(self, http: httpx.Client, chosen: random.Random, number: int) -> None:
        name = f"file-{chosen.randrange(FILES)}.md"
        with self._submitted.lock:
            known = list(self._submitted.uploads)
        if known and chosen.random() < DELETED:
            return self._delete(http, chosen.choice(known))
        text = document(name, number, chosen)
        job = self._acknowledged(self._submitted.ingests, f"upload {number}", chosen, lambda key: self._send(
            http, "POST", f"/v1/collections/{self._submitted.collection}/documents", files={"files": (name, text)},
            headers={"Idempotency-Key": key}))  # fmt: skip
        if job:
            with self._submitted.lock:
                self._submitted.uploads[name].append(Upload(hashlib.sha256(text.encode()).hexdigest(), job))
            self._wait(http, job)  # the order of two ingests of one file is not defined
        return None

    def _wait(self, http: httpx.Client, job: str) -> None:
        while self._send(http, "GET", f"/v1/jobs/{job}").json().get("status") in ("waiting", "running"):
            threading.Event().wait(0.5)

    def _delete(self, http: httpx.Client, name: str) -> None:
        where = {"collection": self._submitted.collection}
        listed = self._send(http, "GET", "/v1/documents", params={**where, "limit": 1000}).json()
        for known in listed:
            if known["name"] == name and known["state"] == "indexed":
                done = self._send(http, "DELETE", f"/v1/documents/{known['id']}", params=where)
                if done.status_code in (200, 404):  # 404: the response to an earlier request was lost
                    with self._submitted.lock:
                        self._submitted.uploads[name].append(Upload("", ""))

    def _evaluate(self, http: httpx.Client, chosen: random.Random, number: int) -> None:
        questions = [
            {"id": f"q{each}", "question": f"Evaluation {number}: how heavy is the {topic}?", "accepted": ["1"]}
            for each, topic in enumerate(TOPICS)
        ]
        asked = {"collection": self._submitted.collection, "questions": questions, "parallel": 2}
        try:  # without an idempotency key: a lost response may have started an evaluation
            response = http.post("/v1/evaluations", json=asked)
        except httpx.TransportError:
            return
        self.responses[f"evaluation {response.status_code}"] += 1
        if response.status_code == 202:
            with self._submitted.lock:
                self._submitted.evaluations.append(response.json()["id"])

    def _acknowledged(
        self, ids: dict[str, list[str]], key: str, chosen: random.Random, send: Callable[[str], httpx.Response]
    ) -> str:
        """Send a request, sometimes twice, and record its job ids. Return the first id, or an empty text."""
        for _ in range(1 + (chosen.random() < REPEATED)):
            response = send(key)
            if response.status_code != 202:
                self._say(f"{key} was refused: {response.status_code} {response.text[:300]}")
                break
            body = response.json()
            with self._submitted.lock:
                ids[key].append(body.get("run_id") or body["id"])
        return ids[key][0] if ids.get(key) else ""


def document(name: str, number: int, chosen: random.Random) -> str:
    """Return Markdown with a random topic and number, as a new version of the file."""
    sections = [
        f"## Section {each}\n\n" + f"The {chosen.choice(TOPICS)} of {name}, version {number}, works down to "
        f"-{chosen.randrange(90)} degrees and weighs {chosen.randrange(900)} kilograms. " * 8
        for each in range(chosen.randint(1, 12))
    ]
    return f"# {name}, version {number}\n\n" + "\n\n".join(sections) + "\n"
