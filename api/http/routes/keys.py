"""API keys, and the caller's own identity."""

from typing import Annotated

from fastapi import Body, Path
from pydantic import Field

from api.auth.keys import Key, KeyRequest, NewKey
from api.auth.permissions import Caller, Limits, Right
from api.errors import KeyNotFound
from api.http.deps import CandorDep, CurrentCaller, Now
from api.http.errors import problem_responses
from api.http.router import make_router
from api.services.research.runs import find_run
from base.models import FrozenModel
from vectorstore.models import names_in

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
    {"name": "Box on our site", "rights": {"papers": "ask"}, "origins": ["https://example.org"]},
    {"name": "Link for the board", "rights": {"papers": "read"}, "run_id": "run_d65459f7e628"},
]


class Me(FrozenModel):
    """The caller, with their rights and limits."""

    key: str
    user: str = Field(description="id of the user who is signed in or to whom the key belongs")
    signed_in: bool = Field(description="whether a user is signed in, without a key")
    name: str
    owner: bool
    rights: dict[str, Right]
    limits: Limits


@router.get("/me", responses=problem_responses(503))
def me(caller: CurrentCaller) -> Me:
    """Get your own name, rights and limits. Without a key, you are the person at this machine."""
    return describe(caller)


def describe(caller: Caller) -> Me:
    """Return what callers may know about themselves."""
    return Me(
        key=caller.key, user=caller.user, signed_in=caller.signed_in, name=caller.name, owner=caller.is_admin,
        rights=dict(caller.rights), limits=caller.limits,
    )  # fmt: skip


@router.get("/keys", responses=problem_responses(503))
def keys(candor: CandorDep, caller: CurrentCaller) -> list[Key]:
    """List all keys without their secrets, newest first, including expired and revoked keys.

    Owners get all keys, users who are signed in get their own.
    """
    return candor.keys.list(_own_user(caller))


@router.post("/keys", status_code=201, responses=problem_responses(404, 422, 503))
def add(candor: CandorDep, caller: CurrentCaller, key: Annotated[KeyRequest, Body(examples=_EXAMPLES)]) -> NewKey:
    """Create a key. The response contains the secret, which cannot be retrieved later.

    A user who is signed in creates keys of their own. A key of a user can never do more than the user. With `run_id`,
    the key opens only the page `/shared/KEY` with the answer of this run and the pages that it cites, until you revoke
    it or may no longer read the run. With `origins`, pages of other sites show answers from the collection: this
    needs the right `admin` over it.
    """
    own = _own_user(caller)
    if key.origins:
        caller.require(Right.ADMIN, *key.rights)
    if own or key.user_id:
        key = key.model_copy(update={"user_id": candor.users.get(own or key.user_id or "").id})
    if key.run_id:
        run = find_run(candor.trace, key.run_id, caller)
        rights = dict.fromkeys(names_in(run.collection), Right.READ)
        key = key.model_copy(update={"run_id": run.run_id, "rights": rights})
    return candor.keys.add(key)


@router.delete("/keys/{key}", responses=problem_responses(404, 422, 503))
def revoke(candor: CandorDep, caller: CurrentCaller, key: KeyId, now: Now = False) -> Key:
    """Revoke a key. It stays in the list, so that the audit log can name it. A restore makes it valid again.

    With `now`, its secret is erased, and nobody can restore it.
    """
    own = _own_user(caller)
    found = candor.keys.get(key)
    if own and found.user_id != own:
        raise KeyNotFound(f"There is no key {key!r}.")
    return candor.bin.delete_key(found, caller, now=now)


def _own_user(caller: Caller) -> str | None:
    """Return the user to whose keys the caller is limited, or None for an owner. Raises Forbidden for others."""
    if caller.signed_in and not caller.is_admin:
        return caller.user
    caller.require_admin()
    return None
