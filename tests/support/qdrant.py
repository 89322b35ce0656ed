"""Real Qdrant servers and clusters on free ports of localhost, each with its own temporary folder.

`python3 -m benchmarks.fetch_qdrant` fetches the server. Without it, tests that need one are skipped with that command.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from qdrant_client import QdrantClient

from support.ports import free_port
from support.waiting import LIMIT_S, until
from vectorstore.qdrant_server.connection import ServerConnection
from vectorstore.qdrant_server.store import ServerStore

FETCHED = Path(__file__).parents[2] / ".qdrant" / "qdrant"


def find_binary() -> Path | None:
    """Return the server's binary: $TEST_QDRANT, the fetched one, or one on the PATH. None if there is none."""
    named, on_path = os.environ.get("TEST_QDRANT"), shutil.which("qdrant")
    candidates = [Path(found) for found in (named, FETCHED, on_path) if found]
    return next((path for path in candidates if path.exists()), None)


needs_qdrant = pytest.mark.skipif(
    find_binary() is None, reason="no Qdrant server; fetch it with `python3 -m benchmarks.fetch_qdrant`"
)


def memory_store(client: QdrantClient | None = None) -> ServerStore:
    """Return the store of a server without a server: the local mode of the client."""
    return ServerStore(memory_server(client))


def memory_server(client: QdrantClient | None = None) -> ServerConnection:
    """Return a connection to the local mode of the client."""
    return ServerConnection({"memory": client or QdrantClient(":memory:")})


class QdrantNode:
    """One Qdrant process. It keeps its folder and ports when it is killed and started again."""

    def __init__(self, folder: Path, *, cluster: bool = False, bootstrap: str | None = None) -> None:
        self._folder, self._cluster, self._bootstrap = folder, cluster, bootstrap
        self._http, self._grpc, self._peers = free_port(), free_port(), free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where clients connect to."""
        return f"http://127.0.0.1:{self._http}"

    @property
    def folder(self) -> Path:
        """Its data."""
        return self._folder

    @property
    def pid(self) -> int:
        """The id of the running process."""
        assert self._process is not None
        return self._process.pid

    @property
    def peer_uri(self) -> str:
        """Where the other nodes of the cluster connect to."""
        return f"http://127.0.0.1:{self._peers}"

    def start(self) -> None:
        """Start the process and wait until it answers requests."""
        binary = find_binary()
        assert binary, "no Qdrant server"
        self._folder.mkdir(parents=True, exist_ok=True)
        command = [str(binary), "--disable-telemetry"]
        if self._cluster:
            command += ["--uri", self.peer_uri]
            command += ["--bootstrap", self._bootstrap] if self._bootstrap else []
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self._folder, env=self._environment(), stdout=log, stderr=subprocess.STDOUT
            )
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until the node answers and, in a cluster, has reached the others' state."""
        until(self._is_ready)

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "log").read_text()
        try:
            return httpx.get(f"{self.url}/readyz", timeout=LIMIT_S).is_success
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """Kill the process. The folder stays."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the process as an operator does, with SIGTERM. The folder stays."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(LIMIT_S)
            self._process = None

    def lose_data(self) -> None:
        """Delete the folder of a node that does not run, as a lost volume does."""
        assert self._process is None
        shutil.rmtree(self._folder)

    def _environment(self) -> dict[str, str]:
        settings = {
            "QDRANT__STORAGE__STORAGE_PATH": str(self._folder / "storage"),
            "QDRANT__STORAGE__SNAPSHOTS_PATH": str(self._folder / "snapshots"),
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": str(self._http),
            "QDRANT__SERVICE__GRPC_PORT": str(self._grpc),
            "QDRANT__CLUSTER__ENABLED": str(self._cluster).lower(),
            "QDRANT__CLUSTER__P2P__PORT": str(self._peers),
            "QDRANT__CLUSTER__CONSENSUS__TICK_PERIOD_MS": "100",
            "QDRANT__LOG_LEVEL": "WARN",
        }
        return os.environ | settings


@contextmanager
def running_qdrant() -> Iterator[QdrantNode]:
    """Start one server and yield it."""
    with _folder() as folder:
        node = QdrantNode(folder / "node")
        try:
            node.start()
            yield node
        finally:
            node.kill()


@contextmanager
def running_cluster(size: int) -> Iterator[list[QdrantNode]]:
    """Start a cluster and yield its nodes once each of them knows all the others."""
    nodes: list[QdrantNode] = []
    with _folder() as folder:
        try:
            for number in range(size):
                bootstrap = nodes[0].peer_uri if nodes else None
                nodes.append(QdrantNode(folder / str(number), cluster=True, bootstrap=bootstrap))
                nodes[-1].start()
            until(lambda: all(_peers(node) == size for node in nodes))
            yield nodes
        finally:
            for node in nodes:
                node.kill()


def _peers(node: QdrantNode) -> int:
    status = httpx.get(f"{node.url}/cluster", timeout=LIMIT_S).json()
    return len(status["result"]["peers"])


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="candor-qdrant-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
