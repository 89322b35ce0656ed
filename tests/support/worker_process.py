"""``candor worker`` in its own process, which can be killed, and frozen with its children."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from support.waiting import LIMIT_S


class WorkerProcess:
    """A worker of a shared database. ``id`` is the id under which it takes jobs."""

    def __init__(self, home: Path, *options: str, **environment: str) -> None:
        self._command = [sys.executable, "-m", "api.cli", "worker", "--json", "--home", str(home), *options]
        known = {name: value for name, value in os.environ.items() if not name.startswith("CANDOR_TEST_")}
        self._environment = {**known, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
        self._log = home / "worker.log"

    def launch(self) -> None:
        """Start the process without waiting for it."""
        with self._log.open("a") as log:
            self.process = subprocess.Popen(
                self._command, env=self._environment, stdout=subprocess.PIPE, stderr=log, text=True,
                start_new_session=True,
            )  # fmt: skip

    def wait_until_ready(self) -> None:
        """Wait until it takes jobs."""
        assert self.process.stdout is not None
        output = ""
        while "}\n}" not in output:
            line = self.process.stdout.readline()
            assert line, f"the worker exited: {self.errors}"
            output += line
        assert '"id"' in output, f"the worker did not start: {output}{self.errors}"
        self.id = str(json.loads(output)["id"])

    def start(self) -> None:
        """Start the process and wait until it takes jobs."""
        self.launch()
        self.wait_until_ready()

    @property
    def errors(self) -> str:
        """What it wrote to stderr."""
        return self._log.read_text()

    def freeze(self) -> None:
        """Stop the process and its children, as a suspended machine does."""
        os.killpg(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them continue."""
        os.killpg(self.process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End the process with SIGKILL. Its children notice it."""
        self.process.kill()
        self.process.wait(LIMIT_S)

    def stop(self) -> int:
        """End the process as an operator does, with SIGTERM, and return its exit code."""
        self.process.terminate()
        return self.process.wait(LIMIT_S)

    def end(self) -> None:
        """End the process and its children, in whatever state they are."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(LIMIT_S)
