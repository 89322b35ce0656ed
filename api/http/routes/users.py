"""Users and groups. Only owners may call these."""

from typing import Annotated

from fastapi import Body, Path, Request
from pydantic import Field

from api.auth.sessions import TokenKind
from api.auth.users import NAME_PATTERN, GrantedRights, Group, NewUser, User, UserChange
from api.http.deps import CandorDep, Owner
from api.http.errors import problem_responses
from api.http.router import make_router
from base.models import FrozenModel

router = make_router(prefix="/v1", tags=["users"])

UserId = Annotated[str, Path(description="Id of the user.", pattern="^[0-9a-f]{12}$", examples=["3f9a1c07be52"])]
GroupName = Annotated[
    str, Path(description="Name of the group.", max_length=100, pattern=NAME_PATTERN, examples=["Editors"])
]
_EXAMPLES = [{"name": "ada", "groups": ["Editors"]}, {"name": "ben", "rights": {"papers": "read"}}]


class Invitation(FrozenModel):
    """A link with which a user chooses a password."""

    link: str


class GroupChange(FrozenModel):
    """The rights of a group."""

    rights: GrantedRights = Field(examples=[{"papers": "write"}])


@router.get("/users", responses=problem_responses(503))
def users(candor: CandorDep, caller: Owner) -> list[User]:
    """List all users, by name."""
    return candor.users.list()


@router.post("/users", status_code=201, responses=problem_responses(404, 422, 503))
def add(candor: CandorDep, caller: Owner, user: Annotated[NewUser, Body(examples=_EXAMPLES)]) -> User:
    """Add a user. Send an invitation next, unless the user signs in over OIDC or a proxy."""
    return candor.users.add(user)


@router.patch("/users/{user}", responses=problem_responses(404, 422, 503))
def change(candor: CandorDep, caller: Owner, user: UserId, changes: UserChange) -> User:
    """Change a user's e-mail address, rights or groups, or disable them.

    Disabled users lose their sessions and keys at once.
    """
    return candor.users.change(user, changes)


@router.post("/users/{user}/invitation", status_code=201, responses=problem_responses(404, 422, 503))
def invite(candor: CandorDep, caller: Owner, user: UserId, request: Request) -> Invitation:
    """Create a link with which the user chooses a password, also instead of a forgotten one. Valid for 7 days, once."""
    found, address = candor.users.get(user), candor.settings.service.address(str(request.base_url))
    return Invitation(link=f"{address}/#/invitation/{candor.callers.sessions.start(found.id, TokenKind.INVITATION)}")


@router.get("/groups", responses=problem_responses(503))
def groups(candor: CandorDep, caller: Owner) -> list[Group]:
    """List all groups with their rights."""
    return list(candor.users.groups())


@router.put("/groups/{group}", responses=problem_responses(422, 503))
def set_group(candor: CandorDep, caller: Owner, group: GroupName, given: GroupChange) -> Group:
    """Add a group, or replace its rights. The rights of its members change at once."""
    return candor.users.set_group(Group(name=group, rights=given.rights))


@router.delete("/groups/{group}", status_code=204, responses=problem_responses(404, 422, 503))
def delete_group(candor: CandorDep, caller: Owner, group: GroupName) -> None:
    """Delete a group. Its members lose its rights at once."""
    candor.users.delete_group(group)
