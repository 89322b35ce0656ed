"""Keys: made, shown once, used, limited, revoked; and what the service does for whom without one.

What they open and what they do not is tried in ``test_permissions.py``.
"""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.auth.keys import KeyRequest
from api.auth.permissions import Limits, Right
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import ServiceSettings
from multi_agent.llm.settings import EndpointSettings
from support.scripted_endpoint import Reply, Request
from support.service import QUESTION, RunningService, model

Run = Callable[..., Any]
OWNER = ("keys", "add", "The owner", "--right", "*=admin")


@pytest.fixture
def candor(make_candor: Callable[..., Candor]) -> Candor:
    """Candor on an empty home; ``run`` has the same one."""
    return make_candor()


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    """A client of its service, on loopback."""
    with RunningService(candor) as service, httpx.Client(base_url=service.url) as client:
        yield client


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


class TestOnTheCommandLine:
    def test_a_key_is_made_listed_and_revoked(self, run: Run) -> None:
        made = run("keys", "add", "Reading room", "--right", "papers=read", "--expires", "30d", "--json").json
        assert made["secret"].startswith(f"candor_{made['key']['id']}_")
        assert made["key"]["rights"] == {"papers": "read"}
        [listed] = run("keys", "list", "--json").json
        assert listed == made["key"]
        assert "valid until" in run("keys", "list").out
        assert run("keys", "revoke", listed["id"], "--json").json["revoked_at"]
        assert "revoked" in run("keys", "list").out

    def test_it_is_shown_once(self, run: Run, candor: Candor) -> None:
        secret = run(*OWNER).out.strip()
        assert secret.startswith("candor_")
        random = secret.rpartition("_")[2] if secret.count("_") == 2 else secret.split("_", 2)[2]
        assert random not in run("keys", "list", "--json").out
        for file in candor.settings.home.glob("candor.db*"):
            assert random.encode() not in file.read_bytes(), "only its hash is kept"

    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            (("--right", "papers"), "'papers' is no right; write COLLECTION=read"),
            (("--right", "papers=own"), "'read', 'write' or 'admin'"),
            (("--right", "pa pers=read"), "rights.pa pers"),
            (("--right", "papers=read", "--expires", "soon"), "'soon' is no time"),
        ],
    )
    def test_what_cannot_be_a_key_is_told(self, run: Run, wrong: tuple[str, ...], says: str) -> None:
        refused = run("keys", "add", "x", *wrong)
        assert (refused.code, says in refused.err) == (2, True), refused.err

    def test_a_key_that_is_not_there_cannot_be_revoked(self, run: Run) -> None:
        refused = run("keys", "revoke", "000000000000")
        assert refused.code == 1
        assert "There is no key '000000000000'" in refused.err


class TestOverRest:
    def test_a_key_is_made_and_revoked_and_does_nothing_from_then_on(self, http: httpx.Client) -> None:
        made = http.post("/v1/keys", json={"name": "Reader", "rights": {"papers": "read"}})
        assert made.status_code == 201
        secret, key = made.json()["secret"], made.json()["key"]
        me = http.get("/v1/me", headers=bearer(secret)).json()
        assert me == {
            "key": key["id"], "name": "Reader", "owner": False, "rights": {"papers": "read"},
            "limits": {"requests_per_day": None, "tokens_per_day": None},
        }  # fmt: skip
        [listed] = http.get("/v1/keys").json()
        assert (listed["requests_today"], listed["last_used_at"] is not None) == (1, True)
        assert http.delete(f"/v1/keys/{key['id']}").json()["revoked_at"]
        assert http.get("/v1/me", headers=bearer(secret)).status_code == 401

    def test_an_expiry_date_in_the_past_is_rejected(self, http: httpx.Client) -> None:
        order = {"name": "late", "rights": {"*": "read"}, "expires_at": "2020-01-01T00:00:00Z"}
        assert "is in the past" in http.post("/v1/keys", json=order).json()["detail"]

    def test_requests_of_a_day_are_counted_and_limited(self, http: httpx.Client) -> None:
        order = {"name": "x", "rights": {"papers": "read"}, "limits": {"requests_per_day": 2}}
        secret = http.post("/v1/keys", json=order).json()["secret"]
        statuses = [http.get("/v1/me", headers=bearer(secret)).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        refused = http.get("/v1/me", headers=bearer(secret))
        assert refused.json()["title"] == "Limit reached"
        assert 0 < int(refused.headers["retry-after"]) <= 86_400


class TestTokensOfADay:
    def test_are_counted_bound_the_runs_and_keep_others_from_beginning(
        self, make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings], folder: Path
    ) -> None:
        def costly(request: Request) -> Reply:
            reply = model(request)
            assert isinstance(reply, Reply)
            return replace(reply, prompt_tokens=7000)

        candor = make_candor(llm=serve(costly))
        run_ingest(candor, [folder], "papers", progress=False)
        limits = Limits(tokens_per_day=6000)
        made = candor.keys.add(KeyRequest(name="x", rights={"papers": Right.READ}, limits=limits))
        asked = {"question": QUESTION, "collection": "papers"}
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=60) as http:
            answer = http.post("/v1/research", json=asked, headers=bearer(made.secret)).json()
            taken = answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]
            assert (answer["status"], answer["usage"]["model_calls"]) == ("insufficient", 1), "its budget was reached"
            assert "6000 allowed" in answer["reasoning"]
            midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
            assert candor.trace.tokens_since(made.key.id, midnight) == taken
            refused = http.post("/v1/research", json=asked, headers=bearer(made.secret))
            assert (refused.status_code, "retry-after" in refused.headers) == (429, True)
            assert "6000 tokens a day" in refused.json()["detail"]
            assert http.get("/v1/runs", headers=bearer(made.secret)).status_code == 200, "reading takes none"
            assert http.post("/v1/research", json=asked).json()["status"] == "answered", "others go on"


