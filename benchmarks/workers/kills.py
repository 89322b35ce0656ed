"""Kills workers, and nodes of Qdrant or services and Postgres, every few seconds, and starts them again."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle

import httpx

from benchmarks.workers.machines import Machines, Worker
from support.qdrant import QdrantNode

BETWEEN_S = (3.0, 8.0)
AWAY_S = (0.5, 3.0)


class Kills:
    """Kills the workers in turn, and the nodes in turn. Each kind has a thread.

    With ``restarts``, it restarts Postgres so often, and kills the service, instead of nodes.
    """

    def __init__(self, machines: Machines, seed: int, say: Callable[[str], None], restarts: int = 0) -> None:
        self._machines, self._say = machines, say
        self._ended = threading.Event()
        self.restarts, self.restarted = restarts, 0
        kinds = [("workers", self._kill_worker), ("nodes", self._kill_node)]
        if restarts:
            kinds[1:] = [("services", self._kill_service), ("Postgres", self._restart_postgres)]
        self._threads = [
            threading.Thread(target=self._kill, args=(random.Random(f"{seed} {kind}"), kill), daemon=True)
            for kind, kill in kinds
        ]
        self.workers = self.nodes = self.services = 0
        self._next_worker, self._next_node = cycle(machines.workers), cycle(machines.nodes)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Kill until the end of the block, then wait until everything runs again."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in self._threads:
                thread.join()

    def _kill(self, chosen: random.Random, kill: Callable[[random.Random], None]) -> None:
        while not self._ended.wait(chosen.uniform(*BETWEEN_S)):
            kill(chosen)

    def _kill_worker(self, chosen: random.Random) -> None:
        worker: Worker = next(self._next_worker)
        worker.kill()
        time.sleep(chosen.uniform(*AWAY_S))
        worker.start()
        worker.wait_until_ready()
        self.workers += 1
        self._say(f"{worker.name} was killed and takes jobs again")

    def _kill_service(self, chosen: random.Random) -> None:
        time.sleep(chosen.uniform(*BETWEEN_S))  # its start takes longer than that of a worker
        self._machines.service.kill()
        self._machines.service.wait_until_up()
        self.services += 1
        self._say("the service was killed and responds again")

    def _restart_postgres(self, chosen: random.Random) -> None:
        """Stop Postgres at once and start it again, ``restarts`` times."""
        if self.restarts:
            time.sleep(chosen.uniform(*BETWEEN_S))
            self._machines.postgres.stop()
            time.sleep(chosen.uniform(*AWAY_S))
            self._machines.postgres.start()
            self.restarted += 1
            self.restarts -= 1
            self._say("Postgres was restarted")

    def _kill_node(self, chosen: random.Random) -> None:
        """Kill a node. With two copies of each shard, only one node may be away or behind the others."""
        node: QdrantNode = next(self._next_node)
        node.kill()
        time.sleep(chosen.uniform(*AWAY_S))
        node.start()
        while not _is_whole(self._machines.nodes):
            time.sleep(0.2)
        self.nodes += 1
        self._say(f"node {node.url} was killed and is up to date again")


def _is_whole(nodes: Sequence[QdrantNode]) -> bool:
    """Return whether every copy of every shard is active on every node."""
    try:
        return all(state == "Active" for node in nodes for state in _states(node))
    except httpx.HTTPError:
        return False


def _states(node: QdrantNode) -> Iterator[str]:
    listed = httpx.get(f"{node.url}/collections", timeout=10).raise_for_status().json()
    for found in listed["result"]["collections"]:
        cluster = httpx.get(f"{node.url}/collections/{found['name']}/cluster", timeout=10).raise_for_status().json()
        for shard in (*cluster["result"]["local_shards"], *cluster["result"]["remote_shards"]):
            yield str(shard["state"])
