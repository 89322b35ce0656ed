"""The job queue on DBOS: its database, its queues, and one workflow per kind of job.

With a Postgres database and a Qdrant server, all processes share one queue for each kind of job. Otherwise, and for
ingests of uploads that only their own service can read, each service has queues of its own.

Only this module and ``dbos_internals.py`` use DBOS.

A process has at most one DBOS instance, and therefore at most one service. It can call ``launch`` and ``destroy``
repeatedly.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from uuid import uuid4

import sqlalchemy as sql
from dbos import DBOS, DBOSClient, WorkflowStatus
from dbos import error as dbos_error
from pydantic import AwareDatetime, BaseModel

from api.errors import HomeError, JobDamaged, JobNotFound, UsageError
from api.jobs import dbos_internals
from api.jobs.dbos_internals import FORMAT
from api.jobs.locks import lock_database, lock_home, start_lock
from api.jobs.models import Job, JobKind, JobSpec, JobStatus, Outcome
from api.settings import Settings
from api.storage.home import create_home
from api.storage.live_processes import OF_SERVICE, SERVICE
from multi_agent.llm.probe import Check

FILE = "jobs.db"
_HOME_FILE = "jobs.owner"  # the id under which DBOS knows the service of this home folder
_THREADS = 64
_PAGE = 1_000  # jobs
_TICKS = 600_000_000  # 69 days in units of 10 ms
_POLL_S = {JobKind.RESEARCH: 0.2, JobKind.INGEST: 0.5, JobKind.EVALUATION: 1.0, JobKind.TABLE: 1.0}
"""Polling intervals. Research is interactive. Each poll costs about 3 ms of CPU time, even if the queue is empty."""
_DAMAGED = Outcome(status=JobStatus.FAILED, error="The record of this job is damaged. Send its request again.")
_STATUSES = {
    "ENQUEUED": JobStatus.WAITING,
    "DELAYED": JobStatus.WAITING,
    "PENDING": JobStatus.RUNNING,
    "SUCCESS": JobStatus.DONE,
    "ERROR": JobStatus.FAILED,
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": JobStatus.FAILED,
    "CANCELLED": JobStatus.CANCELLED,
}


class _Attributes(BaseModel):
    """The attributes of a job in the database, without its spec."""

    collection: str
    key: str
    at: AwareDatetime | None = None
    deaths: int = 0  # how many workers of services ended while they ran it
    has_turn: bool = False  # whether a job that a worker ended with before runs now


_FORGOTTEN = _Attributes(collection="", key="")


@dataclass(frozen=True)
class StoredJob:
    """A job as the queue stores it, with its spec and the id of the process that runs it."""

    job: Job
    spec: JobSpec
    executor: str | None
    deaths: int
    """How many workers of services ended while they ran it."""


class JobQueue:
    """DBOS on the configured database. Belongs to the event loop that calls ``launch``."""

    def __init__(
        self,
        settings: Settings,
        kinds: Collection[JobKind] = tuple(JobKind),
        worker_id: str | None = None,
        *,
        serves: bool = False,
    ) -> None:
        """Create the queue of a process that takes these kinds of job. It can submit all kinds.

        ``worker_id`` is the id of the worker of a service, from the ``new_worker_id`` of the service.
        """
        self._settings, self._kinds, self._worker_id = settings, kinds, worker_id
        self._separator = SERVICE if serves else "."
        self._last_tick = 0

    @cached_property
    def home_id(self) -> str:
        """The id of the home folder. Raises HomeError."""
        return _home_id(self._settings.home)

    @cached_property
    def executor(self) -> str:
        """The id of this process. A service that is alone keeps the id of its home folder. Raises HomeError."""
        return self._worker_id or self.home_id + self._suffix(self._separator)

    @property
    def earlier(self) -> str:
        """The beginning of the ids of processes that have ended when this one starts."""
        return self.home_id + OF_SERVICE if self._worker_id else self.home_id

    def new_worker_id(self) -> str:
        """Return an id for the next worker of this service."""
        return self.home_id + OF_SERVICE + self._suffix()

    def _suffix(self, separator: str = "") -> str:
        return separator + token_hex(4) if self._settings.shares_jobs else ""

    async def launch(self, execute: Callable[[str], Awaitable[str]]) -> None:
        """Start passing job specs as JSON to ``execute``, beginning with unfinished jobs of this home folder.

        Raises HomeError, SQLAlchemyError.
        """
        DBOS(
            config={
                "name": "candor",
                "application_version": FORMAT,
                "executor_id": self.executor,
                "system_database_url": _database_url(self._settings),
                "log_level": "ERROR",
                "max_executor_threads": _THREADS,
                "sys_db_pool_size": self._settings.service.database_pools[1],
                # Candor sends no notifications, so DBOS needs no connection to hear them. DBOS.destroy waits until the
                # thread that polls for them looks up.
                "use_listen_notify": False,
                "notification_listener_polling_interval_sec": 0.1,
                "serializer": dbos_internals.json_serializer(),
            }
        )

        for kind in self.limits:
            _register_workflow(kind.value, execute)
        # The database may also contain the queues of the service's worker and of other services.
        if self._settings.database_url is not None or len(self.limits) < len(JobKind):
            DBOS.listen_queues(
                [name for kind in self.limits for name in (self._queue_name(kind), self._own_name(kind))]
            )
        url = self._settings.database_url
        async with start_lock(url.get_secret_value()) if url else nullcontext():
            DBOS.launch()  # called in the event loop's thread, so DBOS runs the workflows in this loop
        if not self._settings.shares_jobs and not self._worker_id:  # its last worker has ended with the last service
            await self._hand_out("executor_id = :id", id=self.home_id + OF_SERVICE)
        for kind, concurrency in self.limits.items():
            waits_here = kind is JobKind.INGEST
            waiting = 2 * concurrency if self._settings.shares_jobs else _THREADS  # leave some to the others
            await DBOS.register_queue_async(
                self._queue_name(kind),
                worker_concurrency=waiting if waits_here else concurrency,
                # DBOS has one partition per key. Only ingests have a limit per key: others end soon.
                partition_worker_concurrency=max(1, concurrency // 2) if waits_here else concurrency,
                polling_interval_sec=_POLL_S[kind],
                on_conflict="always_update",
            )

    @property
    def limits(self) -> Mapping[JobKind, int]:
        """The maximum number of concurrent jobs of each kind that this process takes."""
        service = self._settings.service
        limits = {
            JobKind.RESEARCH: service.concurrent_runs,
            JobKind.INGEST: service.concurrent_ingests,
            JobKind.EVALUATION: 1,
            JobKind.TABLE: 1,
        }
        return {kind: limit for kind, limit in limits.items() if kind in self._kinds}

    async def destroy(self) -> None:
        """Close the database. No workflow may be running. Idempotent."""
        # DBOS replaced the loop's default executor with its own, which ends with it.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(thread_name_prefix="candor"))
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)

    async def enqueue(self, spec: JobSpec) -> bool:
        """Add a job. Return False if a job with the same id exists, which stays unchanged."""
        attributes = {"kind": spec.kind.value, "collection": spec.collection, "key": spec.key, "at": time.time()}
        try:
            await DBOS.enqueue_workflow_with_options_async(
                {
                    "workflow_name": spec.kind.value,
                    "queue_name": self._queue_name(spec.kind),
                    "workflow_id": spec.id,
                    "workflow_id_reuse_policy": "reject",
                    "app_version": FORMAT,
                    "priority": self._dbos_priority(spec.priority.rank),
                    "queue_partition_key": f"key:{spec.key}",
                    "attributes": attributes,
                },
                spec.model_dump_json(),
            )
        except dbos_error.DBOSWorkflowIDInUseError:
            return False
        return True

    async def get(self, job_id: str) -> StoredJob:
        """Return a job. Raises JobNotFound, JobDamaged."""
        found = await DBOS.get_workflow_status_async(job_id)
        if found is None:
            raise JobNotFound(job_id)
        attributes = _read_attributes(found)
        if attributes is None or not isinstance(found.input, dict):  # text if it cannot be read
            raise JobDamaged(job_id)
        spec = JobSpec.model_validate_json(found.input["args"][0])
        return StoredJob(job=_to_job(found), spec=spec, executor=found.executor_id, deaths=attributes.deaths)

    async def is_running_here(self, job_id: str) -> bool:
        """Return whether DBOS has handed out the job to this process, and not to another one since."""
        found = await DBOS.get_workflow_status_async(job_id)
        return found is not None and (found.status, found.executor_id) == ("PENDING", self.executor)

    async def list(self, kinds: Sequence[JobKind], statuses: Set[JobStatus], limit: int, offset: int) -> list[Job]:
        """Return a page of jobs, newest first. It may contain jobs of other statuses, which the caller filters out."""
        names = {name for name, status in _STATUSES.items() if status in statuses}
        if JobStatus.WAITING in statuses:
            names.add("PENDING")  # an ingest that this process has taken from the queue may wait for a slot
        if statuses & {JobStatus.FAILED, JobStatus.CANCELLED}:
            names.add("SUCCESS")  # a workflow that returned an outcome; the outcome has the status of the job
        found = await DBOS.list_workflows_async(
            name=[kind.value for kind in kinds],
            status=sorted(names),
            limit=limit,
            offset=offset,
            sort_desc=True,
            load_input=False,
        )
        return [_to_job(each) for each in found]

    async def cancel(self, job_id: str) -> None:
        """Remove a job from its queue."""
        await DBOS.cancel_workflow_async(job_id)

    async def resume(self, job_id: str) -> bool:
        """Hand out an unfinished job of this process again. Return False if it has ended or runs elsewhere."""
        condition = "executor_id = :executor AND workflow_uuid = :job"
        return await self._hand_out(condition, executor=self.executor, job=job_id) > 0

    async def count_deaths(self, worker_id: str) -> None:
        """Count in the jobs of a worker that it ended. Of those that a worker ended with before, one had its turn."""
        for each in await DBOS.list_workflows_async(executor_id=worker_id, status="PENDING", load_input=False):
            known = _read_attributes(each) or _FORGOTTEN
            if not known.deaths or known.has_turn:
                await DBOS.update_workflow_attributes_async(each.workflow_id, {"deaths": known.deaths + 1}, merge=True)

    async def set_turn(self, job_id: str, *, has_turn: bool) -> None:
        """Store whether a job that a worker ended with before runs now, or waits for the others of its kind."""
        await DBOS.update_workflow_attributes_async(job_id, {"has_turn": has_turn}, merge=True)

    async def _hand_out(self, condition: str, **values: str) -> int:
        def hand_out() -> int:
            with _connect(self._settings) as connection:
                return dbos_internals.hand_out(connection, condition, **values)

        return await asyncio.to_thread(hand_out)

    def _queue_name(self, kind: JobKind) -> str:
        settings = self._settings
        if settings.database_url is None:
            return kind.value
        shared = settings.shares_jobs and (kind is not JobKind.INGEST or settings.service.uploads_folder is not None)
        return f"shared {kind.value}" if shared else self._own_name(kind)

    def _own_name(self, kind: JobKind) -> str:
        return f"{kind.value} of {self.home_id}"

    def _dbos_priority(self, rank: int) -> int:
        """Return DBOS's priority number, which orders the jobs of one key by rank, then by time.

        DBOS orders by this number, then by creation time, which its SQLite tables store in whole seconds. The number
        therefore includes the time. It wraps around every 69 days, and newer jobs then start before waiting ones.
        """
        self._last_tick = max(self._last_tick + 1, int(time.time() * 100))
        return rank * _TICKS + self._last_tick % _TICKS


def count_unfinished(settings: Settings) -> int:
    """Return the number of unfinished jobs of all services on the database, without starting the queue."""
    if settings.database_url is None and not (settings.home / FILE).exists():
        return 0
    with _connect(settings) as connection:
        return dbos_internals.count_unfinished(connection)


def require_sound(settings: Settings) -> None:
    """Raise HomeError if the jobs in the data folder cannot be read. A job with damaged attributes has failed."""
    if settings.database_url is not None or not (settings.home / FILE).exists():
        return
    try:
        with _connect(settings) as connection:
            found = connection.scalar(sql.text("PRAGMA quick_check(1)"))
            dbos_internals.forget_damaged_attributes(connection)
    except sql.exc.DatabaseError as error:
        found = error.orig
        if getattr(found, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise HomeError(
                f"{str(settings.home / FILE)!r}, the list of jobs, is locked by another process. Try again later, or "
                "end that process."
            ) from error
    if str(found) != "ok":
        raise HomeError(
            f"{str(settings.home / FILE)!r}, the list of jobs, is damaged ({found}). Restore a backup, or delete this "
            "file: documents and runs stay, and jobs that had not ended are lost."
        )


def check_jobs(settings: Settings) -> Iterator[Check]:
    """Yield a check if jobs on the database cannot be read, without starting the queue."""
    try:
        damaged = _find_damaged(settings)
    except (HomeError, sql.exc.SQLAlchemyError) as error:
        remedy = f"{error} A service that starts upgrades the list of jobs."
        yield Check(name="jobs", ok=False, detail="cannot be listed", remedy=remedy)
        return
    if damaged:
        detail = f"damaged records: {', '.join(damaged)}. Send these requests again; other jobs are not affected"
        yield Check(name="jobs", ok=True, detail=detail)


def _find_damaged(settings: Settings) -> Sequence[str]:
    require_sound(settings)
    if settings.database_url is None and not (settings.home / FILE).exists():
        return ()
    with _connect(settings) as connection:
        if not dbos_internals.has_table(connection, "attributes"):
            return ()
    client = DBOSClient(system_database_url=_database_url(settings), serializer=dbos_internals.json_serializer())
    try:
        return list(_damaged_of(client))
    finally:
        client.destroy()


def _damaged_of(client: DBOSClient) -> Iterator[str]:
    offset = 0
    while found := client.list_workflows(load_input=False, limit=_PAGE, offset=offset):
        yield from (each.workflow_id for each in found if not _read_attributes(each) or _read_outcome(each) is _DAMAGED)
        offset += len(found)


@contextmanager
def _connect(settings: Settings) -> Iterator[sql.Connection]:
    """Open DBOS's database in a transaction of its own."""
    engine = sql.create_engine(_database_url(settings))
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def _to_job(found: WorkflowStatus) -> Job:
    """Return a stored job. A damaged one has failed, so that the others can be listed."""
    attributes, outcome = _read_attributes(found) or _FORGOTTEN, _read_outcome(found)
    return Job(
        id=found.workflow_id,
        kind=JobKind(found.name),
        collection=attributes.collection,
        key=attributes.key,
        status=outcome.status if outcome else _STATUSES[found.status],
        created_at=attributes.at or datetime.fromtimestamp((found.created_at or 0) / 1000, UTC),
        started_at=_to_datetime(found.dequeued_at),
        ended_at=_to_datetime(found.completed_at),
        progress=outcome.progress if outcome else None,
        result=outcome.result if outcome else None,
        error=outcome.error if outcome else _error_text(found.error),
    )


