"""The service over real HTTP, in a thread of this process or in its own process."""

from __future__ import annotations

import faulthandler
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Self

import httpx

from api.bootstrap import Candor
from api.http.app import make_app
from api.http.server import Server, listen, url_of
from api.settings import Settings
from support.panel import SYNTHESIS, Panel, Role, role_of
from support.replies import Reply, Request, held_until
from support.serving import SearchThread
from support.waiting import LIMIT_S, until

QUESTION = "Down to which temperature does the Borea 12 work?"
SLOWLY = f"Slowly: {QUESTION}"
"""Each model call takes a moment, so that a test can act while the run is active."""
HELD = f"Held: {QUESTION}"
"""The model writes the answer once ``resume`` is set."""
NEVER = f"Never: {QUESTION}"
"""The model never responds."""
REFUSED = f"Refused: {QUESTION}"
"""The model rejects the request, so that the run fails."""
SCRIPT = "<script>alert('the document')</script>"


class RunningService:
    """The service of ``candor serve`` in a thread. ``url`` has no trailing slash.

    Searches and runs research in this process, because other processes import libraries for seconds. Tests of those
    processes choose them: ``ServiceSettings(research_process=True)``.

    with RunningService(candor) as service:
        httpx.get(f"{service.url}/healthz")
    """

    def __init__(self, candor: Candor, port: int = 0) -> None:
        if "research_process" not in candor.settings.service.model_fields_set:
            candor.settings = with_service(candor.settings, research_process=False)
        if not candor.settings.service.research_process:
            folder = candor.settings.home / "collections"
            candor.make_search_process = lambda: SearchThread(folder, lambda: candor.embedder)  # type: ignore[method-assign]
        self._listener = listen("127.0.0.1", port)
        settings = candor.settings.service
        self.url = url_of(self._listener, secure=settings.certfile is not None).rstrip("/")
        self._server = Server(make_app(candor), settings)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listener]}, name="candor-serve", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        until(lambda: self._server.started or not self._thread.is_alive())
        assert self._server.started, "the service did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(LIMIT_S)
        logging.getLogger("dbos").handlers.clear()  # DBOS would flush the stderr of this test, which pytest closes
        if self._thread.is_alive():
            raise AssertionError(f"The service did not stop within {LIMIT_S} s. All threads:\n{stacks()}")


def with_service(settings: Settings, **changes: Any) -> Settings:
    """Return the settings with changed settings of the service."""
    return settings.model_copy(update={"service": settings.service.model_copy(update=changes)})


def stacks() -> str:
    """Return the stacks of all threads of this process."""
    with TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file)
        file.seek(0)
        return file.read()


class ServiceProcess:
    """``candor serve`` in its own process, which can be killed.

    with ServiceProcess(home) as service:
        service.kill()
    """

    def __init__(self, home: Path, port: int = 0, **environment: str) -> None:
        self.home = home
        self._command = [sys.executable, "-m", "api.cli", "serve", "--json", "--home", str(home), "--port"]
        self._port = port
        self.before: Callable[[], object] | None = None
        """Called in the new process before it starts, for example to set limits."""
        self._environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start the process, on the same port as before."""
        self.process = subprocess.Popen(
            [*self._command, str(self._port)],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=self.before,
        )
        assert self.process.stdout is not None
        output = ""
        while "}" not in output:
            line = self.process.stdout.readline()
            assert line, f"the service exited: {self.process.communicate()[1]}"
            output += line
        self.url = json.loads(output)["url"]
        self._port = httpx.URL(self.url).port
        self.http = httpx.Client(base_url=self.url, timeout=LIMIT_S)
        until(self._is_up)

    def kill(self) -> None:
        """Send SIGKILL."""
        self._signal(signal.SIGKILL)

    def stop(self) -> int:
        """Send SIGINT and return the exit code."""
        return self._signal(signal.SIGINT)

    def _signal(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        _, self.errors = self.process.communicate(timeout=LIMIT_S)
        self.http.close()
        return self.process.returncode

    def _is_up(self) -> bool:
        try:
            return self.http.get("/healthz").status_code == 200
        except httpx.ConnectError:
            return False


resume = threading.Event()
roles: dict[str, Role] = {}
"""What tests play in place of the panel."""
_panel = Panel("-25 °C", roles=roles)


def model(request: Request) -> Reply | str:
    """Play the whole panel, and wait where the question asks for it."""
    if NEVER in request.prompt:
        return Reply(hang=True)
    if REFUSED in request.prompt:
        return Reply(status=400, raw="no such question")
    played = _panel(request)
    assert isinstance(played, str)
    if HELD in request.prompt and role_of(request) == SYNTHESIS:
        return held_until(resume, played)
    return Reply(text=played, delay=0.1 if SLOWLY in request.prompt else 0.0)


def follow(http: httpx.Client, run_id: str, last: int | None = None, limit: int | None = None) -> list[dict[str, Any]]:
    """Return the events of the stream, ``limit`` at most. ``last`` is the Last-Event-ID of a client that reconnects."""
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    events: list[dict[str, Any]] = []
    with http.stream("GET", f"/v1/runs/{run_id}/events", headers=headers) as response:
        assert (response.status_code, response.headers["content-type"].split(";")[0]) == (200, "text/event-stream")
        number = ""
        for line in response.iter_lines():
            if line.startswith("id: "):
                number = line.removeprefix("id: ")
            elif line.startswith("data: "):
                events.append(json.loads(line.removeprefix("data: ")))
                assert number == str(events[-1]["number"])
                if len(events) == limit:
                    break
    return events


def status(http: httpx.Client, run_id: str) -> str:
    """Return the state of a run."""
    return str(http.get(f"/v1/runs/{run_id}").json()["run"]["status"])
