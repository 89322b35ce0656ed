"""Measure the start-up time of the command line: `--help`, `ingest` of one file, `search` over the sample documents.

    python -m benchmarks.start [--times 5] [--models FOLDER …]

Each run is a fresh process, and the commands run in turn. The bundled model is used twice: by default, where NumPy
embeds queries and few passages, and by its folder, where sentence-transformers does, as with each of `--models`. Prints
the median and slowest wall-clock time, the median CPU time, and the timings of the last search.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from vectorstore.embedding.model_folder import bundled_model
from vectorstore.settings import DEFAULT_MODEL

CANDOR = [sys.executable, "-m", "api.cli"]
DOCUMENTS = Path(__file__).parents[1] / "sample_docs" / "documents"
NEW_HOME = "<a new home>"


class Spent(NamedTuple):
    """What one process took, and its standard error."""

    seconds: float
    cpu: float
    errors: str


class Command(NamedTuple):
    """Arguments and embedding model."""

    arguments: tuple[str, ...]
    model: str = DEFAULT_MODEL


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--times", type=int, default=5, help="runs of each command")
    options.add_argument("--models", nargs="*", default=[], help="other embedding models to search with")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as homes:
        commands = {"candor --help": Command(("--help",))}
        for number, model in enumerate([DEFAULT_MODEL, str(bundled_model()), *chosen.models]):
            home = f"{homes}/{number}"
            _run(Command(("ingest", str(DOCUMENTS), "--home", home), model))
            search = ("search", "heat pump efficiency", "--home", home, "--timings")
            commands[f"candor search, {model}"] = Command(search, model)
            one_file = ("ingest", str(min(DOCUMENTS.glob("*.md"))), "--home", NEW_HOME)
            commands[f"candor ingest of one file, {model}"] = Command(one_file, model)
        runs: dict[str, list[Spent]] = {name: [] for name in commands}
        for _ in range(chosen.times):
            for name, command in commands.items():
                runs[name].append(_run(command))
    table = Table("command, cold", "median", "slowest", "CPU, median", "timings")
    for name, spent in runs.items():
        seconds = [each.seconds for each in spent]
        table.add_row(
            name, f"{statistics.median(seconds):.2f} s", f"{max(seconds):.2f} s",
            f"{statistics.median(each.cpu for each in spent):.2f} s", spent[-1].errors,
        )  # fmt: skip
    Console(width=180).print(table)


def _run(command: Command) -> Spent:
    environment = os.environ | {"CANDOR_STORE__EMBEDDING__MODEL": command.model}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # otherwise each process compiles all modules that it imports
    with tempfile.TemporaryDirectory() as home:
        arguments = [home if each == NEW_HOME else each for each in command.arguments]
        return _timed([*CANDOR, *arguments], environment)


def _timed(command: list[str], environment: dict[str, str]) -> Spent:
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(seconds, cpu, done.stderr.strip())


if __name__ == "__main__":
    main()
