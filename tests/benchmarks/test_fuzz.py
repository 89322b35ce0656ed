"""Short searches for inputs that Candor handles wrongly. ``python -m benchmarks.fuzz`` searches for longer."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import strategies as st

from benchmarks.fuzz import liveness, plans, quotes, references
from benchmarks.fuzz.__main__ import search
from benchmarks.fuzz.liveness import WAYS, Attack, live_service, text_of
from benchmarks.fuzz.search import ROOT, Batch, Property, search_all

EXAMPLES = 60
SEED = 1


@pytest.mark.parametrize("each", quotes.PROPERTIES, ids=lambda each: each.name)
def test_quotes_in_any_text(each: Property) -> None:
    each.search(SEED, EXAMPLES)


@pytest.mark.parametrize("each", plans.PROPERTIES, ids=lambda each: each.name)
def test_any_json_as_a_plan(each: Property) -> None:
    each.search(SEED, EXAMPLES)


@pytest.mark.parametrize("each", references.PROPERTIES, ids=lambda each: each.name)
def test_references_in_any_value(each: Property) -> None:
    each.search(SEED, EXAMPLES)


def no_seven(example: int) -> None:
    assert example != 7


WRONG = Property(st.integers(0, 20), no_seven)


def test_a_finding_is_kept_once_with_the_command_that_repeats_it(tmp_path: Path) -> None:
    seeds: list[int] = []

    def batch_of(seed: int) -> Batch:
        seeds.append(seed)
        return search_all([WRONG], seed, examples=200)

    outcome = search("numbers", batch_of, minutes=0.01, seed=5, out=tmp_path / "out")
    assert seeds == [*range(5, 5 + len(seeds))]
    assert list(outcome.found.values()) == [len(seeds)], "each batch finds the same defect"
    [report] = (tmp_path / "out").iterdir()
    text = report.read_text()
    assert text.startswith("no_seven: AssertionError at tests/benchmarks/test_fuzz.py:")
    assert "python -m benchmarks.fuzz --target numbers --seed 5 --minutes 0" in text
    assert "Example: 7" in text


def test_the_same_seed_gives_the_same_examples() -> None:
    def examples_of(seed: int) -> list[Any]:
        examples: list[Any] = []
        Property(references.VALUES, examples.append).search(seed, 20)
        return examples

    assert examples_of(3) == examples_of(3)
    assert examples_of(3) != examples_of(4)


def test_the_command_reports_what_it_did(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.fuzz", "--target", "references", "--minutes", "0", "--out", "out"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:6] == ["target", "cases", "minutes", "findings", "references", "1,800"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["search", "cancel", "question", "/healthz"])
def test_a_service_that_answers_but_hangs_is_found(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A service in which jobs of some kind never end, or that does not answer, is no live one."""
    monkeypatch.setattr(liveness, "LIMIT_S", 0.2)

    def answer(request: httpx.Request) -> httpx.Response:
        path, text = request.url.path, request.content.decode(errors="replace")
        if path == f"/v1/{name}" or path == name:
            raise httpx.ReadTimeout("no answer")
        hangs = (name == "question" and path == "/v1/jobs/known") or (name == "cancel" and path == "/v1/jobs/hostile")
        run = "known" if liveness.QUESTION in text else "hostile"
        return httpx.Response(200, json={"id": "upload", "run_id": run, "status": "running" if hangs else "done"})

    with httpx.Client(transport=httpx.MockTransport(answer), base_url="http://candor") as http:
        attack = Attack.__new__(Attack)
        attack._http = http
        waits = {"question": "known", "cancel": "hostile"}
        with pytest.raises((TimeoutError, httpx.ReadTimeout), match=waits.get(name, "no answer")):
            attack.try_text(Attack.question, "{" * 800, cancels=True)


def test_a_live_service_passes() -> None:
    """As many texts as there are ways into a real service are tried, each on a chosen way."""
    with live_service(len(WAYS)) as attack:
        assert attack(SEED).findings == ()


def test_hostile_texts_of_a_seed_are_the_same_and_some_are_long() -> None:
    texts = [[text_of(random.Random(seed)) for seed in range(100)] for _ in range(2)]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) > 90
    assert min(map(len, texts[0])) < 20 < 10_000 < max(map(len, texts[0])) <= 100_000
