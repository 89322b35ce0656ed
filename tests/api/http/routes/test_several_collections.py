"""Searches and questions over several collections, over REST and the chat API, and the rights that they need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.auth.keys import KeyRequest
from api.auth.permissions import Right
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from support.service import QUESTION, RunningService, model
from support.waiting import LIMIT_S

NAMES = ("papers", "mail", "secret")
BOTH = ["papers", "mail"]


@pytest.fixture(scope="module")
def candor(tmp_path_factory: pytest.TempPathFactory, embedder: Any) -> Iterator[Candor]:
    from api.settings import Settings
    from support.scripted_endpoint import ScriptedEndpoint

    with ScriptedEndpoint(model) as endpoint:
        candor = Candor(Settings(home=tmp_path_factory.mktemp("service"), llm=endpoint.settings("openai")))
        candor.embedder = embedder
        for name in NAMES:
            folder = tmp_path_factory.mktemp(name)
            (folder / f"{name}.md").write_text(f"# {name}\n\nThe Borea 12 works down to -25 °C, says {name}.\n")
            run_ingest(candor, [folder], name, progress=False)
        yield candor


@pytest.fixture(scope="module")
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


@pytest.fixture(scope="module")
def keys(candor: Candor) -> dict[str, dict[str, str]]:
    """Headers with a key for papers and mail, and with a key for papers alone."""
    rights = {"both": {"papers": Right.READ, "mail": Right.READ}, "one": {"papers": Right.READ}}
    made = {name: candor.keys.add(KeyRequest(name=name, rights=of)).secret for name, of in rights.items()}
    return {name: {"Authorization": f"Bearer {secret}"} for name, secret in made.items()}


def names(response: httpx.Response) -> set[str]:
    assert response.status_code == 200, response.text
    return {hit["name"] for hit in response.json()}


def test_a_search_covers_what_the_key_may_read(http: httpx.Client, keys: dict[str, dict[str, str]]) -> None:
    def search(collection: Any, key: str) -> httpx.Response:
        return http.post("/v1/search", json={"query": "Borea 12", "collection": collection}, headers=keys[key])

    assert names(search(BOTH, "both")) == {"papers/papers.md", "mail/mail.md"}
    assert names(search("*", "both")) == {"papers/papers.md", "mail/mail.md"}
    assert names(search("*", "one")) == {"papers.md"}
    refused = search(BOTH, "one")
    assert (refused.status_code, "'mail'" in refused.text) == (404, True)
    assert search([], "one").status_code == 200, "the only collection that it may read"
    assert search([1], "one").status_code == 422


def test_only_keys_that_read_all_its_collections_see_a_run(http: httpx.Client, keys: dict[str, dict[str, str]]) -> None:
    asked = {"question": QUESTION, "collection": BOTH, "mode": "fast"}
    answer = http.post("/v1/research", json=asked, headers=keys["both"]).json()
    assert answer["status"] == "answered"
    assert {quote["document"] for quote in answer["evidence"]} == {"papers/papers.md", "mail/mail.md"}
    run = f"/v1/runs/{answer['run_id']}"
    assert http.get(run, headers=keys["both"]).json()["run"]["collection"] == "mail+papers"
    assert http.get(run, headers=keys["one"]).status_code == 404
    for key, listed in (("both", [answer["run_id"]]), ("one", [])):
        for query in ("", "?collection=papers", "?collection=mail%2Bpapers"):
            runs = http.get(f"/v1/runs{query}", headers=keys[key]).json()
            assert [each["run_id"] for each in runs if each["question"] == QUESTION] == listed, (key, query)
    around = http.get(f"{run}/evidence", headers=keys["both"]).json()
    assert {each["state"] for each in around} == {"found"}
    for quote in answer["evidence"]:
        where = {"collection": "mail+papers"}
        found = http.get(f"/v1/documents/{quote['document_id']}", params=where, headers=keys["both"]).json()
        assert quote["document"] == f"{found['collection']}/{found['name']}"
        hidden = http.get(f"/v1/documents/{quote['document_id']}", params=where, headers=keys["one"])
        assert hidden.status_code == 404
    follow_up = {"question": QUESTION, "continues": answer["run_id"], "mode": "fast"}
    continued = http.post("/v1/research", json=follow_up, headers=keys["both"]).json()
    assert continued["status"] == "answered", continued


@pytest.mark.parametrize("name", ["papers+mail", "papers+mail:Reader", "*"])
def test_several_collections_are_a_chat_model(name: str, http: httpx.Client, keys: dict[str, dict[str, str]]) -> None:
    asked = {"model": name, "messages": [{"role": "user", "content": QUESTION}]}
    answer = http.post("/v1/chat/completions", json=asked, headers=keys["both"])
    assert answer.status_code == 200, answer.text
    text = answer.json()["choices"][0]["message"]["content"]
    assert "papers/papers.md" in text
    assert "mail/mail.md" in text
    for wrong in ("papers+secret", "papers+mail:Nobody", "+"):
        refused = http.post("/v1/chat/completions", json=asked | {"model": wrong}, headers=keys["both"])
        assert refused.status_code == 404, wrong


def test_a_question_in_another_language_is_noted_in_a_header(http: httpx.Client) -> None:
    asked = {"query": "Bis zu welcher Temperatur arbeitet die Wärmepumpe im Winter?", "collection": "papers"}
    assert "in German, the documents are in English" in http.post("/v1/search", json=asked).headers["Candor-Note"]
    assert "Candor-Note" not in http.post("/v1/search", json=asked | {"query": "Borea"}).headers


def test_evaluations_and_uploads_take_one_collection(http: httpx.Client, tmp_path: Path) -> None:
    questions = {"name": "q", "questions": [{"id": "1", "question": QUESTION, "type": "text", "gold": {"answer": "x"}}]}
    refused = http.post("/v1/evaluations", json={"collection": "papers+mail", "questions": questions})
    assert refused.status_code == 422
    assert http.post("/v1/collections/papers+mail/ingest", json={"paths": [str(tmp_path)]}).status_code == 422
