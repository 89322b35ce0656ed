"""Keys, and who one is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path

from api.auth.keys import Key, KeyRequest, NewKey
from api.auth.permissions import Limits, Right
from api.http.deps import CurrentCaller, Served
from api.http.errors import problems
from vectorstore.models import FrozenModel

router = APIRouter(prefix="/v1", tags=["keys"])

KeyId = Annotated[
    str,
    Path(
        description="The key's id, which stands between `candor_` and the secret.",
        pattern="^[0-9a-f]{12}$",
        examples=["3f9a1c07be52"],
    ),
]
_EXAMPLES = [
    {"name": "Reading room", "rights": {"papers": "read"}, "limits": {"requests_per_day": 1000}},
    {"name": "Nightly ingest", "rights": {"papers": "write"}, "expires_at": "2031-01-01T00:00:00Z"},
    {"name": "The second owner", "rights": {"*": "admin"}},
]


class Me(FrozenModel):
    """Who asks, and what they may do."""

    key: str
    name: str
    owner: bool
    rights: dict[str, Right]
    limits: Limits


@router.get("/me", responses=problems(503))
def me(caller: CurrentCaller) -> Me:
    """Who you are to the service, and what you may do; without a key, the person at this machine."""
    return Me(key=caller.key, name=caller.name, owner=caller.is_admin, rights=dict(caller.rights), limits=caller.limits)


@router.get("/keys", responses=problems(503))
def keys(service: Served, caller: CurrentCaller) -> list[Key]:
    """All keys, the newest first, without their secrets; also those that are not valid any more."""
    caller.require_admin()
    return service.candor.keys.list()


@router.post("/keys", status_code=201, responses=problems(422, 503))
def add(service: Served, caller: CurrentCaller, order: Annotated[KeyRequest, Body(examples=_EXAMPLES)]) -> NewKey:
    """Make a key. The answer holds what has to be sent with every request; nobody can look it up again."""
    caller.require_admin()
    return service.candor.keys.add(order)


@router.delete("/keys/{key}", responses=problems(404, 422, 503))
def revoke(service: Served, caller: CurrentCaller, key: KeyId) -> Key:
    """Make a key useless from now on. It stays in the list, so that what was done with it can be told."""
    caller.require_admin()
    return service.candor.keys.revoke(key)
