"""Dependencies that routes declare as parameters: ``candor: CandorDep`` has the services, ``parts`` the jobs."""

from typing import Annotated, cast

from fastapi import Depends, Header, Query
from fastapi.requests import HTTPConnection
from pydantic import Field

from api.auth.permissions import Caller, caller_of, optional_caller_of
from api.bootstrap import Candor
from api.jobs.assembly import ServiceParts
from api.services.documents.selection import Selection


# Dependencies are coroutines, because FastAPI runs other functions in a thread, which costs more than the call itself.
async def _candor(connection: HTTPConnection) -> Candor:
    return cast(Candor, connection.app.state.candor)


async def _parts(connection: HTTPConnection) -> ServiceParts:
    return cast(ServiceParts, connection.app.state.parts)


async def _caller(connection: HTTPConnection) -> Caller:
    return caller_of(connection)


async def _owner(connection: HTTPConnection) -> Caller:
    caller = caller_of(connection)
    caller.require_admin()
    return caller


async def _optional_caller(connection: HTTPConnection) -> Caller | None:
    return optional_caller_of(connection)


CandorDep = Annotated[Candor, Depends(_candor)]
PartsDep = Annotated[ServiceParts, Depends(_parts)]
CurrentCaller = Annotated[Caller, Depends(_caller)]
Owner = Annotated[Caller, Depends(_owner)]
"""A caller with the right 'admin' over all collections. Rejects all others."""
OptionalCaller = Annotated[Caller | None, Depends(_optional_caller)]

Now = Annotated[bool, Query(description="Delete permanently instead of moving to the bin.")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        description="A string that the client generates for one request. Repeating the request with the same key, for "
        "example after a lost connection, starts nothing new. A different request with the same key is rejected.",
        examples=["8b7e2c9a-question-17"],
    ),
]
CollectionsField = Annotated[
    Selection,
    Field(
        default=None,
        description="Name of the collection, or a list of names. `*` means all that the key may read. Optional if "
        "there is only one.",
        examples=["papers", ["papers", "mail"]],
    ),
]
CollectionQuery = Annotated[
    str | None, Query(description="Name of the collection. Optional if there is only one.", examples=["papers"])
]
