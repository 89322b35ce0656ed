"""Child processes of tests fork from a process that has imported their libraries, one for each target.

A new interpreter takes 0.6 s of CPU time until it can parse a file, 4 s until it can research. Tests start hundreds.
``tests/base/test_process.py``, and the tests of commands and services in their own processes, start new interpreters.
Only on Linux, where this process can adopt a fork: it is the parent, as it would be of a new interpreter.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

from base import process
from support.waiting import LIMIT_S

TARGETS = {
    "ingest.isolation.worker:main": "support.forking:load_readers",
    "ingest.pages.draw:main": "",
    "vectorstore.edge.optimizer:main": "",
    "vectorstore.remote.process:main": "",
    "api.jobs.assembly:serve": "support.forking:load_models",
}
"""The targets that are forked, each with a function to call first. No import or call may start a thread."""

_START = """
import json, sys
descriptor, target, sys.path[:] = json.loads(sys.argv[1])
from support.forking import serve
serve(descriptor, target)
"""
_LIMITS = (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_AS, resource.RLIMIT_DATA)
_PR_SET_CHILD_SUBREAPER = 36

templates: dict[str, Template] = {}
"""The processes that fork, by target."""
_starting = threading.Lock()


def fork_children() -> None:
    """Let ``ChildProcess`` fork the targets in ``TARGETS``."""
    if sys.platform == "linux":
        vars(process)["subprocess"] = SimpleNamespace(**vars(subprocess) | {"Popen": _start_child})


def _start_child(command: list[str], **options: Any) -> Fork | subprocess.Popen[bytes]:
    start = json.loads(command[-1])
    if start["target"] not in TARGETS:
        return subprocess.Popen(command, **options)
    with _starting:
        template = templates.get(start["target"])
        if template is None:
            template = templates[start["target"]] = Template(start["target"])
    if template.inherited != _inherited():
        return subprocess.Popen(command, **options)
    output = 2 if options["stdout"] == 2 else options["stdout"].fileno()
    return template.fork(start, options["env"], output)


class Fork:
    """A forked process, with those methods of ``subprocess.Popen`` that ``ChildProcess`` calls."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._lock = threading.Lock()
        self._status: int | None = None

    def poll(self) -> int | None:
        with self._lock:
            if self._status is None:
                try:
                    pid, status = os.waitpid(self.pid, os.WNOHANG)
                except ChildProcessError:  # psutil has waited for it. Popen says 0, too
                    pid, status = self.pid, 0
                self._status = os.waitstatus_to_exitcode(status) if pid else None
            return self._status

    def wait(self, timeout: float | None = None) -> int:
        started, pause = time.monotonic(), 0.001
        while (status := self.poll()) is None:
            if timeout is not None and time.monotonic() - started >= timeout:
                raise subprocess.TimeoutExpired("", timeout)
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return status


class Template:
    """A process that has imported a target, and forks it."""

    def __init__(self, target: str) -> None:
        self._lock = threading.Lock()
        self.inherited = _inherited()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(LIMIT_S)
        with theirs:
            start = json.dumps([theirs.fileno(), target, [entry for entry in sys.path if entry]])
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, start], env=process.child_environment(network=True),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True,
            )  # fmt: skip
        atexit.register(self.close)

    def fork(self, start: dict[str, Any], environment: dict[str, str], output: int) -> Fork:
        """Fork a child of this process, which writes to ``output``."""
        with self._lock, ExitStack() as stack:
            here = os.open(".", os.O_RDONLY)
            stack.callback(os.close, here)
            _adopt_orphans(True)
            stack.callback(_adopt_orphans, False)
            files = [here, output, start["lifeline"], *start["connections"]]
            socket.send_fds(self._socket, [json.dumps([start, environment]).encode()], files)
            if not (pid := self._socket.recv(32)):
                raise OSError(f"The process that forks {start['target']} has ended.")
            return Fork(int(pid))

    def close(self) -> None:
        """End the process. Its forks live on."""
        self._socket.close()
        self.process.wait(LIMIT_S)


def _inherited() -> tuple[Any, ...]:
    """Return what a child inherits that the template cannot give to a fork."""
    return sys.executable, os.nice(0), [resource.getrlimit(limit) for limit in _LIMITS]


def _adopt_orphans(adopt: bool) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0)


def load_readers() -> None:
    """Import the readers of all formats."""
    from ingest.parser import load_parser
    from ingest.reader import ParserOptions

    load_parser("default", ParserOptions())


def load_models() -> None:
    """Import what agents and model calls need."""
    import multi_agent.agents

    for module in pkgutil.iter_modules(multi_agent.agents.__path__, "multi_agent.agents."):
        importlib.import_module(module.name)
    for name in (
        *("openai.resources.chat.completions", "instructor.core.hooks", "instructor.v2.providers.openai.handlers"),
        *("requests", "httpcore", "h2.connection", "anyio._backends._asyncio", "dbos._sys_db_sqlite"),
        "py3langid.langid",
    ):
        importlib.import_module(name)


def serve(descriptor: int, target: str) -> None:
    """Fork on request. Return in each fork when the target returns, and in the template at the end."""
    pkgutil.resolve_name(target)
    if first := TARGETS.get(target):
        pkgutil.resolve_name(first)()
    gc.freeze()
    with socket.socket(fileno=descriptor) as requests:
        while True:
            message, files, *_ = socket.recv_fds(requests, 1 << 20, 16)
            if not message:
                return
            pid = _fork()
            if not pid:
                break
            for file in files:
                os.close(file)
            requests.send(str(pid).encode())
    start, environment = json.loads(message)
    _run(start, environment, files)


def _fork() -> int:
    """Return the id of the fork, and 0 in the fork. It leads a session, and its parent is that of this process."""
    ready, told = os.pipe()
    between = os.fork()
    if not between:
        if os.fork():
            os._exit(0)
        os.setsid()
        os.write(told, str(os.getpid()).encode())
    os.close(told)
    if between:
        os.waitpid(between, 0)
    pid = int(os.read(ready, 32)) if between else 0
    os.close(ready)
    return pid


def _run(start: dict[str, Any], environment: dict[str, str], files: Sequence[int]) -> None:
    here, output, start["lifeline"], *start["connections"] = files
    os.fchdir(here)
    os.close(here)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = start.pop("path")
    process.run(**start)
