"""Child processes that run one function in a new interpreter and communicate with this process through pipes.

This module starts and ends child processes and describes how they exited. The module that starts a child sets its
limits on memory, network and time. POSIX only.
"""

from __future__ import annotations

import fcntl
import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import IO, TYPE_CHECKING, Self

if TYPE_CHECKING:
    import psutil

_START = """
import json, sys
start = json.loads(sys.argv[1])
sys.path[:] = start.pop("path")
from base.process import run
run(**start)
"""
_NAMES = ("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "TEMP", "TESSDATA_PREFIX", "TMP", "TMPDIR", "TZ", "USER")
_PREFIXES = (
    *("LC_", "LD_", "DYLD_", "FONTCONFIG_", "MALLOC_", "PYTHON", "XDG_"),
    *("GOMP_", "KMP_", "MKL_", "OMP_", "OPENBLAS_"),
    *("CUDA_", "GGML_", "HIP_", "HSA_", "NVIDIA_", "OPENVINO_", "ROCM_", "ROCR_", "SYCL_", "VK_", "ZE_"),
    *("HF_", "NLTK_", "TIKTOKEN_", "TORCH_"),
)
_SECRETS = ("KEY", "PASSWORD", "SECRET", "TOKEN")  # HF_TOKEN
_NETWORK_NAMES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "REQUESTS_CA_BUNDLE")
_AGENT_NAMES = ("SSH_AUTH_SOCK",)
_NETWORK_PREFIXES = ("PLAYWRIGHT_", "SSL_")
_LINE_LENGTH = 300
_MB = 1 << 20


class ChildProcess:
    """A new interpreter that runs ``target`` ("package.module:function").

    The function is called with its ends of the connections, then with ``arguments`` (JSON values). The child has this
    process's ``sys.path`` but none of its threads or loaded modules. It starts its own session, so Ctrl-C in the
    terminal reaches only this process. The kernel kills the child when this process ends, even by SIGKILL.

    The environment of the child is ``child_environment``, which contains no keys.

    With ``capture_output``, the child writes stdout and stderr to a temporary file. Otherwise it writes both to the
    stderr of this process.

    >>> with ChildProcess("package.module:main", connections=1) as child:
    ...     child.connections[0].send("request")
    ...     response = child.connections[0].recv()

    Raises OSError if the process cannot be started. Only ``kill`` may be called from several threads at once.
    """

    def __init__(
        self,
        target: str,
        *,
        arguments: Sequence[str | int | float] = (),
        connections: int = 1,
        nice: int = 0,
        capture_output: bool = False,
        network: bool = False,
    ) -> None:
        pipes = [Pipe() for _ in range(connections)]
        self.connections: tuple[Connection, ...] = tuple(ours for ours, _ in pipes)
        lifeline, self._lifeline = Pipe(duplex=False)  # Connection objects also close when they are garbage collected
        inherited = [*(theirs for _, theirs in pipes), lifeline]
        self._output: IO[bytes] | None = None
        if capture_output:
            self._output = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # closed by close()
        start = {
            "target": target,
            "arguments": list(arguments),
            "connections": [theirs.fileno() for _, theirs in pipes],
            "lifeline": lifeline.fileno(),
            "nice": nice,
            "path": [entry for entry in sys.path if entry],  # the empty entry is the working folder
        }
        try:
            # With -P, Python does not import a json.py of the working folder.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, json.dumps(start)],
                env=child_environment(network=network),
                stdin=subprocess.DEVNULL,
                stdout=2 if self._output is None else self._output,
                stderr=self._output,
                pass_fds=[connection.fileno() for connection in inherited],
                start_new_session=True,
            )
        except OSError:
            self._close_files()
            raise
        finally:
            for connection in inherited:
                connection.close()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def rss_mb(self, *, with_children: bool = False) -> float:
        """Return the resident memory in MB, or 0 after the process has ended.

        ``with_children`` adds the memory of the processes that it started. Finding them takes milliseconds.
        """
        import psutil

        try:
            process = psutil.Process(self.pid)
            others = process.children(recursive=True) if with_children else []
            return _resident_mb(process) + sum(map(_resident_mb, others))
        except psutil.NoSuchProcess:
            return 0.0

    def clear_output(self) -> None:
        """Discard the output captured so far."""
        if self._output is not None:
            self._output.seek(0)  # also moves the child's position: both processes share the open file
            self._output.truncate()

    def kill(self) -> None:
        """Send SIGKILL to the process and to the processes it started. Do nothing if it has ended."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    def wait(self, timeout_s: float) -> str:
        """Wait for the process to end, kill it after ``timeout_s``, and return the exit description."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        return self.exit_description

    @property
    def exit_description(self) -> str:
        """The signal or exit status of the process, such as "SIGSEGV" or "exit status 3". Empty while it runs."""
        status = self._process.poll()
        if status is None:
            return ""
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"

    def last_output_line(self) -> str:
        """Return the last line of captured output that is not blank, at most its last 300 characters."""
        if self._output is None:
            return ""
        self._output.seek(0)
        lines = self._output.read().decode("utf-8", "replace").split("\n")
        return next((line.strip()[-_LINE_LENGTH:] for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        """Kill the process if it runs, wait for its end and close all files. May be called again."""
        self.kill()
        self._process.wait()
        self._close_files()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _close_files(self) -> None:
        for connection in (*self.connections, self._lifeline):
            connection.close()
        if self._output is not None:
            self._output.close()


def _resident_mb(process: psutil.Process) -> float:
    import psutil

    try:
        return float(process.memory_info().rss / _MB)
    except psutil.NoSuchProcess:  # it has just ended
        return 0.0


def child_environment(*, network: bool = False, agent: bool = False) -> dict[str, str]:
    """Return the environment variables of this process that a child process needs.

    Only listed variables (paths, languages, options of libraries) are passed on, so the child gets no key or password.
    ``network`` adds proxies and certificates, ``agent`` the agent that has the person's keys of SSH.
    """
    names = (*_NAMES, *(_NETWORK_NAMES if network else ()), *(_AGENT_NAMES if agent else ()))
    prefixes = _PREFIXES + _NETWORK_PREFIXES if network else _PREFIXES
    return {
        name: value for name, value in os.environ.items()
        if (name.upper() in names or name.startswith(prefixes)) and not any(each in name for each in _SECRETS)
    }  # fmt: skip


def run(
    target: str, arguments: Sequence[str | int | float], connections: Sequence[int], lifeline: int, nice: int
) -> None:
    """Run ``target`` in the child process."""
    _end_with_parent(lifeline)
    os.nice(nice)
    main = pkgutil.resolve_name(target)
    main(*map(Connection, connections), *arguments)


def _end_with_parent(lifeline: int) -> None:
    """Ask the kernel to end this process when the parent's end of the pipe closes.

    A closing pipe raises SIGIO, which ends the process by default, even while native code runs or holds the
    interpreter's lock.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    ended = select.poll()  # unlike select.select, takes descriptors above 1023
    ended.register(lifeline, select.POLLIN)
    if ended.poll(0):
        sys.exit("The parent process ended before its child process had started.")
