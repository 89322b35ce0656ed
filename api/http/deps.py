"""What the routes of the service share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header, Query
from fastapi.requests import HTTPConnection

from api.auth.permissions import Caller, Right, caller_of, optional_caller_of
from api.bootstrap import Candor
from api.jobs.research import Runs
from api.jobs.runner import Jobs
from api.services.collection_pool import CollectionPool
from api.workers.contract import Researcher


@dataclass(frozen=True)
class Service:
    """Candor, its open collections, its jobs, its runs, and who does the research."""

    candor: Candor
    pool: CollectionPool
    jobs: Jobs
    runs: Runs
    researcher: Researcher

    def collection(self, caller: Caller, right: Right, name: str | None) -> str:
        """The collection that is meant, the one named or the only one they may read, if they have this right over it.

        Whether it is there is not asked before they are known to have the right. Raises UsageError,
        CollectionNotFound, Forbidden.
        """
        meant = self.candor.collection_name(name, among=caller.readable)
        caller.require(right, meant)
        return meant


# Dependencies are coroutines: FastAPI calls others in a thread, which costs more than the call itself.
async def _of(connection: HTTPConnection) -> Service:
    service: Service = connection.app.state.service
    return service


async def _caller(connection: HTTPConnection) -> Caller:
    return caller_of(connection)


async def _optional_caller(connection: HTTPConnection) -> Caller | None:
    return optional_caller_of(connection)


Served = Annotated[Service, Depends(_of)]
CurrentCaller = Annotated[Caller, Depends(_caller)]
OptionalCaller = Annotated[Caller | None, Depends(_optional_caller)]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="Made up by the client for one request. Sent again with the same request, as after a connection "
        "that broke, it begins nothing new; with another request, it is refused.",
        examples=["8b7e2c9a-question-17"],
    ),
]
CollectionQuery = Annotated[
    str | None, Query(description="Name of the collection; not needed if there is just one.", examples=["papers"])
]
