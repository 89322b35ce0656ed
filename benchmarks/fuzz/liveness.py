"""Send hostile texts to the service, and check that other requests still end.

A text that no test thought of goes into a question, a follow-up question, a template, a saved plan, a fork, an import,
a search, or the questions that a collection suggests. After each one, ``/healthz``, a search and another question must
end, and the run of the text must end when it is cancelled. After each batch, the service must end on SIGTERM. Status
codes do not count: a service whose research process hangs responds as before.
"""

from __future__ import annotations

import gzip
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from benchmarks.fuzz.search import ROOT, Batch, Finding

sys.path.append(str(ROOT / "tests"))  # for the scripted model
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, ServiceProcess, model

LIMIT_S = 120.0
"""For everything that must end. A healthy service on a busy machine needs a few seconds."""
_PIECES = [
    "@", "@{", "${", "{", "{{", "}", "}}", "@{question}", "@{inputs.town}", "@{outputs.find.names}", "[", "[1]", "|",
    "(", "<", "</", "a", "1", ",", ".", "?", " ", "\n", "\t", "-", '"', "'", "\\", "\u200b", "\u0301", "\u202e", "\x00",
    "é", "日本", "½", "<|im_end|>", "What is a pump? ", "and ", "1,", "a.", "2024 ", "(a", "“",
]  # fmt: skip
_LONGEST = 100_000
_FIND = {"id": "find", "agents": ["Retriever"], "instruction": "Find it in @{inputs.town}."}
_ANSWER = {"id": "answer", "agents": ["Synthesizer"], "instruction": "Answer.", "needs": ["find"], "final": True}
_TOWN = {"name": "town", "meaning": "where it is", "default": "Halden"}


def text_of(chosen: random.Random) -> str:
    """Return some pieces in a row, of which some are repeated up to thousands of times."""
    counts = [1, 1, 1, 2, 5, 300, 5_000, 30_000]
    pieces = [chosen.choice(_PIECES) * chosen.choice(counts) for _ in range(chosen.randint(1, 6))]
    return "".join(pieces)[: chosen.choice([200, 3_000, _LONGEST])]


