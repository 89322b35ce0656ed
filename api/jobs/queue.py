"""The one file that knows DBOS: its database, its queues, its workflows, one for each kind of job.

A process has at most one DBOS, so it has at most one service. ``launch`` and ``destroy`` may follow each other any
number of times.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import sqlalchemy as sql

from api.errors import HomeError, JobNotFound, UsageError
from api.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dbos import WorkflowStatus

    from api.jobs.runner import JobKind, Order

FILE = "jobs.db"
_OWNER = "jobs.owner"  # holds the name under which DBOS knows the service of this home folder
_LOCK = "jobs.lock"
_FORMAT = "1"  # of what a job is asked with: jobs of another one are left to the version of Candor that made them
_THREADS = 64
_TICKS = 600_000_000
_POLL_S = {"research": 0.2, "ingest": 0.5, "evaluation": 1.0}
"""A person waits for an answer, but each look takes some 3 ms of processor time, also when there is nothing to do."""


class JobQueue:
    """DBOS over the settings' database. Belongs to the event loop in which it is launched."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._last = 0

    async def launch(self, perform: Callable[[str], Awaitable[str]]) -> None:
        """Begin to hand out orders to ``perform``, as JSON; first what the last process of this home left unfinished.

        Raises HomeError, SQLAlchemyError.
        """
        from dbos import DBOS

        self.executor = _owner(self._settings.home)
        DBOS(
            config={
                "name": "candor",
                "application_version": _FORMAT,
                "executor_id": self.executor,
                "system_database_url": _database(self._settings),
                "log_level": "ERROR",
                "max_executor_threads": _THREADS,
            }
        )

        for kind in self.limits:
            _register(kind.value, perform)
        if self._settings.database_url is not None:  # where the queues of other services stand, too
            DBOS.listen_queues([self._queue(kind) for kind in self.limits])
        DBOS.launch()  # in the event loop's own thread: so DBOS runs the workflows in it
        for kind, at_once in self.limits.items():
            await DBOS.register_queue_async(
                self._queue(kind),
                worker_concurrency=at_once,
                partition_worker_concurrency=at_once,  # none of its own; it makes a partition for every key
                polling_interval_sec=_POLL_S[kind],
                on_conflict="always_update",
            )

    @property
    def limits(self) -> Mapping[JobKind, int]:
        """How many jobs of each kind are done at once."""
        from api.jobs.runner import JobKind

        service = self._settings.service
        return {
            JobKind.RESEARCH: service.concurrent_runs,
            JobKind.INGEST: service.concurrent_ingests,
            JobKind.EVALUATION: 1,
        }

    async def destroy(self) -> None:
        """Let go of the database. No workflow may be under way any more. Idempotent."""
        from dbos import DBOS

        # DBOS had made its own threads those of the loop, and they end with it.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(thread_name_prefix="candor"))
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)

    async def enqueue(self, order: Order) -> bool:
        """Whether it is new: an order of an id that there is already is left out."""
        from dbos import DBOS, error

        told = {"kind": order.kind.value, "collection": order.collection, "key": order.key, "at": time.time()}
        try:
            await DBOS.enqueue_workflow_with_options_async(
                {
                    "workflow_name": order.kind.value,
                    "queue_name": self._queue(order.kind),
                    "workflow_id": order.id,
                    "workflow_id_reuse_policy": "reject",
                    "app_version": _FORMAT,
                    "priority": self._place(order.priority.rank),
                    "queue_partition_key": f"key:{order.key}",
                    "attributes": told,
                },
                order.model_dump_json(),
            )
        except error.DBOSWorkflowIDInUseError:
            return False
        return True

    def _queue(self, kind: JobKind) -> str:
        """Where several services may share a database, each has its own: what was uploaded lies in its home folder."""
        return kind.value if self._settings.database_url is None else f"{kind.value} of {self.executor}"

    def _place(self, rank: int) -> int:
        """Where it stands among those of its own key: by rank, then as they came.

        DBOS orders by a number and then by the time, which its SQLite knows by the second only: so the number holds
        the time, too. It begins anew every 69 days; whoever waits at that moment is overtaken once.
        """
        self._last = max(self._last + 1, int(time.time() * 100))
        return rank * _TICKS + self._last % _TICKS

    async def find(self, job_id: str) -> WorkflowStatus:
        """What DBOS knows of a job. Raises JobNotFound."""
        from dbos import DBOS

        found = await DBOS.get_workflow_status_async(job_id)
        if found is None or not found.attributes:
            raise JobNotFound(job_id)
        return found

    async def latest(
        self, kinds: Sequence[JobKind], statuses: Sequence[str], limit: int, offset: int
    ) -> list[WorkflowStatus]:
        """Jobs, newest first."""
        from dbos import DBOS

        return await DBOS.list_workflows_async(
            name=[kind.value for kind in kinds],
            status=list(statuses),
            limit=limit,
            offset=offset,
            sort_desc=True,
            load_input=False,
        )

    async def cancel(self, job_id: str) -> None:
        """Take it out of its queue."""
        from dbos import DBOS

        await DBOS.cancel_workflow_async(job_id)


@contextmanager
def only_service(home: Path) -> Iterator[None]:
    """One service at a time works on the jobs of a home folder. Raises UsageError for a second one, HomeError."""
    from filelock import FileLock, Timeout

    lock = FileLock(_folder(home) / _LOCK, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise UsageError(
            f"Another `candor serve` works on the home folder {str(home)!r}: end it, or name another folder with "
            "--home."
        ) from error
    try:
        yield
    finally:
        lock.release()


def _register(name: str, perform: Callable[[str], Awaitable[str]]) -> None:
    from dbos import DBOS

    @DBOS.workflow(name=name)
    async def job(content: str) -> str:
        return await perform(content)


def _owner(home: Path) -> str:
    """The name of this home's service, made when it is first started: under it, it finds what it left unfinished."""
    file = _folder(home) / _OWNER
    if not file.exists():
        made = file.with_name(f"{file.name}.{os.getpid()}")
        made.write_text(f"service-{uuid4()}", encoding="utf-8")
        made.replace(file)
    return file.read_text(encoding="utf-8")


def _folder(home: Path) -> Path:
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HomeError(f"The home folder {str(home)!r} cannot be made ({error.strerror}).") from error
    return home


def _database(settings: Settings) -> str:
    """The URL of DBOS's tables: in Postgres beside Candor's own, in a schema of theirs; else a file."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    url = f"sqlite:///{_folder(settings.home) / FILE}"
    engine = sql.create_engine(url)
    with engine.connect() as connection:
        connection.execute(sql.text("PRAGMA journal_mode=WAL"))  # stays with the file: readers beside one writer
    engine.dispose()
    return url
