"""The processes of several machines, on this one: Postgres, Qdrant, the model endpoint, a service and workers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.chaos.processes import Model, Service
from benchmarks.engine import ROOT, environment
from support.postgres import PostgresServer, find_binaries, restartable_server
from support.qdrant import QdrantNode, find_binary, running_cluster, running_qdrant

STOP_S = 120


class Worker:
    """`candor worker` on a data folder of its own. Its standard error is in a file next to that folder."""

    def __init__(self, home: Path, settings: Mapping[str, str]) -> None:
        self._home, self._settings = home, settings
        self.name = home.name

    def start(self) -> None:
        """Start the process without waiting until it is ready."""
        command = [sys.executable, "-m", "api.cli", "worker", "--json", "--home", str(self._home)]
        with self._home.with_suffix(".log").open("a") as errors:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env={**environment(), **self._settings}, stdout=subprocess.PIPE, stderr=errors,
                text=True,
            )  # fmt: skip

    def wait_until_ready(self) -> None:
        """Wait until the worker takes jobs. Raises RuntimeError if it exits."""
        assert self.process.stdout
        for line in self.process.stdout:
            if line == "}\n":
                return
        raise RuntimeError(f"A worker exited; see {self._home.with_suffix('.log')}.")

    def kill(self) -> None:
        """Send SIGKILL."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Send SIGTERM, and wait."""
        self.process.terminate()
        self.process.wait(STOP_S)


@dataclass(frozen=True)
class Machines:
    """The running processes. The workers have not been started."""

    postgres: PostgresServer
    nodes: Sequence[QdrantNode]
    model: Model
    service: Service
    workers: Sequence[Worker]


@contextmanager
def machines(
    work: Path, workers: int, nodes: int, runs: int, delay_s: tuple[float, float], say: Callable[[str], None]
) -> Iterator[Machines]:
    """Start everything except the workers. Each of them, and the service, executes ``runs`` runs at once."""
    binaries = find_binaries()
    if binaries is None or find_binary() is None:
        raise SystemExit("This needs Postgres and a Qdrant server (`python3 -m benchmarks.fetch_qdrant`).")
    with ExitStack() as stack:
        postgres = stack.enter_context(restartable_server(binaries))
        cluster = stack.enter_context(running_cluster(nodes)) if nodes > 1 else [stack.enter_context(running_qdrant())]
        model = Model(delay_s)
        settings = {
            "CANDOR_DATABASE_URL": postgres.url,
            "CANDOR_STORE__URL": ",".join(node.url for node in cluster),
            **({"CANDOR_STORE__REPLICAS": "2"} if nodes > 1 else {}),
            "CANDOR_SERVICE__UPLOADS_FOLDER": str(work / "uploads"),
            "CANDOR_SERVICE__CONCURRENT_RUNS": str(runs),
            "CANDOR_LLM__PARALLEL": str(runs * (workers + 1)),  # of all processes together; see __main__
            "CANDOR_LLM__PROVIDER": "openai", "CANDOR_LLM__BASE_URL": model.url, "CANDOR_LLM__MODEL": "scripted",
            "CANDOR_LLM__CONTEXT_WINDOW": "64000", "HF_HUB_OFFLINE": "1",
        }  # fmt: skip
        model.start()
        stack.callback(model.kill)
        service = Service(work / "service", work, model, say, settings)
        service.start()
        stack.callback(lambda: service.process.poll() is None and service.stop())
        service.wait_until_up()
        own = [Worker(work / f"worker-{number}", settings) for number in range(1, workers + 1)]
        yield Machines(postgres, cluster, model, service, own)


@contextmanager
def started(workers: Sequence[Worker]) -> Iterator[None]:
    """Start the workers and wait until they take jobs. Stop them at the end of the block."""
    for worker in workers:
        worker.start()
    try:
        for worker in workers:
            worker.wait_until_ready()
        yield
    finally:
        for worker in workers:
            worker.stop()