def _read_outcome(found: WorkflowStatus) -> Outcome | None:
    try:
        return Outcome.model_validate_json(found.output) if found.output else None
    except ValueError:
        return _DAMAGED


def _read_attributes(found: WorkflowStatus) -> _Attributes | None:
    """Return the attributes of a stored job. None if they are damaged or were forgotten."""
    try:
        return _Attributes.model_validate(found.attributes)
    except ValueError:
        return None


def _error_text(error: Exception | str | None) -> str | None:
    """Return the message of an error. DBOS returns pickled errors of older versions as text."""
    if isinstance(error, str):
        return "The job's record is a Python object, which Candor does not load. Send the request again."
    return str(error) if error else None


def _to_datetime(milliseconds: int | None) -> datetime | None:
    return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None


def _register_workflow(name: str, execute: Callable[[str], Awaitable[str]]) -> None:
    @DBOS.workflow(name=name)
    async def job(content: str) -> str:
        return await execute(content)


def _home_id(home: Path) -> str:
    """Return the id of this home folder. Create it on first use."""
    file = create_home(home) / _HOME_FILE
    if not file.exists():
        temporary = file.with_name(f"{file.name}.{os.getpid()}")
        temporary.write_text(f"service-{uuid4()}", encoding="utf-8")
        temporary.replace(file)
    return file.read_text(encoding="utf-8")