class TestWithoutAKey:
    def test_the_person_at_this_machine_may_do_all(self, http: httpx.Client) -> None:
        assert http.get("/v1/me").json()["owner"]

    def test_a_client_that_has_to_send_something_may_send_what_is_no_key(self, http: httpx.Client) -> None:
        assert http.get("/v1/me", headers=bearer("unused")).json()["owner"]
        assert http.get("/v1/me", headers=bearer("candor_unused")).status_code == 401, "this means to be one"

    @pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "Via"])
    def test_who_comes_through_a_proxy_is_not_the_person_at_this_machine(self, http: httpx.Client, header: str) -> None:
        assert http.get("/v1/me", headers={header: "192.0.2.1"}).status_code == 401

    def test_nobody_may_do_anything_where_one_is_required(self, make_candor: Callable[..., Candor], run: Run) -> None:
        secret = run(*OWNER).out.strip()
        with RunningService(make_candor(service=ServiceSettings(require_key=True))) as service:
            refused = httpx.get(f"{service.url}/v1/me")
            assert (refused.status_code, refused.json()["title"]) == (401, "Key needed")
            assert httpx.get(f"{service.url}/v1/me", headers={"X-API-Key": secret}).json()["owner"]
            huge = httpx.post(f"{service.url}/v1/search", content=b"{" * 1_000_000)
            assert huge.status_code == 401, "nothing that a stranger sends is looked into"


class TestListeningElsewhere:
    def test_is_refused_as_long_as_there_is_no_valid_key(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        refused = run("serve", "--host", "0.0.0.0")
        assert (refused.code, "does not listen on '0.0.0.0': there is no valid key" in refused.err) == (2, True)
        run("keys", "revoke", run(*OWNER, "--json").json["key"]["id"])
        assert run("serve", "--host", "0.0.0.0").code == 2
        monkeypatch.setenv("CANDOR_SERVICE__REQUIRE_KEY", "true")
        assert "there is no valid key" in run("serve").err

    def test_answers_to_its_addresses_and_to_the_names_it_was_given(self, make_candor: Callable[..., Candor]) -> None:
        """Any other name may have been made to point here by its owner."""
        candor = make_candor(service=ServiceSettings(hosts=("candor.example.com",)))
        with RunningService(candor) as service:
            port = service.url.rpartition(":")[2]

            def status(host: str, **headers: str) -> int:
                return httpx.get(f"{service.url}/v1/me", headers={"Host": host, **headers}).status_code

            for known in ("candor.example.com", f"Candor.Example.com:{port}", f"127.0.0.1:{port}"):
                assert status(known) == 401, "also here: who has a name is reached from elsewhere"
            assert status("candor.example.com", Origin="https://candor.example.com") == 401
            assert status("candor.example.com", Origin="https://example.com") == 403
            assert status("evil.example.com") == 421

    def test_takes_a_certificate_that_can_be_used(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "empty.pem").write_text("")
        refused = run("serve", "--certfile", tmp_path / "empty.pem")
        assert (refused.code, "cannot be used" in refused.err) == (2, True)
        assert "needs the certfile" in run("serve", "--keyfile", tmp_path / "empty.pem").err

    def test_is_encrypted_with_a_certificate(self, make_candor: Callable[..., Candor], tmp_path: Path) -> None:
        if not shutil.which("openssl"):
            pytest.skip("openssl is not installed")
        names = {"certfile": tmp_path / "certificate.pem", "keyfile": tmp_path / "key.pem"}
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-out", names["certfile"],
             "-keyout", names["keyfile"]],
            check=True, capture_output=True,
        )  # fmt: skip
        with RunningService(make_candor(service=ServiceSettings(**names))) as service:
            assert service.url.startswith("https://")
            trusting = ssl.create_default_context(cafile=str(names["certfile"]))
            assert httpx.get(f"{service.url}/v1/me", verify=trusting).json()["owner"]
