"""Keys that can only ask: what they may request and read, from which pages, and how often.

``test_permissions.py`` tests that all other routes refuse such a key.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from api.auth.keys import KeyRequest
from api.auth.permissions import Right
from api.auth.users import Group, NewUser
from api.bootstrap import Candor
from api.services.research.research import PanelFactory
from multi_agent.memory.memories import NO_MEMORY
from multi_agent.orchestrator.orchestrator import Orchestrator
from support.service import QUESTION, REFUSED
from vectorstore.errors import StoreUnavailable

SITE, OTHER, GONE = "https://example.org", "https://example.com", "https://gone.example.org"
LIMIT = 10
"""The default of `service.questions_per_minute`."""
PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type,idempotency-key",
}
ASKED = {"question": QUESTION, "collection": "papers"}
CORS = "access-control-allow-origin"


@pytest.fixture
def candor(service_candor: Candor) -> Candor:
    """Candor of the service on localhost, where requests without a key are those of the owner."""
    return service_candor


def runs(http: httpx.Client) -> list[dict[str, Any]]:
    """Return the runs of all keys, newest first."""
    return http.get("/v1/runs?limit=1000").json()


def add_key(candor: Candor, *origins: str, **fields: Any) -> str:
    wanted = {"name": "box", "rights": {"papers": "ask"}, "origins": origins, **fields}
    return candor.keys.add(KeyRequest.model_validate(wanted)).secret


def ask(http: httpx.Client, key: str, origin: str = "", **body: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} | ({"Origin": origin} if origin else {})
    return http.post("/v1/research", json=ASKED | body, headers=headers)


class TestAnswers:
    def test_an_answer_has_its_citations_and_nothing_about_the_run(self, http: httpx.Client, candor: Candor) -> None:
        answer = ask(http, add_key(candor)).json()
        assert set(answer) == {
            "status", "basis", "layout", "statements", "short", "nearest", "missing", "clarification",
            "citations",
        }  # fmt: skip
        assert (answer["status"], bool(answer["basis"])) == ("answered", True)
        [statement], [citation] = answer["statements"], answer["citations"]
        assert statement["marks"] == [citation["mark"]] == ["1"]
        assert (citation["document"], citation["section"]) == ("pumps.md", ["Limits"])
        assert citation["quote"] == "The Borea 12 works down to -25 °C."

    def test_the_collection_of_the_key_is_the_default(self, http: httpx.Client, candor: Candor) -> None:
        assert ask(http, add_key(candor), collection=None).json()["status"] == "answered"
        refused = ask(http, add_key(candor, rights={"other": "ask"}))
        assert (refused.status_code, refused.json()["title"]) == (404, "No such collection")

    def test_events_have_no_more_than_their_type(self, http: httpx.Client, candor: Candor) -> None:
        stream = ask(http, add_key(candor), stream=True)
        assert stream.headers["content-type"].startswith("text/event-stream")
        *events, last = stream.text.strip().split("\n\n")
        shown = [json.loads(event.rpartition("data: ")[2]) for event in events]
        assert {"type": "searched"} in shown
        assert {key for event in shown for key in event} == {"type"}
        assert last.startswith("event: answer\n")
        assert json.loads(last.rpartition("data: ")[2])["status"] == "answered"

    @pytest.mark.parametrize("stream", [False, True])
    def test_a_failed_run_does_not_say_why(self, http: httpx.Client, candor: Candor, stream: bool) -> None:
        failed = ask(http, add_key(candor), question=REFUSED, stream=stream)
        assert (failed.status_code, '"status":"failed"' in failed.text) == (200, True)
        assert "no such question" not in failed.text
        assert str(candor.settings.llm.base_url) not in failed.text

    @pytest.mark.parametrize(
        "more",
        [
            {"mode": "high"}, {"sources": ["web"]}, {"agent": "Reader"}, {"samples": 9}, {"model": "large"},
            {"continues": "run_1"}, {"wait": False}, {"template": "x"}, {"budget": {"tokens": 1}}, {"session": "x"},
            {"rag_results": [{"text": "x", "source": "y"}]}, {"priority": "high"}, {"filter": {"documents": ["*"]}},
        ],
    )  # fmt: skip
    def test_options_are_refused(self, candor: Candor, http: httpx.Client, more: dict[str, Any]) -> None:
        before = runs(http)
        refused = ask(http, add_key(candor), **more)
        assert (refused.status_code, refused.json()["title"]) == (403, "Not allowed"), refused.text
        assert repr(next(iter(more))) in refused.json()["detail"]
        assert runs(http) == before

    def test_only_documents_are_asked(self, candor: Candor, http: httpx.Client) -> None:
        settings = candor.settings
        sources = settings.research.model_copy(update={"sources": ("documents", "web")})
        candor.panel.use(settings.model_copy(update={"research": sources}))
        try:
            ask(http, add_key(candor))
        finally:
            candor.panel.use(settings)
        [started, *_] = http.get(f"/v1/runs/{runs(http)[0]['run_id']}/events?follow=false").json()
        assert started["body"]["request"]["sources"] == ["documents"]

    def test_its_runs_neither_read_nor_store_memories(
        self, candor: Candor, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made: list[Orchestrator] = []
        make = PanelFactory.orchestrator

        def watched(*given: Any, **options: Any) -> Orchestrator:
            made.append(make(*given, **options))
            return made[-1]

        monkeypatch.setattr(PanelFactory, "orchestrator", watched)
        for key in (add_key(candor), candor.keys.add(KeyRequest(name="reader", rights={"papers": Right.READ})).secret):
            assert ask(http, key).json()["status"] == "answered"
        public, own = made[-3], made[-1]
        assert (public.memory is NO_MEMORY, own.memory is NO_MEMORY) == (True, False)
        assert (public.settings.plan_examples, public.settings.remember_plans) == (0, False)

    def test_faults_of_the_service_have_no_details(
        self, candor: Candor, http: httpx.Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise StoreUnavailable("The Qdrant server at 10.0.0.7 does not answer.")

        key = add_key(candor)
        monkeypatch.setattr(type(candor.collections), "resolve_for", fail)
        refused = ask(http, key)
        assert (refused.status_code, refused.json()["detail"]) == (503, "No answer is possible now.")
        assert "10.0.0.7" not in refused.text

    def test_the_response_does_not_name_the_run(self, candor: Candor, http: httpx.Client) -> None:
        assert "location" not in ask(http, add_key(candor)).headers

    def test_refused_requests_do_not_count(self, candor: Candor, http: httpx.Client) -> None:
        key = add_key(candor, SITE, limits={"requests_per_day": 1})
        assert ask(http, key, OTHER).status_code == 403
        headers = {"Authorization": f"Bearer {key}", "Origin": SITE}
        assert http.get("/v1/me", headers=headers).status_code == 403
        assert ask(http, key, SITE).status_code == 200
        assert ask(http, key, SITE).status_code == 429

    def test_a_repeated_request_reads_the_answer_of_its_run(self, candor: Candor, http: httpx.Client) -> None:
        key = add_key(candor)
        headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "a-random-string"}
        before = len(runs(http))
        first, second = (http.post("/v1/research", json=ASKED, headers=headers).json() for _ in range(2))
        assert first == second
        assert len(runs(http)) == before + 1


class TestPages:
    def test_a_page_of_its_origin_may_ask(self, candor: Candor, http: httpx.Client) -> None:
        key = add_key(candor, SITE)
        preflight = http.options("/v1/research", headers={"Origin": SITE, **PREFLIGHT})
        assert (preflight.status_code, preflight.headers[CORS]) == (200, SITE)
        assert "Authorization" in preflight.headers["access-control-allow-headers"]
        assert "access-control-allow-credentials" not in preflight.headers
        answer = ask(http, key, SITE)
        assert (answer.json()["status"], answer.headers[CORS], answer.headers["vary"]) == ("answered", SITE, "Origin")

    def test_other_pages_may_not(self, candor: Candor, http: httpx.Client) -> None:
        key, elsewhere = add_key(candor, SITE), add_key(candor, OTHER)
        for origin in ("https://example.net", "null", "http://example.org", "https://example.org:8443"):
            for response in (
                http.options("/v1/research", headers={"Origin": origin, **PREFLIGHT}),
                ask(http, key, origin),
            ):
                assert (response.status_code, CORS in response.headers) == (403, False)
                assert response.json()["title"] == "Asked by a foreign page"
        for refused in (ask(http, key, OTHER), ask(http, elsewhere, SITE), ask(http, key)):
            assert (refused.status_code, refused.json()["title"]) == (403, "Not allowed")
            assert "`candor keys add --origin`" in refused.json()["detail"]

    def test_a_key_without_origins_is_for_programs(self, candor: Candor, http: httpx.Client) -> None:
        add_key(candor, SITE)
        assert ask(http, add_key(candor), SITE).status_code == 403
        assert ask(http, add_key(candor)).status_code == 200

    def test_other_callers_stay_closed_to_the_page(self, candor: Candor, http: httpx.Client) -> None:
        """Also the person at this machine, who sends no key, and readers."""
        before = runs(http)
        add_key(candor, SITE)
        reader = candor.keys.add(KeyRequest(name="reader", rights={"papers": Right.READ})).secret
        assert ask(http, reader, SITE).status_code == 403
        assert http.post("/v1/research", json=ASKED, headers={"Origin": SITE}).status_code == 403
        assert runs(http) == before
        for path in ("/v1/runs", "/v1/me", "/v1/documents", "/healthz"):
            refused = http.get(path, headers={"Origin": SITE, "Authorization": f"Bearer {reader}"})
            assert (refused.status_code, CORS in refused.headers) == (403, False), path
            assert CORS not in http.options(path, headers={"Origin": SITE, **PREFLIGHT}).headers
        own = str(http.base_url).rstrip("/")
        add_key(candor, own)
        assert ask(http, reader, own).status_code == 200, "the own page stays open to readers"

    def test_the_page_is_told_that_its_key_was_revoked(self, candor: Candor, http: httpx.Client) -> None:
        key = add_key(candor, GONE)
        candor.keys.revoke(key.split("_")[1])
        refused = ask(http, key, GONE)
        assert (refused.status_code, refused.headers[CORS]) == (401, GONE)
        candor.keys.erase(key.split("_")[1])
        assert CORS not in ask(http, key, GONE).headers


class TestLimits:
    def test_the_questions_of_an_address_are_limited(self, candor: Candor, http: httpx.Client) -> None:
        key = add_key(candor, SITE)
        statuses = [ask(http, key, SITE, mode="high").status_code for _ in range(LIMIT + 1)]
        assert statuses == [403] * LIMIT + [429], "refused questions count, too"
        refused = ask(http, key, SITE)
        assert (refused.headers[CORS], refused.headers["access-control-expose-headers"]) == (SITE, "Retry-After")
        assert 0 < int(refused.headers["retry-after"]) <= 60
        assert f"{LIMIT} questions within a minute" in refused.json()["detail"]
        assert ask(http, add_key(candor)).status_code == 200, "the limit is one of each key"

    def test_the_limits_of_keys_hold(self, candor: Candor, http: httpx.Client) -> None:
        key = add_key(candor, SITE, limits={"requests_per_day": 1})
        assert [ask(http, key, SITE).status_code for _ in range(2)] == [200, 429]


class TestKeys:
    @pytest.mark.parametrize(
        "fields",
        [
            {"rights": {"papers": "ask", "mail": "read"}}, {"rights": {"papers": "ask", "mail": "ask"}},
            {"rights": {"*": "ask"}}, {"rights": {"papers": "ask"}, "run_id": "run_1"},
            {"rights": {"papers": "read"}, "origins": [SITE]}, {"rights": {"papers": "ask"}, "origins": [f"{SITE}/"]},
            {"rights": {"papers": "ask"}, "origins": ["*"]},
        ],
    )  # fmt: skip
    def test_the_right_stands_alone_and_origins_belong_to_it(self, fields: dict[str, Any]) -> None:
        with pytest.raises(ValidationError):
            KeyRequest.model_validate({"name": "x", **fields})

    def test_users_and_groups_cannot_have_it(self) -> None:
        for kind in (NewUser, Group):
            with pytest.raises(ValidationError, match="rights"):
                kind.model_validate({"name": "x", "rights": {"papers": "ask"}})
            assert kind.model_validate({"name": "x", "rights": {"papers": "read"}}).rights == {"papers": Right.READ}

    def test_a_key_of_a_user_without_the_collection_can_do_nothing(self, candor: Candor, http: httpx.Client) -> None:
        ada = candor.users.add(NewUser(name="Ada", rights={"papers": Right.READ}))
        key = add_key(candor, user_id=ada.id)
        assert ask(http, key).json()["status"] == "answered"
        candor.users.change(ada.id, NewUser(name="Ada", rights={}))
        assert ask(http, key).status_code == 404
        assert http.get("/v1/agents", headers={"X-API-Key": key}).status_code == 403

    def test_a_key_is_created_and_listed_with_its_origins(self, run: Callable[..., Any]) -> None:
        made = run("keys", "add", "box", "--right", "papers=ask", "--origin", SITE, "--origin", OTHER, "--json").json
        assert (made["key"]["rights"], made["key"]["origins"]) == ({"papers": "ask"}, [SITE, OTHER])
        assert SITE in run("keys").out
        refused = run("keys", "add", "box", "--right", "papers=read", "--origin", SITE)
        assert (refused.code, "only a key with the right 'ask' can have origins" in refused.err) == (2, True)