def _database_url(settings: Settings) -> str:
    """Return the URL of DBOS's tables: a schema of its own in Candor's Postgres database, or an SQLite file.

    On SQLite, DBOS has its own file because it writes at any time. In ``candor.db``, its writes would block the event
    loop, which stores the events of all runs there.
    """
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    url = sql.URL.create("sqlite", database=str(create_home(settings.home) / FILE))
    engine = sql.create_engine(url)
    with engine.connect() as connection:
        connection.execute(sql.text("PRAGMA journal_mode=WAL"))  # persistent: readers do not block the writer
    engine.dispose()
    return url.render_as_string()


@contextmanager
def no_service(settings: Settings, engines: Iterable[sql.Engine]) -> Iterator[None]:
    """Keep services from starting on the home folder and the databases until the end of the block.

    Raises UsageError if one runs, or if there are unfinished jobs.
    """
    with ExitStack() as locks:
        locks.enter_context(lock_home(settings.home))
        for engine in engines:
            try:
                locks.enter_context(lock_database(engine, None))
            except UsageError as error:
                raise UsageError(
                    "A service uses one of the databases. Stop all services that use it, and run the command again."
                ) from error
        if unfinished := count_unfinished(settings):
            raise UsageError(
                f"The service has {unfinished} unfinished jobs, which cannot be copied. Start it with `candor serve`, "
                "wait until they have ended or cancel them, stop the service, and run the command again."
            )
        yield
