"""Measure the start-up time of the command line: `candor --help`, and `candor search` over the sample documents.

    python -m benchmarks.start [--times 5]

Each run is a fresh process. Prints the median and slowest wall-clock time, and the timings of the search.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

CANDOR = Path(sys.executable).with_name("candor")
DOCUMENTS = Path(__file__).parents[1] / "sample_docs" / "documents"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--times", type=int, default=5, help="runs of each command")
    times = options.parse_args().times
    with tempfile.TemporaryDirectory() as home:
        _seconds("ingest", str(DOCUMENTS), "--home", home)
        search = ("search", "heat pump efficiency", "--home", home, "--timings")
        table = Table("command, cold", "median", "slowest", "timings")
        for command in (("--help",), search):
            runs = [_seconds(*command) for _ in range(times)]
            spent = statistics.median(seconds for seconds, _ in runs)
            slowest = max(seconds for seconds, _ in runs)
            table.add_row(f"candor {command[0]}", f"{spent:.2f} s", f"{slowest:.2f} s", runs[-1][1])
    Console(width=140).print(table)


def _seconds(*arguments: str) -> tuple[float, str]:
    """Return the wall-clock seconds of one process and its standard error."""
    started = time.perf_counter()
    done = subprocess.run([CANDOR, *arguments], capture_output=True, text=True, check=True)
    return time.perf_counter() - started, done.stderr.strip()


if __name__ == "__main__":
    main()
