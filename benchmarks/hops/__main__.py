"""Count how many functions and processes a request passes until its work is done.

    python -m benchmarks.hops [--ways]

Five ways: a search and a question with `--mode fast`, by the command line and over REST, and the ingest of one file.
Every process of Candor writes the project's functions on its stack when it reaches the last one of the way: the search
or the write of the engine, or the request to the model. Tasks and threads continue the way of whoever started them.
Prints the number of functions in each process, without those that wait for requests, and with `--ways` their names.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table

from benchmarks.engine import ROOT, endpoint, environment

QUESTION = "Down to which temperature does the Borea 12 work?"
COLLECTION = "hops"
SEARCH = ("QdrantCollection.search", "RemoteCollection.search")
MODEL = ("OpenAICompatible.send_as", "JobQueue.enqueue")
WRITE = ("EdgeCollection.upsert", "RemoteCollection.upsert")
LOOPS = {
    *("api/cli/__main__.py:<module>", "api/cli/__main__.py:main", "api/cli/main.py:main"),
    "api/cli/commands/serve.py:serve",
    *("api/http/server.py:serve", "base/process.py:run", "api/jobs/assembly.py:serve"),
}
"""The functions that wait for requests. A request does not pass them."""
AIMS = {"search, REST": 20, "question, REST": 35}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ways", action="store_true", help="print the functions of each way")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="candor-hops-") as folder, endpoint(0.0) as model:
        show(dict(measure(Path(folder), model)), ways=chosen.ways)


def measure(folder: Path, model: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield each way with the functions of each process."""
    home, document = folder / "home", folder / "borea.md"
    document.write_text("# Borea 12\n\nThe heat pump Borea 12 works down to -22 °C.\n", encoding="utf-8")
    marks = Marks(folder / "marks.jsonl", model)
    _candor(marks.environment(WRITE), "ingest", str(document), "--collection", COLLECTION, "--home", str(home))
    yield "ingest of a file, CLI", marks.taken()
    asked = ("--collection", COLLECTION, "--home", str(home))
    _candor(marks.environment(SEARCH), "search", QUESTION, *asked)
    yield "search, CLI", marks.taken()
    _candor(marks.environment(MODEL), "ask", QUESTION, "--mode", "fast", *asked)
    yield "question, CLI", marks.taken()
    for name, leaves, path, body in (
        ("search, REST", SEARCH, "/v1/search", {"query": QUESTION}),
        ("question, REST", MODEL, "/v1/research", {"question": QUESTION, "mode": "fast"}),
    ):
        with _service(home, marks.environment(leaves)) as url:
            response = httpx.post(f"{url}{path}", json={**body, "collection": COLLECTION}, timeout=300)
            response.raise_for_status()
        yield name, marks.taken()


class Marks:
    """The file into which the processes write. ``taken`` returns what it contains and empties it."""

    def __init__(self, file: Path, model: str) -> None:
        self._file, self._model = file, model

    def environment(self, leaves: Sequence[str]) -> dict[str, str]:
        given = environment()
        return given | {
            "PYTHONPATH": f"{Path(__file__).parent / 'marks'}:{given['PYTHONPATH']}",
            "PYTHON_HOPS": str(self._file),
            "PYTHON_HOPS_ROOT": str(ROOT),
            "PYTHON_HOPS_LEAVES": " ".join(leaves),
            "CANDOR_LLM__PROVIDER": "openai",
            "CANDOR_LLM__BASE_URL": self._model,
            "CANDOR_LLM__MODEL": "scripted",
        }

    def taken(self) -> list[list[str]]:
        lines = [json.loads(line) for line in self._file.read_text(encoding="utf-8").splitlines()]
        self._file.unlink()
        return list(_first_of_each(lines).values())


def _first_of_each(lines: Sequence[Mapping[str, Any]]) -> dict[int, list[str]]:
    ways: dict[int, list[str]] = {}
    for line in lines:
        ways.setdefault(line["pid"], [each for each in line["way"] if each not in LOOPS])
    return ways


def show(found: Mapping[str, list[list[str]]], *, ways: bool) -> None:
    """Print the table, and the functions of each way if ``ways``."""
    console = Console(width=160)
    table = Table("way", "functions", "of each process", "aim")
    for name, processes in found.items():
        counts = [len(way) for way in processes]
        table.add_row(name, str(sum(counts)), " + ".join(map(str, counts)), f"≤ {AIMS[name]}" if name in AIMS else "")
    console.print(table)
    if ways:
        for name, processes in found.items():
            for number, way in enumerate(processes, start=1):
                console.print(f"\n{name}, process {number}", *way, sep="\n  ", highlight=False)


def _candor(variables: Mapping[str, str], *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "api.cli", *arguments], env=dict(variables), capture_output=True, text=True
    )
    if done.returncode not in {0, 3}:
        raise SystemExit(f"candor {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")


@contextmanager
def _service(home: Path, variables: Mapping[str, str]) -> Iterator[str]:
    command = [sys.executable, "-m", "api.cli", "serve", "--port", "0", "--json", "--home", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(variables), cwd=home) as process:
        assert process.stdout
        try:
            received = "".join(iter(process.stdout.readline, "}\n")) + "}"
            yield json.loads(received)["url"].rstrip("/")
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
