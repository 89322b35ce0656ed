"""Users and groups in SQL, with their rights.

A user has own rights and those of the user's groups. Every request reads them, so a change applies at once. A user who
is disabled, or gets a new password, loses all sessions.
"""

from __future__ import annotations

import secrets
import unicodedata
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import sqlalchemy as sql
from pydantic import Field, TypeAdapter
from sqlalchemy.exc import IntegrityError

from api.auth.keys import CollectionName
from api.auth.passwords import hasher, matches
from api.auth.permissions import Right, union
from api.auth.sessions import end_all
from api.errors import SignInFailed, UsageError, UserNotFound
from base.database import METADATA, SqlStore
from base.models import FrozenModel

_users = sql.Table(
    "users",
    METADATA,
    sql.Column("id", sql.String(12), primary_key=True),
    sql.Column("name", sql.String(100), nullable=False),
    sql.Column("login", sql.String(400), nullable=False, unique=True),
    sql.Column("email", sql.String(254), nullable=True, unique=True),
    sql.Column("subject", sql.String(600), nullable=True, unique=True),
    sql.Column("rights", sql.JSON, nullable=False),
    sql.Column("groups", sql.JSON, nullable=False),
    sql.Column("password_hash", sql.String(200), nullable=True),
    sql.Column("disabled", sql.Boolean, nullable=False),
)
_groups = sql.Table(
    "user_groups",
    METADATA,
    sql.Column("name", sql.String(100), primary_key=True),
    sql.Column("rights", sql.JSON, nullable=False),
)

NAME_PATTERN = r"^[^\s\x00-\x1f]([^\x00-\x1f]*[^\s\x00-\x1f])?$"
Name = Annotated[str, Field(max_length=100, pattern=NAME_PATTERN)]
Email = Annotated[str, Field(max_length=254, pattern=r"^\S+@\S+$")]
GrantedRights = Annotated[
    dict[CollectionName, Literal[Right.READ, Right.WRITE, Right.ADMIN]],
    Field(description="by collection; '*' means all collections"),
]
_RIGHTS = TypeAdapter(GrantedRights)


class UserChange(FrozenModel):
    """Changes of a user. What is None stays as it is."""

    email: Email | None = Field(default=None, description="finds the user at the first sign-in over OIDC")
    rights: GrantedRights | None = Field(default=None, examples=[{"papers": "read"}])
    groups: tuple[Name, ...] | None = Field(default=None, max_length=1000)
    disabled: bool | None = None


class NewUser(UserChange):
    """A user to add."""

    name: Name


class User(FrozenModel):
    """A user without secrets."""

    id: str
    name: str
    email: str | None
    rights: dict[str, Right] = Field(description="the user's own; those of the groups are added")
    groups: tuple[str, ...]
    disabled: bool
    has_password: bool


class Group(FrozenModel):
    """A group of users."""

    name: Name
    rights: GrantedRights


class Identity(FrozenModel):
    """What an OIDC provider says about the person who signs in."""

    subject: str = Field(description="issuer and id there")
    name: Name
    email: Email | None = Field(description="None unless the provider has verified it")
    groups: tuple[str, ...] | None = Field(description="None if the provider does not decide on the groups")


