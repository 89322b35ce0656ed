"""Users sign in over real HTTP, with passwords, invitations and the header of a proxy, and have rights by groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import sqlalchemy as sql

from api.auth.keys import KeyRequest
from api.auth.permissions import Right, intersection, union
from api.auth.sessions import COOKIE, TokenKind
from api.auth.users import Group, NewUser, User, UserChange
from api.bootstrap import Candor
from api.settings import ServiceSettings
from multi_agent.values.answer import Status
from multi_agent.values.request import Request
from support.service import RunningService
from support.waiting import LIMIT_S

PASSWORD, NEW = "correct horse battery", "staple and a new horse"


@pytest.fixture
def candor(make_candor: Callable[..., Candor]) -> Candor:
    return make_candor(service=ServiceSettings(require_key=True))


@pytest.fixture
def ada(candor: Candor) -> User:
    """A user of a group, with a password."""
    candor.users.set_group(Group(name="Editors", rights={"papers": Right.WRITE}))
    return candor.users.add(NewUser(name="Ada", groups=("Editors",), rights={"mail": Right.READ}), PASSWORD)


@pytest.fixture
def http(candor: Candor, ada: User) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, client(service.url) as http:
        yield http


def client(url: str) -> httpx.Client:
    """A client that keeps cookies and names its origin, as a browser does."""
    return httpx.Client(base_url=url, timeout=LIMIT_S, headers={"Origin": url})


def sign_in(http: httpx.Client, name: str = "ada", password: str = PASSWORD) -> httpx.Response:
    return http.post("/v1/session", json={"name": name, "password": password})


def sign_in_from(address: str, http: httpx.Client, password: str = PASSWORD) -> httpx.Response:
    """Sign in as Ada through a proxy that names this address."""
    return http.post("/v1/session", json={"name": "ada", "password": password}, headers={"X-Forwarded-For": address})


class TestPasswords:
    def test_a_session_has_the_rights_of_user_and_groups(self, http: httpx.Client, ada: User) -> None:
        assert http.get("/v1/me").status_code == 401
        signed_in = sign_in(http, " ADA ")
        assert signed_in.status_code == 200, signed_in.text
        me = http.get("/v1/me").json()
        assert me == signed_in.json()
        assert (me["key"], me["user"], me["signed_in"], me["owner"]) == (ada.id, ada.id, True, False)
        assert me["rights"] == {"papers": "write", "mail": "read"}
        assert http.get("/v1/users").status_code == 403

    def test_the_cookie_is_for_this_site_only_and_not_for_scripts(self, http: httpx.Client) -> None:
        cookie = sign_in(http).headers["set-cookie"]
        for attribute in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=1209600"):
            assert attribute in cookie
        assert "Secure" not in cookie
        secure = http.post(
            "/v1/session",
            json={"name": "Ada", "password": PASSWORD},
            headers={"X-Forwarded-Proto": "https", "Origin": str(http.base_url).replace("http:", "https:").rstrip("/")},
        )
        assert "Secure" in secure.headers["set-cookie"]

    def test_the_database_has_neither_password_nor_token(self, http: httpx.Client, candor: Candor) -> None:
        sign_in(http)
        token = http.cookies[COOKIE]
        with candor.engine.connect() as connection:
            for table in ("users", "user_tokens", "audit"):
                stored = str(connection.execute(sql.text(f"SELECT * FROM {table}")).all())
                assert PASSWORD not in stored
                assert token not in stored
            [hashed] = connection.scalars(sql.text("SELECT password_hash FROM users"))
        assert hashed.startswith("$argon2id$")

    def test_wrong_passwords_and_names_get_the_same_response(self, http: httpx.Client, candor: Candor) -> None:
        candor.users.add(NewUser(name="no password"))
        off = candor.users.add(NewUser(name="off"), PASSWORD)
        candor.users.change(off.id, UserChange(disabled=True))
        pairs = [("ada", NEW), ("nobody", PASSWORD), ("no password", PASSWORD), ("off", PASSWORD)]
        answers = [sign_in(http, *pair) for pair in pairs]
        assert {answer.status_code for answer in answers} == {401}
        assert len({answer.content for answer in answers}) == 1
        assert not http.cookies

    def test_an_unknown_name_costs_a_hash_too(self, http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
        from argon2 import PasswordHasher

        hashed: list[str] = []
        verify = PasswordHasher.verify
        monkeypatch.setattr(PasswordHasher, "verify", lambda *all: hashed.append(all[1]) or verify(*all))  # type: ignore[func-returns-value]
        for name in ("ada", "nobody"):
            sign_in(http, name, NEW)
        assert [each.split("$")[1:4] for each in hashed] == [["argon2id", "v=19", "m=19456,t=2,p=1"]] * 2

    def test_every_sign_in_starts_a_new_session_and_ends_the_old_one(self, http: httpx.Client) -> None:
        http.cookies.set(COOKIE, "chosen-by-somebody-else")
        tokens = []
        for _ in range(2):
            http.cookies = httpx.Cookies({COOKIE: tokens[-1]} if tokens else {COOKIE: "chosen-by-somebody-else"})
            tokens.append(sign_in(http).cookies[COOKIE])
        assert len({*tokens, "chosen-by-somebody-else"}) == 3
        old = httpx.get(f"{http.base_url}/v1/me", cookies={COOKIE: tokens[0]}, timeout=LIMIT_S)
        assert old.status_code == 401

    def test_signing_out_ends_the_session(self, http: httpx.Client) -> None:
        token = sign_in(http).cookies[COOKIE]
        assert http.delete("/v1/session").status_code == 204
        assert not http.cookies
        assert httpx.get(f"{http.base_url}/v1/me", cookies={COOKIE: token}, timeout=LIMIT_S).status_code == 401

    def test_a_new_password_ends_other_sessions(self, http: httpx.Client) -> None:
        with client(str(http.base_url).rstrip("/")) as other:
            sign_in(other)
            sign_in(http)
            wrong = http.post("/v1/session", json={"name": "ada", "password": NEW, "new_password": NEW})
            assert wrong.status_code == 401
            changed = http.post("/v1/session", json={"name": "ada", "password": PASSWORD, "new_password": NEW})
            assert changed.status_code == 200, changed.text
            assert (http.get("/v1/me").status_code, other.get("/v1/me").status_code) == (200, 401)
            assert (sign_in(other).status_code, sign_in(other, password=NEW).status_code) == (401, 200)

    def test_short_and_endless_passwords_are_refused(self, http: httpx.Client, candor: Candor, ada: User) -> None:
        token = candor.callers.sessions.start(ada.id, TokenKind.INVITATION)
        for password in ("x" * 9, "x" * 201):
            refused = http.post("/v1/session/invitation", json={"token": token, "password": password})
            assert refused.status_code == 422
        assert sign_in(http, password="x" * 201).status_code == 422

    def test_a_sign_in_is_in_the_audit_log(self, http: httpx.Client, candor: Candor, ada: User) -> None:
        from api.auth.audit import AuditQuery

        sign_in(http)
        [entry] = candor.audit.list(AuditQuery(key=ada.id))
        assert (entry.action, entry.name, entry.address) == ("sign in", "Ada", "127.0.0.1")


class TestLimits:
    def test_failures_with_a_name_are_limited(self, http: httpx.Client) -> None:
        for name in ("ada", "nobody"):
            answers = [sign_in(http, name, NEW).status_code for _ in range(11)]
            assert answers == [401] * 10 + [429]
        refused = sign_in(http)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "900")
        assert sign_in_from("192.0.2.7", http).status_code == 200, "a stranger does not lock a person out"

    def test_failures_with_a_name_from_many_addresses_are_limited(
        self, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("api.auth.sessions._MOST_BY_NAME", 3)
        answers = [sign_in_from(f"192.0.2.{number}", http, NEW).status_code for number in range(4)]
        assert answers == [401, 401, 401, 429]

    def test_failures_from_an_address_are_limited(self, http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("api.auth.sessions._MOST_BY_ADDRESS", 3)
        answers = [sign_in(http, f"name {number}").status_code for number in range(4)]
        assert answers == [401, 401, 401, 429]
        assert sign_in_from("192.0.2.7", http).status_code == 200, "other addresses are not affected"

    def test_sign_ins_that_succeed_do_not_count(self, http: httpx.Client) -> None:
        assert {sign_in(http).status_code for _ in range(12)} == {200}

    def test_one_customer_has_one_network_of_ipv6(self, candor: Candor, monkeypatch: pytest.MonkeyPatch) -> None:
        from api.errors import SignInFailed, TooManyAttempts

        monkeypatch.setattr("api.auth.sessions._MOST_BY_ADDRESS", 2)

        def fail(name: str, address: str) -> None:
            with pytest.raises(SignInFailed):
                candor.callers.sign_in(name, PASSWORD, address)

        for number in range(2):
            fail(f"name {number}", f"2001:db8::{number}")
        with pytest.raises(TooManyAttempts):
            candor.callers.sign_in("name", PASSWORD, "2001:db8::99")
        fail("name", "2001:db8:1::1")


class TestForeignPages:
    @pytest.mark.parametrize("origin", [None, "https://evil.example", "null"])
    def test_a_change_with_a_cookie_needs_the_own_origin(self, http: httpx.Client, origin: str | None) -> None:
        cookies = {COOKIE: sign_in(http).cookies[COOKIE]}
        headers = {"Origin": origin} if origin else {}
        url, memory = f"{http.base_url}/v1/memories", {"kind": "preference", "text": "Write metres."}
        refused = httpx.post(url, json=memory, cookies=cookies, headers=headers, timeout=LIMIT_S)
        assert (refused.status_code, refused.json()["title"]) == (403, "Asked by a foreign page")
        assert http.post("/v1/memories", json=memory).status_code == 201


class TestRights:
    def test_rights_shrink_with_the_group_at_once(self, http: httpx.Client, candor: Candor, ada: User) -> None:
        sign_in(http)
        key = candor.keys.add(KeyRequest(name="of ada", user_id=ada.id, rights={"*": Right.ADMIN})).secret

        def rights() -> tuple[Any, Any]:
            of_key = httpx.get(f"{http.base_url}/v1/me", headers={"X-API-Key": key}, timeout=LIMIT_S)
            return http.get("/v1/me").json()["rights"], of_key.json()["rights"]

        assert rights() == ({"papers": "write", "mail": "read"},) * 2, "a key can do no more than its user"
        candor.users.set_group(Group(name="Editors", rights={"papers": Right.READ}))
        assert rights() == ({"papers": "read", "mail": "read"},) * 2
        candor.users.delete_group("Editors")
        assert rights() == ({"mail": "read"},) * 2

    def test_a_disabled_user_loses_sessions_and_keys_at_once(
        self, http: httpx.Client, candor: Candor, ada: User
    ) -> None:
        sign_in(http)
        key = {"X-API-Key": candor.keys.add(KeyRequest(name="x", user_id=ada.id, rights={"*": Right.READ})).secret}
        me = f"{http.base_url}/v1/me"
        assert (http.get("/v1/me").status_code, httpx.get(me, headers=key, timeout=LIMIT_S).status_code) == (200, 200)
        candor.users.change(ada.id, UserChange(disabled=True))
        assert (http.get("/v1/me").status_code, httpx.get(me, headers=key, timeout=LIMIT_S).status_code) == (401, 401)
        candor.users.change(ada.id, UserChange(disabled=False))
        assert (http.get("/v1/me").status_code, httpx.get(me, headers=key, timeout=LIMIT_S).status_code) == (401, 200)

    def test_users_make_and_see_only_their_own_keys(self, http: httpx.Client, candor: Candor, ada: User) -> None:
        other = candor.keys.add(KeyRequest(name="of another", rights={"papers": Right.READ})).key
        sign_in(http)
        made = http.post("/v1/keys", json={"name": "mine", "rights": {"papers": "admin"}, "user_id": "0" * 12})
        assert made.json()["key"]["user_id"] == ada.id
        assert [key["name"] for key in http.get("/v1/keys").json()] == ["mine"]
        assert http.delete(f"/v1/keys/{other.id}").status_code == 404
        by_key = {"Authorization": f"Bearer {made.json()['secret']}"}
        with httpx.Client(base_url=http.base_url, timeout=LIMIT_S, headers=by_key) as program:
            assert program.get("/v1/me").json()["rights"] == {"papers": "write"}
            assert program.get("/v1/keys").status_code == 403, "a key makes no keys"
        assert http.delete(f"/v1/keys/{made.json()['key']['id']}").json()["revoked_at"]

    def test_pages_of_other_sites_need_the_right_to_the_whole_collection(
        self, http: httpx.Client, candor: Candor, ada: User
    ) -> None:
        sign_in(http)
        box = {"name": "box", "rights": {"papers": "ask"}, "origins": ["https://example.org"]}
        refused = http.post("/v1/keys", json=box)
        assert (refused.status_code, "'admin' over the collection 'papers'" in refused.text) == (403, True)
        assert http.post("/v1/keys", json={**box, "rights": {"secrets": "ask"}}).status_code == 404
        assert http.post("/v1/keys", json={**box, "origins": []}).status_code == 201
        candor.users.set_group(Group(name="Editors", rights={"papers": Right.ADMIN}))
        made = http.post("/v1/keys", json=box).json()
        assert made["key"]["origins"] == ["https://example.org"]
        assert candor.callers.find(made["key"]["id"]).rights == {"papers": Right.ASK}
        candor.users.set_group(Group(name="Editors", rights={"papers": Right.WRITE}))
        assert candor.callers.find(made["key"]["id"]).rights == {}, "the key publishes nothing without the right"

    def test_a_shared_link_ends_with_the_right_of_its_user(self, http: httpx.Client, candor: Candor, ada: User) -> None:
        for run, collection in (("run_1", "papers"), ("run_2", "secrets")):
            candor.trace.create(run, Request(question="How cold?"), collection, "none", "")
            candor.trace.abort(run, Status.FAILED, "The model was away.")
        sign_in(http)
        wanted = {"name": "Link", "rights": {"papers": "admin"}}
        assert http.post("/v1/keys", json={**wanted, "run_id": "run_2"}).status_code == 404
        link = http.post("/v1/keys", json={**wanted, "run_id": "run_1"}).json()
        assert (link["key"]["rights"], link["key"]["user_id"]) == ({"papers": "read"}, ada.id)

        def read(path: str) -> httpx.Response:
            key = {"Authorization": f"Bearer {link['secret']}"}
            return httpx.get(f"{http.base_url}{path}", headers=key, timeout=LIMIT_S)

        shared = f"/shared/{link['secret']}"
        assert (read("/v1/runs").status_code, read("/v1/me").status_code) == (403, 403)
        assert "The model was away." in read(shared).text
        candor.users.delete_group("Editors")
        assert read(shared).status_code == 404

    def test_rights_are_joined_and_cut_by_collection(self) -> None:
        _, read, write, admin = Right
        assert union({"a": read}, {"a": write, "b": read}) == {"a": write, "b": read}
        assert intersection({"*": write}, {"a": admin, "b": read}) == {"a": write, "b": read}
        assert intersection({"*": read, "a": admin}, {"*": admin}) == {"*": read, "a": admin}
        assert intersection({"a": read}, {"b": read}) == {}


def test_an_invitation_is_taken_by_one_of_many(candor: Candor, ada: User) -> None:
    sessions = candor.callers.sessions
    token = sessions.start(ada.id, TokenKind.INVITATION)
    assert sessions.end(token) is None, "it is no session"
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: sessions.end(token, TokenKind.INVITATION), range(8)))
    assert sorted(filter(None, taken)) == [ada.id]


class TestOwner:
    def test_an_owner_manages_users_over_rest(self, candor: Candor) -> None:
        owner = candor.users.add(NewUser(name="owner", rights={"*": Right.ADMIN}), PASSWORD)
        with RunningService(candor) as service, client(service.url) as http, client(service.url) as theirs:
            sign_in(http, "owner")
            assert http.put("/v1/groups/Readers", json={"rights": {"papers": "read"}}).status_code == 200
            ben = http.post("/v1/users", json={"name": "Ben", "groups": ["Readers"]}).json()
            taken = http.post("/v1/users", json={"name": "BEN"})
            assert (taken.status_code, "belongs to a user already" in taken.text) == (422, True)
            assert http.post("/v1/users", json={"name": "Cy", "groups": ["none"]}).status_code == 404
            link = http.post(f"/v1/users/{ben['id']}/invitation").json()["link"]
            assert link.startswith(f"{service.url}/#/invitation/")
            token = link.rpartition("/")[2]
            accept = {"token": token, "password": NEW}
            accepted = theirs.post("/v1/session/invitation", json=accept)
            assert (accepted.status_code, accepted.json()["rights"]) == (200, {"papers": "read"})
            assert theirs.get("/v1/me").json()["name"] == "Ben"
            assert theirs.post("/v1/session/invitation", json=accept).status_code == 401, "it was used"
            http.patch(f"/v1/users/{ben['id']}", json={"disabled": True})
            assert theirs.get("/v1/me").status_code == 401
            assert {user["name"] for user in http.get("/v1/users").json()} == {"owner", "Ben"}
            assert http.get("/v1/groups").json() == [{"name": "Readers", "rights": {"papers": "read"}}]
            assert http.delete("/v1/groups/Readers").status_code == 204
            for name in ("%20", "x" * 101):
                assert http.put(f"/v1/groups/{name}", json={"rights": {}}).status_code == 422
                assert http.delete(f"/v1/groups/{name}").status_code == 422
            assert owner.id

    def test_without_require_key_localhost_is_the_owner(self, make_candor: Callable[..., Candor]) -> None:
        candor = make_candor()
        candor.users.add(NewUser(name="Ada", rights={"papers": Right.READ}), PASSWORD)
        with RunningService(candor) as service, client(service.url) as http:
            assert http.get("/v1/me").json()["owner"]
            sign_in(http)
            assert (http.get("/v1/me").json()["name"], http.get("/v1/users").status_code) == ("Ada", 403)
            http.cookies.set(COOKIE, "ended")
            http.cookies = httpx.Cookies({COOKIE: "ended"})
            assert http.get("/v1/me").json()["owner"]


class TestProxy:
    def test_only_a_named_proxy_names_the_user(self, make_candor: Callable[..., Candor]) -> None:
        for proxies, status in ((["127.0.0.0/8"], 200), (["192.0.2.1"], 401), ([], 401)):
            service = ServiceSettings.model_validate({"user_header": "X-Remote-User", "proxies": proxies})
            candor = make_candor(service=service)
            if not candor.users.list():
                candor.users.add(NewUser(name="Ada", rights={"papers": Right.READ}))
            with RunningService(candor) as running, client(running.url) as http:
                named = {"X-Remote-User": "ada", "X-Forwarded-For": "192.0.2.1"}
                assert http.get("/v1/me", headers=named).status_code == status, proxies
                assert http.get("/v1/me").status_code == 401, "nobody on this machine is the owner any more"
                if status == 200:
                    assert http.get("/v1/me", headers=named).json()["name"] == "Ada"
                    twice = [("X-Remote-User", "ada"), ("X-Remote-User", "owner")]
                    assert http.get("/v1/me", headers=twice).status_code == 401
                    unknown = http.get("/v1/me", headers={"X-Remote-User": "cy"})
                    assert (unknown.status_code, "candor users add" in unknown.text) == (401, True)
