"""Makes sure that no service works on the data of a home folder, for commands that copy all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

import sqlalchemy as sql

from api.errors import UsageError
from api.jobs.locks import lock_database, lock_home
from api.jobs.queue import count_unfinished
from api.settings import Settings


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