class Users(SqlStore):
    """All users and groups. Calls block."""

    def add(self, new: NewUser, password: str | None = None) -> User:
        """Add a user. Raises UsageError if the name or e-mail address is taken, UserNotFound for unknown groups."""
        row: dict[str, Any] = {
            "id": secrets.token_hex(6), "name": new.name, "login": login_of(new.name), "rights": {}, "groups": [],
            "password_hash": password and hasher().hash(password), "disabled": False,
        }  # fmt: skip
        try:
            self._execute(_users.insert(), row | self._changes(new))
        except IntegrityError as error:
            raise UsageError(f"The name {new.name!r} or the e-mail address belongs to a user already.") from error
        return self.get(row["id"])

    def get(self, user: str) -> User:
        """Return the user with this id. Raises UserNotFound."""
        return _user(self._row(_users.c.id == user, user))

    def named(self, name: str) -> User:
        """Return the user with this name, in any case. Raises UserNotFound."""
        return _user(self._row(_users.c.login == login_of(name), name))

    def list(self) -> list[User]:
        """Return all users, by name."""
        return [_user(row) for row in self._select(sql.select(_users).order_by(_users.c.login))]

    def change(self, user: str, change: UserChange) -> User:
        """Change a user. Raises UserNotFound, UsageError."""
        self.get(user)
        try:
            self._update(user, end=bool(change.disabled), **self._changes(change))
        except IntegrityError as error:
            raise UsageError(f"The e-mail address {change.email!r} belongs to another user.") from error
        return self.get(user)

    def rights(self, user: User) -> dict[str, Right]:
        """Return the rights of the user and of the user's groups."""
        found = self._select(sql.select(_groups.c.rights).where(_groups.c.name.in_(user.groups)))
        return union(user.rights, *(_RIGHTS.validate_python(row.rights) for row in found))

    def set_password(self, user: str, password: str) -> None:
        """Replace the password. All sessions and invitations end."""
        self._update(user, end=True, password_hash=hasher().hash(password))

    def check_password(self, name: str, password: str) -> User:
        """Return the user with this name and password. Raises SignInFailed, after the same time in every case."""
        found = self._select(sql.select(_users).where(_users.c.login == login_of(name)))
        row = found[0] if found else None
        if not matches(password, row and row.password_hash) or row is None or row.disabled:
            raise SignInFailed("The name or the password is wrong.")
        return _user(row)

    def identified(self, identity: Identity, *, create: bool) -> User:
        """Return the user of an identity, with the groups that it names. Raises SignInFailed.

        An identity that is new is linked to the user with its verified e-mail address, who must have no other.
        """
        found = self._select(sql.select(_users).where(_users.c.subject == identity.subject))
        if not found and identity.email:
            same = sql.and_(_users.c.email == identity.email.lower(), _users.c.subject.is_(None))
            found = self._select(sql.select(_users).where(same))
        if not found and not create:
            raise SignInFailed(f"No user has the verified e-mail address of {identity.name!r}.")
        try:
            user = _user(found[0]) if found else self.add(NewUser(name=identity.name, email=identity.email))
        except UsageError as error:
            raise SignInFailed(str(error)) from error
        if user.disabled:
            raise SignInFailed(f"The user {user.name!r} is disabled.")
        groups = user.groups if identity.groups is None else identity.groups
        self._update(user.id, subject=identity.subject, groups=list(groups))
        return self.get(user.id)

    def groups(self) -> Sequence[Group]:
        """Return all groups, by name."""
        query = sql.select(_groups).order_by(_groups.c.name)
        return [Group(**row._mapping) for row in self._select(query)]

    def set_group(self, group: Group) -> Group:
        """Add a group, or replace its rights."""
        self._replace(_groups, group.model_dump(mode="json"))
        return group

    def delete_group(self, name: str) -> None:
        """Delete a group. Its members lose its rights at once. Raises UserNotFound."""
        if not self._execute(_groups.delete().where(_groups.c.name == name)):
            raise UserNotFound(f"There is no group {name!r}.")

    def _changes(self, change: UserChange) -> dict[str, Any]:
        """Return the changed columns. Raises UserNotFound for groups that do not exist."""
        known = {group.name for group in self.groups()} if change.groups else set()
        if unknown := [name for name in change.groups or () if name not in known]:
            raise UserNotFound(f"There is no group {unknown[0]!r}. Add it first: candor users group NAME.")
        changes = change.model_dump(mode="json", exclude={"name"}, exclude_none=True)
        return changes | ({"email": change.email.lower()} if change.email else {})

    def _update(self, user: str, *, end: bool = False, **values: object) -> None:
        """Update columns of a user. With ``end``, also end all sessions and invitations."""
        with self._engine.begin() as connection:
            connection.execute(_users.update().where(_users.c.id == user).values({"id": user, **values}))
            if end:
                end_all(connection, user)

    def _row(self, condition: sql.ColumnElement[bool], named: str) -> sql.Row[Any]:
        if found := self._select(sql.select(_users).where(condition)):
            return found[0]
        raise UserNotFound(f"There is no user {named!r}.")


def login_of(name: str) -> str:
    """Return the name as it is compared: without case, and with one form of each letter."""
    return unicodedata.normalize("NFKC", name).casefold().strip()


def _user(row: sql.Row[Any]) -> User:
    own = {name: value for name, value in row._mapping.items() if name in User.model_fields}
    return User(**own, has_password=row.password_hash is not None)
