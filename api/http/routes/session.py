"""Sign-in and sign-out of users, by password, invitation or OIDC.

Anonymous clients may call these routes. The session is a cookie that no script can read.
"""

import logging
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field

from api.auth.audit import AuditEntry
from api.auth.passwords import MAX_LENGTH, Password
from api.auth.sessions import COOKIE, TokenKind
from api.auth.users import User
from api.bootstrap import Candor
from api.errors import SignInFailed
from api.http.deps import CandorDep
from api.http.errors import problem_responses
from api.http.router import make_router
from api.http.routes.keys import Me, describe
from base.models import FrozenModel

log = logging.getLogger(__name__)
router = make_router(prefix="/v1/session", tags=["users"])

_PENDING, _PENDING_S = "candor_oidc", 600
_DAY_S = 24 * 60 * 60


class SignIn(FrozenModel):
    """A name with its password."""

    name: str = Field(max_length=100, examples=["ada"])
    password: str = Field(max_length=MAX_LENGTH)
    new_password: Password | None = Field(default=None, description="replaces the password; all other sessions end")


class AcceptedInvitation(FrozenModel):
    """The last part of an invitation's link, and the password that the user has chosen."""

    token: str = Field(max_length=100, examples=["3vX…"])
    password: Password


class SignInMethods(FrozenModel):
    """How users can sign in, besides keys."""

    password: bool
    oidc: bool


@router.get("", responses=problem_responses(503, anonymous=True))
def methods(candor: CandorDep) -> SignInMethods:
    """List the ways to sign in."""
    has_password = any(user.has_password for user in candor.users.list())
    return SignInMethods(password=has_password, oidc=bool(candor.settings.service.oidc.issuer))


@router.post("", responses=problem_responses(401, 422, 429, 503, anonymous=True))
def sign_in(candor: CandorDep, sent: SignIn, request: Request, response: Response) -> Me:
    """Sign in with name and password. The response sets a cookie, and ends the session that the request had."""
    user = candor.callers.sign_in(sent.name, sent.password, _address(request))
    if sent.new_password:
        candor.users.set_password(user.id, sent.new_password)
    return _start(candor, user, request, response)


@router.delete("", status_code=204, responses=problem_responses(503, anonymous=True))
def sign_out(candor: CandorDep, request: Request, response: Response) -> None:
    """Sign out: end the session of the cookie."""
    candor.callers.sessions.end(request.cookies.get(COOKIE, ""))
    response.delete_cookie(COOKIE, path=candor.settings.service.root_path or "/")


@router.post("/invitation", responses=problem_responses(401, 422, 503, anonymous=True))
def accept(candor: CandorDep, sent: AcceptedInvitation, request: Request, response: Response) -> Me:
    """Choose a password with an invitation, and sign in. The invitation is then used."""
    found = candor.callers.sessions.end(sent.token, TokenKind.INVITATION)
    user = candor.users.get(found) if found else None
    if user is None or user.disabled:
        raise SignInFailed("This invitation is not valid. It is wrong, used or expired.")
    candor.users.set_password(user.id, sent.password)
    return _start(candor, user, request, response)


@router.get("/oidc", include_in_schema=False)
def begin_oidc(
    candor: CandorDep, request: Request, page: Annotated[str, Query(pattern=r"^/[\w/.-]*$")] = "/"
) -> Response:
    """Redirect to the identity provider."""
    try:
        url, pending = candor.oidc.begin(_callback(candor, request), page)
    except SignInFailed as error:
        return _failed(error)
    response = RedirectResponse(url, 303)
    # Lax: the provider's redirect comes from another site.
    _set_cookie(candor, request, response, _PENDING, pending, _PENDING_S, strict=False)
    return response


@router.get("/oidc/callback", include_in_schema=False)
def finish_oidc(candor: CandorDep, request: Request, state: str = "", code: str = "") -> Response:
    """Sign in the person whom the identity provider sends back, and show the page that they came from."""
    try:
        pending = request.cookies.get(_PENDING, "")
        identity, page = candor.oidc.finish(_callback(candor, request), pending, state, code)
        user = candor.users.identified(identity, create=candor.settings.service.oidc.create_users)
    except SignInFailed as error:
        return _failed(error)
    response = RedirectResponse(f"/#{page}", 303)
    _start(candor, user, request, response)
    return response


def _start(candor: Candor, user: User, request: Request, response: Response) -> Me:
    """Start a session with a new token, so that nobody else can know it, and end the one before."""
    entry = AuditEntry(
        at=datetime.now(UTC), key=user.id, name=user.name, address=_address(request), action="sign in",
        target=request.url.path, collections=(), status=200,
    )  # fmt: skip
    candor.audit.write([entry])
    sessions = candor.callers.sessions
    sessions.end(request.cookies.get(COOKIE, ""))
    token, lifetime_s = sessions.start(user.id, TokenKind.SESSION), TokenKind.SESSION.value * _DAY_S
    _set_cookie(candor, request, response, COOKIE, token, lifetime_s, strict=True)
    return describe(candor.callers.find(user.id))


def _set_cookie(
    candor: Candor, request: Request, response: Response, name: str, value: str, seconds: int, *, strict: bool
) -> None:
    service = candor.settings.service
    addresses = (service.address(str(request.base_url)), request.headers.get("origin", ""))
    response.set_cookie(
        name, value, seconds, path=service.root_path or "/", httponly=True, samesite="strict" if strict else "lax",
        secure=any(address.startswith("https:") for address in addresses),  # a proxy may add TLS
    )  # fmt: skip


def _failed(error: Exception) -> Response:
    """Show the sign-in page again. The reason is for the owner: it could tell strangers who is a user."""
    log.warning("A sign-in over OIDC failed: %s", error)
    return RedirectResponse("/#/signin-failed", 303)


def _callback(candor: Candor, request: Request) -> str:
    return f"{candor.settings.service.address(str(request.base_url))}/v1/session/oidc/callback"


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
