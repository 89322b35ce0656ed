"""The processes under test: `candor serve` on a data folder, and the model endpoint. Both can be killed and started
again."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx
import psutil

from benchmarks.engine import ROOT, environment

CLOCK = Path(__file__).parent / "clock"
LIMIT_S = 300
MODEL_DELAY_S = (0.0, 0.3)


class Model:
    """The scripted model endpoint in a process of its own. Each call takes between ``delay_s`` seconds."""

    def __init__(self, delay_s: tuple[float, float] = MODEL_DELAY_S) -> None:
        self.port, self._delay_s = free_port(), delay_s
        self.url = f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Start the endpoint, on the same port as before."""
        command = [sys.executable, "-m", "benchmarks.chaos.processes", *map(str, (self.port, *self._delay_s))]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, env=environment())

    def kill(self) -> None:
        """Send SIGKILL."""
        self.process.kill()
        self.process.wait()


class Service:
    """`candor serve`. Its standard error is in `service.log` of the work folder."""

    def __init__(
        self, home: Path, work: Path, model: Model, say: Callable[[str], None], settings: Mapping[str, str] = {}
    ) -> None:
        self.home, self.clock = home, work / "clock"
        self._errors, self._say = work / "service.log", say
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._environment = {
            **environment(), "PYTHONPATH": os.pathsep.join([str(CLOCK), environment()["PYTHONPATH"]]),
            "CHAOS_CLOCK": str(self.clock), "HF_HUB_OFFLINE": "1",
            "CANDOR_LLM__PROVIDER": "openai", "CANDOR_LLM__BASE_URL": model.url, "CANDOR_LLM__MODEL": "scripted",
            "CANDOR_LLM__CONTEXT_WINDOW": "64000", "CANDOR_SERVICE__CONCURRENT_RUNS": "4", **settings,
        }  # fmt: skip

    def start(self) -> None:
        """Start the process without waiting until it responds."""
        command = [sys.executable, "-m", "api.cli", "serve", "--json", "--port", str(self._port), "--home", self.home]
        with self._errors.open("a") as errors:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self._environment, stdout=subprocess.DEVNULL, stderr=errors
            )

    def keep_running(self) -> None:
        """Restart the process if it has exited."""
        if self.process.poll() is not None:
            self._say(f"the service ended by itself ({_exit_of(self.process)}): {self._last_error()}")
            self.start()

    def wait_until_up(self) -> None:
        """Wait until the service responds. Raises TimeoutError."""
        end = time.monotonic() + LIMIT_S
        while not self.is_up():
            if time.monotonic() > end:
                raise TimeoutError(f"The service did not start within {LIMIT_S} s: {self._last_error()}")
            self.keep_running()
            time.sleep(0.2)

    def is_up(self) -> bool:
        """Return whether the service responds."""
        try:
            return httpx.get(f"{self.url}/healthz", timeout=10).status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """Send SIGKILL and start the service again."""
        self.process.kill()
        self.process.wait()
        self.start()

    def stop(self) -> int:
        """Send SIGINT. Return the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(LIMIT_S)

    def children(self) -> list[psutil.Process]:
        """Return the child processes: search, research, parsers."""
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def errors(self) -> list[str]:
        """Return the distinct last lines of the tracebacks that the service logged."""
        found, within = dict[str, None](), False
        for line in self._errors.read_text(encoding="utf-8", errors="replace").splitlines():
            within = within or line.startswith("Traceback")
            if within and line and line[0] not in " T|+":
                found[line[:300]], within = None, False
        return list(found)

    def _last_error(self) -> str:
        lines = self._errors.read_text(encoding="utf-8", errors="replace").split("\n")
        return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "no output")


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _exit_of(process: subprocess.Popen[bytes]) -> str:
    code = process.returncode
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def serve_model(port: int, *delay_s: float) -> None:
    """Serve the scripted model until standard input closes."""
    from support.panel import Panel
    from support.replies import Reply, Request
    from support.scripted_endpoint import ScriptedEndpoint

    panel = Panel("degrees", "kilograms")

    def answer(request: Request) -> Reply:
        played = panel(request)
        assert isinstance(played, str)
        return Reply(text=played, delay=random.uniform(*delay_s))

    with ScriptedEndpoint(answer, port=port):
        sys.stdin.read()


if __name__ == "__main__":
    serve_model(int(sys.argv[1]), *map(float, sys.argv[2:]))
