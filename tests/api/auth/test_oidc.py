"""Sign-in by an OIDC provider over real HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import RSAKey

from api.auth.permissions import Right
from api.auth.sessions import COOKIE
from api.auth.users import Group, NewUser, UserChange
from api.bootstrap import Candor
from api.errors import SettingsError
from api.settings import OidcSettings, ServiceSettings
from support.oidc_server import CLIENT, SECRET, OidcServer
from support.service import RunningService
from support.waiting import LIMIT_S

ADA = {"sub": "248289", "preferred_username": "ada", "email": "Ada@example.com", "email_verified": True}
FAILED = "/#/signin-failed"


@pytest.fixture
def provider() -> Iterator[OidcServer]:
    with OidcServer(dict(ADA)) as server:
        yield server


@pytest.fixture
def start(make_candor: Callable[..., Candor], provider: OidcServer) -> Iterator[Callable[..., httpx.Client]]:
    """Start a service, whose users the provider signs in, and return its client."""
    running: list[Any] = []

    def start(**settings: Any) -> httpx.Client:
        oidc = OidcSettings(issuer=provider.issuer, client_id=CLIENT, secret="oidc", **settings)
        service = ServiceSettings(require_key=True, oidc=oidc)
        candor = make_candor(service=service, keys={"oidc": SECRET})
        running.append(service := RunningService(candor))
        service.__enter__()
        http = httpx.Client(base_url=service.url, timeout=LIMIT_S)
        http.candor = candor  # type: ignore[attr-defined]
        return http

    yield start
    for service in running:
        service.__exit__()


def go(http: httpx.Client, page: str = "/runs") -> httpx.Response:
    """Follow the redirects to the provider and back, as a browser does, and return the last one."""
    to_provider = http.get("/v1/session/oidc", params={"page": page})
    assert to_provider.status_code == 303
    if "/authorize" not in to_provider.headers["location"]:
        return to_provider
    back = httpx.get(to_provider.headers["location"], timeout=LIMIT_S)
    return http.get(back.headers["location"])


def signed_in(http: httpx.Client) -> str:
    """Return the name of the user who is signed in, if any."""
    me = http.get("/v1/me")
    return me.json()["name"] if me.status_code == 200 else ""


def test_a_new_person_signs_in_and_gets_the_groups_of_the_claim(
    start: Callable[..., httpx.Client], provider: OidcServer
) -> None:
    http = start(create_users=True, groups_claim="groups")
    candor: Candor = http.candor  # type: ignore[attr-defined]
    candor.users.set_group(Group(name="Editors", rights={"papers": Right.WRITE}))
    provider.claims["groups"] = ["Editors", "a group that Candor does not know"]
    assert http.get("/v1/session").json() == {"password": False, "oidc": True}
    back = go(http)
    assert (back.status_code, back.headers["location"]) == (303, "/#/runs")
    assert "HttpOnly" in back.headers["set-cookie"]
    assert http.get("/v1/me").json()["rights"] == {"papers": "write"}
    provider.claims |= {"groups": [], "preferred_username": "another name"}
    go(http)
    assert http.get("/v1/me").json()["rights"] == {}, "the groups are those of the last sign-in"
    [user] = candor.users.list()
    assert (user.name, user.email) == ("ada", "ada@example.com"), "the subject finds the user, not the name"


def test_a_verified_address_finds_the_user_once(start: Callable[..., httpx.Client], provider: OidcServer) -> None:
    http = start()
    candor: Candor = http.candor  # type: ignore[attr-defined]
    user = candor.users.add(NewUser(name="Ada L.", email="ada@EXAMPLE.com", rights={"papers": Right.READ}))
    assert go(http).headers["location"] == "/#/runs"
    assert signed_in(http) == "Ada L."
    provider.claims["sub"] = "somebody else with this address"
    http.cookies.clear()
    assert (go(http).headers["location"], signed_in(http)) == (FAILED, "")
    provider.claims["sub"] = ADA["sub"]
    candor.users.change(user.id, UserChange(disabled=True))
    assert (go(http).headers["location"], signed_in(http)) == (FAILED, "")


@pytest.mark.parametrize("verified", [False, None, "true"])
def test_an_address_that_is_not_verified_finds_nobody(
    start: Callable[..., httpx.Client], provider: OidcServer, verified: object
) -> None:
    http = start()
    http.candor.users.add(NewUser(name="Ada", email="ada@example.com"))  # type: ignore[attr-defined]
    provider.claims["email_verified"] = verified
    assert (go(http).headers["location"], signed_in(http)) == (FAILED, "")


def test_the_name_of_another_user_is_not_taken_over(start: Callable[..., httpx.Client], provider: OidcServer) -> None:
    http = start(create_users=True)
    http.candor.users.add(NewUser(name="ADA", rights={"*": Right.ADMIN}))  # type: ignore[attr-defined]
    assert (go(http).headers["location"], signed_in(http)) == (FAILED, "")


@pytest.mark.parametrize(
    "forged",
    [
        {"nonce": "of another sign-in"}, {"aud": "another client"}, {"iss": "https://evil.example"},
        {"exp": int(time.time()) - 600}, {"aud": [CLIENT, "another"]}, {"sub": None}, {"groups": "no list"},
        {"preferred_username": " "},
    ],
)  # fmt: skip
def test_a_wrong_token_signs_nobody_in(
    start: Callable[..., httpx.Client], provider: OidcServer, forged: dict[str, Any]
) -> None:
    http = start(create_users=True, groups_claim="groups")
    provider.forged = forged
    assert (go(http).headers["location"], signed_in(http)) == (FAILED, "")


def test_a_token_of_another_key_signs_nobody_in(start: Callable[..., httpx.Client], provider: OidcServer) -> None:
    http = start(create_users=True)
    provider.key = RSAKey.generate_key(2048, {"kid": "1"})
    assert (go(http).headers["location"], signed_in(http)) == (FAILED, "")


def test_the_state_belongs_to_the_browser_that_began(start: Callable[..., httpx.Client], provider: OidcServer) -> None:
    http = start(create_users=True)
    begun = http.get("/v1/session/oidc")
    cookie = begun.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    back = httpx.get(begun.headers["location"], timeout=LIMIT_S).headers["location"]
    stolen = httpx.get(back, timeout=LIMIT_S)
    assert (stolen.headers["location"], COOKIE in stolen.cookies) == (FAILED, False), "a browser without the cookie"
    state = parse_qs(urlsplit(back).query)["state"][0]
    assert http.get(back.replace(state, "x")).headers["location"] == FAILED
    assert http.get(back).headers["location"] == "/#/"
    assert http.get(back).headers["location"] == FAILED, "the code was used"


@pytest.mark.parametrize("page", ["//evil.example", "https://evil.example", "/x?y", "/\\evil.example", ""])
def test_only_own_pages_are_shown_after_the_sign_in(start: Callable[..., httpx.Client], page: str) -> None:
    http = start(create_users=True)
    begun = http.get("/v1/session/oidc", params={"page": page})
    if begun.status_code != 422:
        assert go(http, page).headers["location"].startswith("/#/"), "the page stays behind the hash"


def test_a_provider_that_is_away_signs_nobody_in(start: Callable[..., httpx.Client], provider: OidcServer) -> None:
    http = start(create_users=True)
    provider.__exit__()
    assert go(http).headers["location"] == FAILED


def test_settings_that_cannot_work_are_refused(make_candor: Callable[..., Candor]) -> None:
    with pytest.raises(ValueError, match="https://"):
        OidcSettings(issuer="http://login.example.com")
    oidc = OidcSettings(issuer="https://login.example.com", secret="missing")
    with pytest.raises(SettingsError, match="'missing'"):
        _ = make_candor(service=ServiceSettings(oidc=oidc)).oidc
