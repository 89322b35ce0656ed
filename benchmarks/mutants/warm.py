"""Runs pytest in forks of one process that has imported the libraries, which takes most of the time of a short test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

PACKAGES = ("api", "base", "candor_client", "ingest", "multi_agent", "vectorstore")
_IMPORTED = (
    "import hypothesis, pytest, xdist\nwith __import__('contextlib').suppress(ImportError): import api.bootstrap"
)


class Result(NamedTuple):
    """``status`` is None if the tests did not end within the limit."""

    status: int | None
    output: str


class WarmPytest:
    """One process that runs tests in a copy of the tree, one call after the other."""

    def __init__(self, copy: Path) -> None:
        self._output = copy / "output.txt"
        environment = os.environ | {"PYTHONPATH": f"{copy}{os.pathsep}{copy / 'tests'}"}
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(self._output)], cwd=copy, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(self, tests: list[str], limit_s: float) -> Result:
        """Run the tests until one fails."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([tests, limit_s]) + "\n")
        self._process.stdin.flush()
        return Result(json.loads(self._process.stdout.readline()), self._output.read_text("utf-8", "replace"))

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def _serve(output: str) -> None:
    exec(_IMPORTED)
    for name in [each for each in sys.modules if each.partition(".")[0] in PACKAGES]:
        del sys.modules[name]  # each fork imports the changed source
    for line in sys.stdin:
        tests, limit_s = json.loads(line)
        print(json.dumps(_run(tests, limit_s, output)), flush=True)


def _run(tests: list[str], limit_s: float, output: str) -> int | None:
    child = os.fork()
    if not child:
        _test(tests, output)
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, 9)  # also the processes that its tests started
    os.waitpid(child, 0)
    return None


def _test(tests: list[str], output: str) -> None:
    import pytest

    os.setsid()
    written, nothing = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (written, 1), (written, 2)):
        os.dup2(source, target)
    status = pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests])
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    _serve(sys.argv[1])