class Attack:
    """The ways in which a text reaches the service. Each one returns the id of the run that it started, if any."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        files = {"files": ("pumps.md", "# Pumps\n\nThe Borea 12 works down to -25 °C.\n")}
        self.wait_for(http.post("/v1/collections/papers/documents", files=files).json()["id"])
        self._known = self.ask(question=QUESTION)
        self.wait_for(self._known)

    def wait_for(self, job: str) -> None:
        """Wait until a job has ended. Raises TimeoutError."""
        end = time.monotonic() + LIMIT_S
        while self._http.get(f"/v1/jobs/{job}").json()["status"] in ("waiting", "running"):
            if time.monotonic() > end:
                raise TimeoutError(f"job {job} does not end")
            time.sleep(0.05)

    def ask(self, **fields: Any) -> str:
        """Start a run, and return its id; empty if the request is refused."""
        request = {"question": QUESTION, "collection": "papers", "wait": False, **fields}
        return str(self._post("/v1/research", request).get("run_id", ""))

    def question(self, text: str) -> str:
        return self.ask(question=text)

    def fast_question(self, text: str) -> str:
        return self.ask(question=text, mode="fast")

    def follow_up(self, text: str) -> str:
        return self.ask(question=text, continues=self._known)

    def template(self, text: str) -> str:
        name = self._save("@{question}", "Find it in @{inputs.town}.")
        return self.ask(question=text, template=name, inputs={"town": text})

    def plan(self, text: str) -> str:
        return self.ask(template=self._save(text, text))

    def fork(self, text: str) -> str:
        change = {
            "step": "answer",
            "instruction": text,
            "prompts": {"Synthesizer": f"# System\n\n{text}\n\n# User\n\n{text}"},
        }
        return str(self._post(f"/v1/runs/{self._known}/fork", change).get("run_id", ""))

    def _save(self, query: str, instruction: str) -> str:
        """Save a plan with these texts, and return its name."""
        name = f"plan {random.getrandbits(48):x}"
        inputs = {"method": "search", "documents": [], "queries": [query]}
        plan = {
            "goal": query,
            "steps": [{**_FIND, "instruction": instruction, "inputs": inputs}, _ANSWER],
            "parameters": [_TOWN],
        }
        self._post("/v1/plans", {"name": name, "question": QUESTION, "plan": plan, "collection": "papers"})
        return name

    def imported(self, text: str) -> str:
        exported = self._http.get(f"/v1/runs/{self._known}/export", params={"format": "run"})
        other = f"run_{random.getrandbits(48):012x}"
        changed = gzip.decompress(exported.content).decode().replace(self._known, other)
        changed = changed.replace(json.dumps(QUESTION)[1:-1], json.dumps(text)[1:-1])
        added = self._http.post("/v1/runs/import", content=gzip.compress(changed.encode()))
        if added.is_success:
            for page in ("conversation", "events", "export?format=html"):
                self._http.get(f"/v1/runs/{other}/{page}")
        return other if added.is_success else ""

    def search(self, text: str) -> str:
        self._post("/v1/search", {"collection": "papers", "query": text})
        self._post("/v1/search/count", {"collection": "papers", "query": text})
        return ""

    def suggested(self, text: str) -> str:
        name = "".join(letter for letter in text if letter.isprintable() and letter not in "/\\")[:50] or "x"
        files = {"files": (f"{name}.md", text.encode("utf-8", "replace"))}
        uploaded = self._http.post("/v1/collections/hostile/documents", files=files)
        if uploaded.status_code == 202:
            self.wait_for(uploaded.json()["id"])
            self._http.post("/v1/collections/hostile/suggestions")
        return ""

    def cancel(self, run: str) -> None:
        self._http.post(f"/v1/runs/{run}/cancel")
        self.wait_for(run)

    def try_text(self, way: Callable[[Attack, str], str], text: str, *, cancels: bool) -> None:
        """Send the text, and check that everything ends. Raises an error if something does not."""
        run = way(self, text)
        if run and cancels:
            self.cancel(run)
        self.check_alive()

    def check_alive(self) -> None:
        """Raises an error if something does not end."""
        self._http.get("/healthz").raise_for_status()
        self._http.post("/v1/search", json={"collection": "papers", "query": "pump"}).raise_for_status()
        self.wait_for(self.ask(question=QUESTION))

    def _post(self, path: str, content: Any) -> dict[str, Any]:
        response = self._http.post(path, json=content)
        return response.json() if response.is_success and isinstance(response.json(), dict) else {}


WAYS: tuple[Callable[[Attack, str], str], ...] = (
    Attack.question, Attack.fast_question, Attack.follow_up, Attack.template, Attack.plan, Attack.fork, Attack.imported,
    Attack.search, Attack.suggested,
)  # fmt: skip


@contextmanager
def live_service(attacks: int = 30) -> Iterator[Callable[[int], Batch]]:
    """Start `candor serve` with a scripted model for each batch, with this number of attacks."""
    with tempfile.TemporaryDirectory() as folder, ScriptedEndpoint(model) as endpoint:
        settings = endpoint.settings("openai")
        environment = {
            "CANDOR_LLM__PROVIDER": "openai", "CANDOR_LLM__BASE_URL": settings.address,
            "CANDOR_LLM__MODEL": settings.model, "CANDOR_LLM__CONTEXT_WINDOW": "32000",
        }  # fmt: skip

        def attack(seed: int) -> Batch:
            with ServiceProcess(Path(folder) / str(seed), **environment) as service:
                findings = list(_attack(service, random.Random(seed), attacks))
            return Batch(attacks, tuple(findings))

        yield attack


def _attack(service: ServiceProcess, chosen: random.Random, attacks: int) -> Iterator[Finding]:
    service.http.timeout = httpx.Timeout(LIMIT_S)
    attack = Attack(service.http)
    for way in chosen.choices(WAYS, k=attacks):
        text = text_of(chosen)
        try:
            attack.try_text(way, text, cancels=chosen.random() < 0.5)
        except Exception as error:  # noqa: BLE001 - every error is a finding
            named = f"{way.__name__}: {type(error).__name__}: {str(error)[:100]}"
            yield Finding(named, f"{text!r}\n\n{traceback.format_exc()}")
            return
    service.process.send_signal(signal.SIGTERM)
    try:
        service.process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        yield Finding("SIGTERM does not end the service", f"It runs after {LIMIT_S:.0f} s.")
