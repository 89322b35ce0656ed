"""Finds the caller of a request by an API key, a session, or the user name that a trusted proxy sends.

Each gives a ``Caller`` with rights over collections. Nothing else decides what a request may do.
"""

from collections.abc import Callable
from typing import NamedTuple

from api.auth.keys import Key, Keys
from api.auth.permissions import LOCAL_CALLER, Caller, Right, intersection
from api.auth.sessions import Sessions, TokenKind
from api.auth.users import User, Users, login_of
from api.errors import KeyNotFound, Unauthorized, UserNotFound


class Credentials(NamedTuple):
    """The credentials of a request. The first one that is not empty is used."""

    key: str = ""
    user: str = ""
    """The name of a user, from a trusted proxy."""
    session: str = ""


class Callers:
    """Finds callers. Calls block."""

    def __init__(self, keys: Keys, users: Users, sessions: Sessions) -> None:
        self._keys, self._users, self.sessions = keys, users, sessions

    def admit(self, sent: Credentials, permit: Callable[[Caller], None] = lambda _: None) -> Caller:
        """Return the caller, and count the request of a key unless ``permit`` raises an error.

        Raises Unauthorized, LimitReached.
        """
        caller = self._current(sent)
        permit(caller)
        if sent.key:
            self._keys.count_request(caller.key)
        return caller

    def is_current(self, sent: Credentials, caller: Caller) -> bool:
        """Return whether the credentials still give this caller, with the same rights."""
        try:
            return self._current(sent) == caller
        except Unauthorized:
            return False

    def find(self, holder: str) -> Caller:
        """Return the caller with the id of a key or user; an empty one is the local user. Raises UserNotFound."""
        if not holder:
            return LOCAL_CALLER
        try:
            return self._of_key(self._keys.get(holder))
        except KeyNotFound:
            return self._of_user(self._users.get(holder))

    def withdrawn(self, holder: str) -> bool:
        """Return whether this is the id of a revoked key, a disabled user, or a key of one. Raises UserNotFound."""
        caller = self.find(holder)
        revoked = caller.key != caller.user and self._keys.get(holder).revoked_at
        return bool(revoked or (caller.user and self._users.get(caller.user).disabled))

    def any(self) -> bool:
        """Return whether there is a valid key, or a user who is not disabled."""
        return self._keys.has_valid() or any(not user.disabled for user in self._users.list())

    def sign_in(self, name: str, password: str, address: str) -> User:
        """Return the user with this name and password. Raises SignInFailed, TooManyAttempts."""
        with self.sessions.attempt(login_of(name), address):
            return self._users.check_password(name, password)

    def _current(self, sent: Credentials) -> Caller:
        if sent.key:
            key = self._keys.authenticate(sent.key)
            if key.user_id:
                self._of_user(self._users.get(key.user_id), active=True)
            return self._of_key(key)
        try:
            user = self._users.named(sent.user).id if sent.user else self._session_user(sent.session)
            return self._of_user(self._users.get(user), active=True)
        except UserNotFound as error:
            raise Unauthorized(f"{error} The proxy signed them in. Add them: candor users add NAME.") from error

    def _session_user(self, token: str) -> str:
        user = self.sessions.user(token, TokenKind.SESSION) if token else None
        if user is None:
            raise Unauthorized
        return user

    def _of_user(self, user: User, *, active: bool = False) -> Caller:
        """Return the user as a caller. Raises Unauthorized for a disabled user who must be active."""
        if active and user.disabled:
            raise Unauthorized
        return Caller(key=user.id, user=user.id, name=user.name, rights=self._users.rights(user))

    def _of_key(self, key: Key) -> Caller:
        """Return the caller that a key identifies. A user's key never has more rights than its user.

        A key with origins has rights only where its user is an admin.
        """
        rights = key.rights
        if key.user_id:
            own = self._users.rights(self._users.get(key.user_id))
            least = Right.ADMIN if key.origins else Right.ASK  # publishing to other sites needs admin
            rights = intersection(rights, {name: right for name, right in own.items() if right.covers(least)})
        return Caller(
            key=key.id, user=key.user_id or "", run=key.run_id or "", name=key.name, rights=rights, limits=key.limits,
            asks=Right.ASK in key.rights.values(), origins=key.origins,
        )  # fmt: skip
