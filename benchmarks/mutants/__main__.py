"""Change one line at a time, and see whether a test fails.

    make mutants                                                     the files that differ from the last commit
    python -m benchmarks.mutants ingest/ledger --number 30 --seed 7  files of a folder
    python -m benchmarks.mutants api/jobs/queues.py --tests tests/api/jobs --number 0

A mutant is a changed comparison, condition, calculation, number or return value, or a statement that is left out. Each
one is tried in a copy of the tree. The tests are those of the same name, `tests/…/test_NAME.py`, then those of the same
package that import the module; if there are none, all of the package's folder, or of the nearest one above. A mutant
survives if all of them pass. One that takes four times as long as the tests without it is killed. The same `--seed`
chooses the same mutants of unchanged files. The exit status is 1 if one survives.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from benchmarks.mutants.mutate import Mutant, mutants_of
from benchmarks.mutants.warm import PACKAGES, WarmPytest

ROOT = Path(__file__).parents[2]
_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "site", "build", "dist")
_LINKED = (".qdrant",)
"""Programs for tests that are not a part of the tree."""


LIMIT_S = 1800
"""Seconds that the tests of a module may take without a mutant."""


class Tried(NamedTuple):
    """The result of a mutant."""

    file: str
    mutant: Mutant
    killed: bool
    how: str
    """The test that failed, or how many tests passed."""

    def __str__(self) -> str:
        return (
            f"{'killed  ' if self.killed else 'SURVIVED'} {self.file}:{self.mutant.line}  {self.mutant}  [{self.how}]"
        )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "paths", nargs="*", type=Path, help="files and folders; default: files changed since the commit"
    )
    options.add_argument("--number", type=int, default=20, help="mutants of all files together; 0: all")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--tests", nargs="+", default=(), help="run these tests for every mutant")
    options.add_argument("--processes", type=int, default=1, help="copies of the tree, each with a mutant of its own")
    chosen = options.parse_args()
    files = sorted(_sources(chosen.paths or _changed_files()))
    picked = pick(ROOT, files, chosen.number, chosen.seed)
    print(f"{len(picked)} mutants of {len(files)} files, seed {chosen.seed}", flush=True)
    tried = try_all(ROOT, picked, chosen.tests, chosen.processes, lambda each: print(each, flush=True))
    killed = sum(each.killed for each in tried)
    print(f"{killed} of {len(tried)} killed" + (f" ({killed / len(tried):.0%})" if tried else ""))
    return 0 if killed == len(tried) else 1


def _changed_files() -> list[Path]:
    """Return the files that differ from the last commit, or those of that commit if none does."""
    for arguments in (["diff", "--name-only", "HEAD"], ["diff", "--name-only", "HEAD~1"]):
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        if names := done.stdout.split():
            return [ROOT / name for name in names if (ROOT / name).exists()]
    return []


def _sources(paths: Iterable[Path]) -> set[str]:
    """Return the Python files of the packages in the paths, relative to the root."""
    found = set[str]()
    for path in paths:
        for each in path.resolve().rglob("*.py") if path.is_dir() else [path.resolve()]:
            if each.suffix == ".py" and each.relative_to(ROOT).parts[0] in PACKAGES:
                found.add(each.relative_to(ROOT).as_posix())
    return found


def pick(root: Path, files: Sequence[str], number: int, seed: int) -> list[tuple[str, Mutant]]:
    """Return mutants of the files at random, in the order of their lines. A file with more code has more of them."""
    every = [(file, mutant) for file in files for mutant in mutants_of((root / file).read_bytes())]
    picked = random.Random(seed).sample(every, min(number or len(every), len(every)))
    return sorted(picked)


def try_all(
    root: Path,
    picked: Sequence[tuple[str, Mutant]],
    tests: Sequence[str],
    processes: int,
    tell: Callable[[Tried], None],
) -> list[Tried]:
    """Run the tests of each mutant in a copy of the tree. Raises ExceptionGroup if tests fail without a mutant."""
    free: SimpleQueue[Copy] = SimpleQueue()
    failures: list[RuntimeError] = []
    with tempfile.TemporaryDirectory(prefix="candor-mutants-") as folder, ThreadPoolExecutor(processes) as pool:
        copies = [Copy(root, Path(folder) / str(number)) for number in range(processes)]
        for each in copies:
            free.put(each)

        def try_mutants(file: str) -> list[Tried]:
            copy = free.get()
            try:
                own = [mutant for each, mutant in picked if each == file]
                return copy.try_mutants(file, own, list(tests) or find_tests(root, file), tell)
            except RuntimeError as error:
                failures.append(error)  # other files are tried all the same
                return []
            finally:
                free.put(copy)

        of_files = list(pool.map(try_mutants, dict.fromkeys(file for file, _ in picked)))
        for each in copies:
            each.pytest.close()
    if failures:
        raise ExceptionGroup("Tests fail without a mutant", failures)
    return [each for tried in of_files for each in tried]


class Copy:
    """A copy of the tree, in which mutants are tried one after the other."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = Path(shutil.copytree(root, folder, ignore=_NOT_COPIED))
        for name in _LINKED:
            (folder / name).symlink_to(root / name)
        self.pytest = WarmPytest(folder)

    def try_mutants(
        self, file: str, mutants: Iterable[Mutant], tests: list[str], tell: Callable[[Tried], None]
    ) -> list[Tried]:
        started = time.monotonic()
        without = self.pytest.run(tests, LIMIT_S)
        if without.status != 0:
            raise RuntimeError(f"The tests of {file} fail without a mutant.\n{without.output[-3000:]}")
        limit_s = 30 + 4 * (time.monotonic() - started)
        tried = []
        for mutant in mutants:
            tried.append(self._try(file, mutant, tests, limit_s))
            tell(tried[-1])
        return tried

    def _try(self, file: str, mutant: Mutant, tests: list[str], limit_s: float) -> Tried:
        path = self.folder / file
        source = path.read_bytes()
        try:
            self._write(path, mutant.apply(source))
            status, output = self.pytest.run(tests, limit_s)
        finally:
            self._write(path, source)
        if status is None:
            return Tried(file, mutant, True, f"no end within {limit_s:.0f} s")
        lines = output.splitlines() or [""]
        failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        return Tried(file, mutant, status != 0, (failed or lines)[-1][:160])

    @staticmethod
    def _write(path: Path, source: bytes) -> None:
        """Write a file, and delete its bytecode: Python may take it for that of a file of the same second and size."""
        path.write_bytes(source)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()


def find_tests(root: Path, file: str) -> list[str]:
    """Return the tests of a module: those of its name, then others of its package that import it."""
    path = Path(file)
    folder = root / "tests" / path.parent
    mirrored = [*folder.glob(f"test_{path.stem}.py"), *sorted(folder.glob(f"test_{path.stem}_*.py"))]
    parent, module = ".".join(path.parent.parts), path.stem
    written = (f"from {parent}.{module} import", f"import {parent}.{module}\n", f"from {parent} import {module}\n")
    package = sorted((root / "tests" / path.parts[0]).rglob("test_*.py"))
    importing = [each for each in package if any(text in each.read_text("utf-8") for text in written)]
    found = list(dict.fromkeys([*mirrored, *importing]))
    while not found:
        found = [each for each in [folder] if any(folder.glob("**/test_*.py"))]
        folder = folder.parent
    return [each.relative_to(root).as_posix() for each in found]


if __name__ == "__main__":
    sys.exit(main())
