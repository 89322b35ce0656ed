"""Look for inputs that Candor handles wrongly: half an hour of each target.

    python -m benchmarks.fuzz                                        all targets
    python -m benchmarks.fuzz --target quotes --minutes 10
    python -m benchmarks.fuzz --target files --documents FOLDER      damaged copies of these files

    files       damaged and generated files: each is indexed, or failed with a reason
    http        requests of every kind to a running service: no status 500, every response as described
    liveness    after any text in a question, plan, fork, import or search, the service answers, cancels and ends
    quotes      a quote is at its place in any text, and any claim is judged
    plans       any JSON is refused with reasons, or is a plan that runs to its end
    references  references to outputs of earlier steps are found, written and resolved in any value

Each new finding becomes a file in the folder of `--out`, with the command that repeats it. The exit status is 1 if
there is one. The same `--seed` gives the same inputs.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from benchmarks.fuzz.search import Batch, Finding, Property, Target, search_all

TARGETS = ("files", "http", "liveness", "quotes", "plans", "references")


class Outcome(NamedTuple):
    """The results of a target. ``found`` counts the occurrences of each defect by its title."""

    cases: int
    seconds: float
    found: dict[str, int]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--target", choices=TARGETS, action="append", help="default: all; can be repeated")
    options.add_argument("--minutes", type=float, default=30, help="minutes of each target; 0: one batch of inputs")
    options.add_argument("--seed", type=int, default=0, help="seed of the first batch; each batch takes the next one")
    options.add_argument("--out", type=Path, default=Path("fuzz-findings"), help="folder of the findings")
    options.add_argument("--documents", type=Path, help="files: damage copies of the files in this folder as well")
    chosen = options.parse_args()
    outcomes = {}
    for name in dict.fromkeys(chosen.target or TARGETS):
        with _open(name, chosen.documents) as batch_of:
            outcomes[name] = search(name, batch_of, chosen.minutes, chosen.seed, chosen.out)
    print(f"\n{'target':12}{'cases':>10}{'minutes':>10}{'findings':>10}")
    for name, outcome in outcomes.items():
        print(f"{name:12}{outcome.cases:>10,}{outcome.seconds / 60:>10.1f}{len(outcome.found):>10}")
    return 1 if any(outcome.found for outcome in outcomes.values()) else 0


def search(name: str, batch_of: Callable[[int], Batch], minutes: float, seed: int, out: Path) -> Outcome:
    """Run at least one batch, and further ones until the time is up. Write a file for each defect."""
    started = time.monotonic()
    cases, found, batch_seed = 0, dict[str, int](), seed
    while batch_seed == seed or time.monotonic() - started < minutes * 60:
        batch = batch_of(batch_seed)
        cases += batch.cases
        for finding in batch.findings:
            if finding.title not in found:
                print(f"{name}: {finding.title}\n  in {write(finding, name, batch_seed, out)}", flush=True)
            found[finding.title] = found.get(finding.title, 0) + 1
        batch_seed += 1
    return Outcome(cases, time.monotonic() - started, found)


def write(finding: Finding, target: str, seed: int, out: Path) -> Path:
    """Write the finding with the command that repeats it. Return the path."""
    out.mkdir(parents=True, exist_ok=True)
    slug = re.sub(r"\W+", "-", finding.title).strip("-")[:80]
    path = out / f"{target}-{seed}-{slug}.txt"
    repeat = f"python -m benchmarks.fuzz --target {target} --seed {seed} --minutes 0"
    lines = [finding.title, "", f"Repeat it: {repeat}"]
    if finding.file:
        name, content = finding.file
        kept = out / f"{target}-{seed}-{name}"
        kept.write_bytes(content)
        lines.append(f"Its file: {kept.name}")
    path.write_text("\n".join([*lines, "", finding.report, ""]), encoding="utf-8", errors="backslashreplace")
    return path


def _open(name: str, documents: Path | None) -> Target:
    """Return a target. Import its module now, because some modules take much time or memory."""
    module = import_module(f"benchmarks.fuzz.{name}")
    if name == "files":
        return module.damaged_files(documents)  # type: ignore[no-any-return]
    if name == "liveness":
        return module.live_service()  # type: ignore[no-any-return]
    if name == "http":
        return module.requests()  # type: ignore[no-any-return]
    return _searching(module.PROPERTIES)


@contextmanager
def _searching(properties: list[Property]) -> Iterator[Callable[[int], Batch]]:
    yield lambda seed: search_all(properties, seed)


if __name__ == "__main__":
    sys.exit(main())
