"""Measure what packages cost where Candor does a part of their work itself. Prints CPU time in ms.

    python -m benchmarks.packages

- instructor: a call with the type and schema that Candor derives once, and with those of every call.
- instructor: claims of an answer that is being written, by `draft_callback` and by `instructor.Partial`.
- sentence-transformers: the first query of a process, by NumPy and by the library.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import instructor
from pydantic import BaseModel

from multi_agent.agents.reader import ReaderAnswer
from multi_agent.grounding.draft_claims import _draft_model, _parse_complete_claims
from multi_agent.llm.responses.typed import _instructed

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
QUERY = """
import time
from vectorstore.embedding.{module} import {name}
from vectorstore.settings import EmbeddingSettings
{name}(EmbeddingSettings()).embed_query("heat pump below zero")
print(time.process_time() * 1000)
"""


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


def first_query(module: str, name: str) -> float:
    """Return the CPU time of a process that embeds one query."""
    code = QUERY.format(module=module, name=name)
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def main() -> None:
    print(f"instructor, a call: derived once {asyncio.run(call(_instructed(ReaderAnswer))):.1f} ms")
    print(f"instructor, a call: derived in every call {asyncio.run(call(ReaderAnswer)):.1f} ms")
    print(f"{CLAIMS} claims in {len(ANSWER) // TOKEN} tokens: draft {timed(by_draft):.1f} ms")
    print(f"{CLAIMS} claims in {len(ANSWER) // TOKEN} tokens: instructor.Partial {timed(by_partial):.1f} ms")
    print(f"first query: NumPy {first_query('bundled', 'BundledEmbedder'):.0f} ms")
    first = first_query("sentence_transformers", "SentenceTransformerEmbedder")
    print(f"first query: sentence-transformers {first:.0f} ms")


if __name__ == "__main__":
    main()
