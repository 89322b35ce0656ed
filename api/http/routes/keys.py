"""API keys, and the caller's own identity."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path

from api.auth.keys import Key, KeyRequest, NewKey
from api.auth.permissions import Limits, Right
from api.http.deps import CandorDep, CurrentCaller, Owner
from api.http.errors import problem_responses
from api.http.router import make_router
from base.models import FrozenModel

router = make_router(prefix="/v1", tags=["keys"])

KeyId = Annotated[
    str,
    Path(
        description="Id of the key: the part between `candor_` and the secret.",
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
    """The caller, with their rights and limits."""

    key: str
    name: str
    owner: bool
    rights: dict[str, Right]
    limits: Limits


@router.get("/me", responses=problem_responses(503))
def me(caller: CurrentCaller) -> Me:
    """Get your own name, rights and limits. Without a key, you are the person at this machine."""
    return Me(key=caller.key, name=caller.name, owner=caller.is_admin, rights=dict(caller.rights), limits=caller.limits)


@router.get("/keys", responses=problem_responses(503))
def keys(candor: CandorDep, caller: Owner) -> list[Key]:
    """List all keys without their secrets, newest first, including expired and revoked keys."""
    return candor.keys.list()


@router.post("/keys", status_code=201, responses=problem_responses(422, 503))
def add(candor: CandorDep, caller: Owner, key: Annotated[KeyRequest, Body(examples=_EXAMPLES)]) -> NewKey:
    """Create a key. The response contains the secret, which cannot be retrieved later."""
    return candor.keys.add(key)


@router.delete("/keys/{key}", responses=problem_responses(404, 422, 503))
def revoke(candor: CandorDep, caller: Owner, key: KeyId) -> Key:
    """Revoke a key. It stays in the list, so that the audit log can name it."""
    return candor.keys.revoke(key)
