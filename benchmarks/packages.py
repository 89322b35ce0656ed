"""Measure what packages cost where Candor does a part of their work itself. Prints CPU time in ms.

    python -m benchmarks.packages

- instructor: a call with the type and schema that Candor derives once, and with those of every call.
- instructor: claims of an answer that is being written, by `draft_callback` and by `instructor.Partial`.
- sentence-transformers: `candor search`, a further query of a process, and `candor ingest` of the sample documents and
  of 300 notes, with the bundled model as Candor computes it, and by the library alone. Median of three.
"""

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import instructor
from pydantic import BaseModel

from multi_agent.agents.reader import ReaderAnswer
from multi_agent.grounding.draft_claims import _draft_model, _parse_complete_claims
from multi_agent.llm.responses.typed import _instructed
from vectorstore.embedding.embedder import make_embedder
from vectorstore.embedding.model_folder import bundled_model
from vectorstore.settings import DEFAULT_MODEL, EmbeddingSettings

CALLS = 50
CLAIMS = 10
TOKEN = 4  # characters
ANSWER = json.dumps(
    {
        "short": "-25 °C",
        "claims": [
            {"sentences": [n], "text": f"The Borea {n} works down to -25 °C, by its manual."} for n in range(CLAIMS)
        ],
        "missing": "",
        "sufficient": True,
    }
)
QUERY = "heat pump below zero"
ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "sample_docs" / "documents"
NOTES, WORDS = 300, 120
ROUNDS = 3


async def call(response_model: type[BaseModel]) -> float:
    """Return the median CPU time of a call that instructor validates."""

    async def create(**_: Any) -> SimpleNamespace:
        message = SimpleNamespace(role="assistant", content=ANSWER)
        return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="stop")])

    ask: Any = instructor.patch(create=create, mode=instructor.Mode.JSON_SCHEMA)
    times = []
    for _ in range(CALLS):
        started = time.process_time()
        await ask(response_model=response_model, messages=[{"role": "user", "content": "?"}], strict=False)
        times.append((time.process_time() - started) * 1000)
    return statistics.median(times)


def by_partial() -> int:
    """Return the number of claims that ``instructor.Partial`` has seen."""
    chunks = (ANSWER[at : at + TOKEN] for at in range(0, len(ANSWER), TOKEN))
    partial: Any = instructor.Partial[ReaderAnswer]
    return max(len(each.claims or ()) for each in partial.model_from_chunks(chunks))


def by_draft() -> int:
    """Return the number of claims that Candor's draft of an answer has seen."""
    model: Any = _draft_model(ReaderAnswer)
    seen = start = 0
    for end in range(TOKEN, len(ANSWER) + TOKEN, TOKEN):
        if response := _parse_complete_claims(ANSWER[:end], start):
            seen = len(model.model_validate(response).claims)
        start = end
    return seen


def timed(stream: Any) -> float:
    stream()  # derives the type
    started = time.process_time()
    assert stream() == CLAIMS
    return (time.process_time() - started) * 1000


def further_query(settings: EmbeddingSettings) -> float:
    """Return the median CPU time of a query after the first."""
    embedder, times = make_embedder(settings), []
    for _ in range(CALLS):
        started = time.process_time()
        embedder.embed_query(f"{QUERY} {_}")
        times.append((time.process_time() - started) * 1000)
    return statistics.median(times)


def command(model: str, home: Path, *arguments: str | Path) -> float:
    """Return the CPU time of a command with the embedding model, with its child processes, in seconds."""
    environment = {**os.environ, "CANDOR_STORE__EMBEDDING__MODEL": model, "CANDOR_HOME": str(home)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "api.cli", *map(str, arguments)], env=environment, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(model: str) -> Iterator[tuple[str, float]]:
    """Yield what a command did, and the median of its CPU time."""
    words = " ".join(file.read_text() for file in sorted((ROOT / "docs").glob("*.md"))).split()
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.mkdir()
        for number in range(NOTES):
            text = words[number * WORDS : (number + 1) * WORDS]
            (notes / f"{number}.txt").write_text(" ".join(text))
        homes = [Path(folder) / f"home{number}" for number in range(ROUNDS)]
        for name, documents in (("the sample documents", SAMPLES), (f"{NOTES} notes", notes)):
            times = [command(model, home, "ingest", documents, "-c", documents.name) for home in homes]
            yield f"ingest of {name}", statistics.median(times)
        yield "search", statistics.median(command(model, home, "search", QUERY, "-c", "notes") for home in homes)


def main() -> None:
    print(f"instructor, a call: derived once {asyncio.run(call(_instructed(ReaderAnswer))):.1f} ms")
    print(f"instructor, a call: derived in every call {asyncio.run(call(ReaderAnswer)):.1f} ms")
    print(f"{CLAIMS} claims in {len(ANSWER) // TOKEN} tokens: draft {timed(by_draft):.1f} ms")
    print(f"{CLAIMS} claims in {len(ANSWER) // TOKEN} tokens: instructor.Partial {timed(by_partial):.1f} ms")
    for name, model in (("as Candor computes", DEFAULT_MODEL), ("sentence-transformers", str(bundled_model()))):
        for done, seconds in commands(model):
            print(f"{done}: {name} {seconds:.1f} s")
        print(f"a further query: {name} {further_query(EmbeddingSettings(model=model)):.1f} ms")


if __name__ == "__main__":
    main()
