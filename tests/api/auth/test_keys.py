"""API keys are created, shown once, used, limited and revoked; requests without a key.

Rights are tested in ``test_permissions.py``.
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
import sqlalchemy as sql

from api.auth.callers import Credentials
from api.auth.keys import KeyRequest
from api.auth.permissions import Limits, Right
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.errors import LimitReached
from api.settings import ServiceSettings
from multi_agent.llm.settings import EndpointSettings
from support.replies import Reply, Request
from support.service import QUESTION, RunningService, model
from support.waiting import LIMIT_S

Run = Callable[..., Any]
CREATE_ADMIN = ("keys", "add", "The admin", "--right", "*=admin")


@pytest.fixture
def candor(make_candor: Callable[..., Candor]) -> Candor:
    """Candor on an empty home folder, which ``run`` uses too."""
    return make_candor()


@pytest.fixture
def http(candor: Candor) -> Iterator[httpx.Client]:
    """A client of the service on localhost."""
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


class TestCommandLine:
    def test_a_key_is_created_listed_and_revoked(self, run: Run) -> None:
        made = run("keys", "add", "Reading room", "--right", "papers=read", "--expires", "30d", "--json").json
        assert made["secret"].startswith(f"candor_{made['key']['id']}_")
        assert made["key"]["rights"] == {"papers": "read"}
        [listed] = run("keys", "list", "--json").json
        assert listed == made["key"]
        assert "valid until" in run("keys", "list").out
        assert run("keys", "revoke", listed["id"], "--json").json["revoked_at"]
        assert "revoked" in run("keys", "list").out

    def test_the_secret_is_shown_once(self, run: Run, candor: Candor) -> None:
        secret = run(*CREATE_ADMIN).out.strip()
        assert secret.startswith("candor_")
        random = secret.rpartition("_")[2] if secret.count("_") == 2 else secret.split("_", 2)[2]
        assert random not in run("keys", "list", "--json").out
        for file in candor.settings.home.glob("candor.db*"):
            assert random.encode() not in file.read_bytes(), "only the hash is stored"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--right", "papers"), "Invalid right 'papers'. Write COLLECTION=RIGHT"),
            (("--right", "papers=own"), "'ask', 'read', 'write' or 'admin'"),
            (("--right", "pa pers=read"), "rights.pa pers"),
            (("--right", "papers=read", "--expires", "soon"), "Invalid lifetime 'soon'"),
        ],
    )
    def test_invalid_keys_are_rejected(self, run: Run, arguments: tuple[str, ...], message: str) -> None:
        refused = run("keys", "add", "x", *arguments)
        assert (refused.code, message in refused.err) == (2, True), refused.err

    def test_an_unknown_key_cannot_be_revoked(self, run: Run) -> None:
        refused = run("keys", "revoke", "000000000000")
        assert refused.code == 1
        assert "There is no key '000000000000'" in refused.err


class TestRest:
    def test_a_revoked_key_is_rejected(self, http: httpx.Client) -> None:
        made = http.post("/v1/keys", json={"name": "Reader", "rights": {"papers": "read"}})
        assert made.status_code == 201
        secret, key = made.json()["secret"], made.json()["key"]
        me = http.get("/v1/me", headers=bearer(secret)).json()
        assert me == {
            "key": key["id"], "user": "", "signed_in": False, "name": "Reader", "owner": False,
            "rights": {"papers": "read"},
            "limits": {"requests_per_day": None, "tokens_per_day": None, "upload_bytes_per_day": None},
        }  # fmt: skip
        [listed] = http.get("/v1/keys").json()
        assert (listed["requests_today"], listed["last_used_at"] is not None) == (1, True)
        assert http.delete(f"/v1/keys/{key['id']}").json()["revoked_at"]
        assert http.get("/v1/me", headers=bearer(secret)).status_code == 401

    def test_an_expiry_date_in_the_past_is_rejected(self, http: httpx.Client) -> None:
        request = {"name": "late", "rights": {"*": "read"}, "expires_at": "2020-01-01T00:00:00Z"}
        assert "is in the past" in http.post("/v1/keys", json=request).json()["detail"]

    def test_requests_per_day_are_limited(self, http: httpx.Client) -> None:
        request = {"name": "x", "rights": {"papers": "read"}, "limits": {"requests_per_day": 2}}
        secret = http.post("/v1/keys", json=request).json()["secret"]
        statuses = [http.get("/v1/me", headers=bearer(secret)).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        refused = http.get("/v1/me", headers=bearer(secret))
        assert refused.json()["title"] == "Limit reached"
        assert 0 < int(refused.headers["retry-after"]) <= 86_400


class TestTokensPerDay:
    def test_limit_the_budget_and_then_reject_runs(
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
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
            answer = http.post("/v1/research", json=asked, headers=bearer(made.secret)).json()
            used = answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]
            assert (answer["status"], answer["usage"]["model_calls"]) == ("insufficient", 1), "the budget stopped it"
            assert "6000 allowed" in answer["reasoning"]
            midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
            assert candor.trace.tokens_since(made.key.id, midnight) == used
            refused = http.post("/v1/research", json=asked, headers=bearer(made.secret))
            assert (refused.status_code, "retry-after" in refused.headers) == (429, True)
            assert "6000 tokens a day" in refused.json()["detail"]
            assert http.get("/v1/runs", headers=bearer(made.secret)).status_code == 200, "reading needs no tokens"
            assert http.post("/v1/research", json=asked).json()["status"] == "answered", "other callers are not limited"


class TestUploadsPerDay:
    def test_uploads_over_the_limit_are_refused_and_leave_nothing(self, candor: Candor, http: httpx.Client) -> None:
        limits = Limits(upload_bytes_per_day=100)
        made = candor.keys.add(KeyRequest(name="x", rights={"papers": Right.WRITE}, limits=limits))

        def upload(name: str, size: int) -> httpx.Response:
            files = {"files": (name, b"x" * size)}
            return http.post("/v1/collections/papers/documents", files=files, headers=bearer(made.secret))

        uploads = candor.settings.home / "uploads"
        assert upload("a.txt", 60).status_code == 202
        refused = upload("b.txt", 41)
        assert (refused.status_code, refused.json()["title"]) == (429, "Limit reached")
        assert "100 bytes of uploads a day" in refused.json()["detail"]
        assert 0 < int(refused.headers["retry-after"]) <= 86_400
        assert [path.name for path in uploads.rglob("*.txt")] == ["a.txt"]
        assert candor.keys.get(made.key.id).uploaded_today == 60
        assert upload("b.txt", 40).status_code == 202
        assert upload("c.txt", 1).status_code == 429
        assert http.get("/v1/me", headers=bearer(made.secret)).status_code == 200, "other requests go on"

    def test_concurrent_uploads_are_counted_together(self, candor: Candor, tmp_path: Path) -> None:
        limits = Limits(upload_bytes_per_day=100)
        made = candor.keys.add(KeyRequest(name="x", rights={"papers": Right.WRITE}, limits=limits))
        caller = candor.callers.find(made.key.id)
        file = tmp_path / "received"
        file.write_bytes(b"x" * 60)
        assert candor.keys.uploads_left(caller) == 100  # as two requests see it that arrive together
        candor.keys.count_upload(caller, file.stat().st_size)
        with pytest.raises(LimitReached, match="100 bytes of uploads"):
            candor.keys.count_upload(caller, file.stat().st_size)
        assert candor.keys.uploads_left(caller) == 40

    def test_a_new_day_begins_at_zero(self, candor: Candor, tmp_path: Path) -> None:
        made = candor.keys.add(
            KeyRequest(name="x", rights={"papers": Right.WRITE}, limits=Limits(upload_bytes_per_day=100))
        )
        caller = candor.callers.find(made.key.id)
        file = tmp_path / "received"
        file.write_bytes(b"x" * 60)
        candor.keys.count_upload(caller, file.stat().st_size)
        with candor.engine.begin() as connection:
            connection.execute(sql.text("UPDATE keys SET last_day = '2020-01-01'"))
        assert candor.keys.uploads_left(caller) == 100
        candor.callers.admit(Credentials(key=made.secret))
        assert candor.keys.get(made.key.id).uploaded_today == 0

    def test_the_limit_is_listed(self, run: Run) -> None:
        made = run("keys", "add", "x", "--right", "papers=write", "--upload-bytes-per-day", "5000000", "--json").json
        assert made["key"]["limits"]["upload_bytes_per_day"] == 5_000_000
        assert "5,000,000 bytes" in run("keys", "list").out


class TestNoKey:
    def test_a_local_user_is_admin(self, http: httpx.Client) -> None:
        assert http.get("/v1/me").json()["owner"]

    @pytest.mark.parametrize("key", ["garbage", "candor_garbage"])
    def test_an_unknown_key_is_refused_also_where_none_is_needed(self, http: httpx.Client, key: str) -> None:
        assert http.get("/v1/me", headers=bearer(key)).status_code == 401
        assert http.get("/v1/me", headers={"X-API-Key": key}).status_code == 401
        assert http.get("/v1/me", headers=bearer("local")).json()["owner"]

    @pytest.mark.parametrize(
        "header",
        ["Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded"],
    )
    def test_a_proxied_request_is_not_local(self, http: httpx.Client, header: str) -> None:
        assert http.get("/v1/me", headers={header: "192.0.2.1"}).status_code == 401

    def test_require_key_rejects_requests_without_one(self, make_candor: Callable[..., Candor], run: Run) -> None:
        secret = run(*CREATE_ADMIN).out.strip()
        with RunningService(make_candor(service=ServiceSettings(require_key=True))) as service:
            refused = httpx.get(f"{service.url}/v1/me", timeout=LIMIT_S)
            assert (refused.status_code, refused.json()["title"]) == (401, "Key needed")
            assert httpx.get(f"{service.url}/v1/me", headers={"X-API-Key": secret}, timeout=LIMIT_S).json()["owner"]
            huge = httpx.post(f"{service.url}/v1/search", content=b"{" * 1_000_000, timeout=LIMIT_S)
            assert huge.status_code == 401, "the body is not parsed before authentication"


class TestOtherHosts:
    def test_need_a_valid_key(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        refused = run("serve", "--host", "0.0.0.0")
        assert (refused.code, "There is no valid key, and listening on '0.0.0.0' needs one" in refused.err) == (2, True)
        run("keys", "revoke", run(*CREATE_ADMIN, "--json").json["key"]["id"])
        assert run("serve", "--host", "0.0.0.0").code == 2
        monkeypatch.setenv("CANDOR_SERVICE__REQUIRE_KEY", "true")
        assert "There is no valid key" in run("serve").err

    def test_are_addresses_and_configured_names(self, make_candor: Callable[..., Candor]) -> None:
        """Reject other names: an attacker could point theirs to this address (DNS rebinding)."""
        candor = make_candor(service=ServiceSettings(hosts=("candor.example.com",)))
        with RunningService(candor) as service:
            port = service.url.rpartition(":")[2]

            def status(host: str, **headers: str) -> int:
                return httpx.get(f"{service.url}/v1/me", headers={"Host": host, **headers}, timeout=LIMIT_S).status_code

            for known in ("candor.example.com", f"Candor.Example.com:{port}", f"127.0.0.1:{port}"):
                assert status(known) == 401, "a key is needed, also from localhost"
            assert status("candor.example.com", Origin="https://candor.example.com") == 401
            assert status("candor.example.com", Origin="https://example.com") == 403
            assert status("evil.example.com") == 421

    def test_need_a_usable_certificate(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "empty.pem").write_text("")
        refused = run("serve", "--certfile", tmp_path / "empty.pem")
        assert (refused.code, "Cannot use the certificate" in refused.err) == (2, True)
        assert "needs the certfile" in run("serve", "--keyfile", tmp_path / "empty.pem").err

    def test_serve_tls_with_a_certificate(self, make_candor: Callable[..., Candor], tmp_path: Path) -> None:
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
            context = ssl.create_default_context(cafile=str(names["certfile"]))
            assert httpx.get(f"{service.url}/v1/me", verify=context, timeout=LIMIT_S).json()["owner"]
