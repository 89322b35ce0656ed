"""Every error that the description names is one that a request can really get.

Each operation is asked in every way that may go wrong: in states that forbid what is right otherwise, about what is
there, what is not, what another process has, with wrong parameters, by strangers, and at last with a database whose
tables are gone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import sqlalchemy as sql

from api.auth.callers import Credentials
from api.auth.keys import KeyRequest
from api.auth.permissions import Limits
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import ServiceSettings, Settings
from ingest.ledger.sources import SourceRecord
from multi_agent.values.request import Request
from support.routes import ROUTES, Rule
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, RunningService, model
from support.states import REQUEST_BYTES, UPLOAD_BYTES, Asked, job_of_another_service, refused_by_state
from support.waiting import LIMIT_S
from vectorstore.edge.lock import CollectionLock
from vectorstore.embedding.embedder import Embedder


class Names(defaultdict[str, str]):
    """What stands for the placeholders of a rule."""

    def __init__(self, **known: str) -> None:
        super().__init__(lambda: known.get("run", "none"), known)


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> dict[str, Any]:
    """By route, the statuses that it answered with, and the description."""
    folder = tmp_path_factory.mktemp("documents")
    (folder / "pumps.md").write_text("# Pumps\n\nThe Borea 12 works down to -25 °C.\n")
    statuses: dict[str, set[int]] = defaultdict(set)
    with ScriptedEndpoint(model) as endpoint:
        settings = Settings(
            home=tmp_path_factory.mktemp("home"),
            llm=endpoint.settings("openai"),
            service=ServiceSettings(
                concurrent_runs=2, upload_bytes=UPLOAD_BYTES, request_bytes=REQUEST_BYTES, ingest_roots=(folder,)
            ),
        )
        candor = Candor(settings)
        candor.embedder = embedder
        for name in ("papers", "locked"):
            run_ingest(candor, [folder], name, progress=False)
        candor.sources.add(SourceRecord(collection="locked", name="none", address="memory://none"))
        elsewhere = job_of_another_service(candor)
        lock = CollectionLock(settings.home / "collections" / "locked")
        candor.trace.start("run_elsewhere", Request(question=QUESTION), "papers", "scripted")
        with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
            known = _known(candor, http)
            for route, asked in refused_by_state(candor, http, known["run"], elsewhere, folder):
                statuses[route].add(_ask(http, route, asked))
            description = http.get("/openapi.json").json()
            routes = sorted(_described(description), key=lambda each: each[0].startswith("DELETE"))  # last
            for route, operation in routes:
                for asked in _ways(ROUTES[route], route, operation, known, candor):
                    statuses[route].add(_ask(http, route, asked))
            with candor.engine.begin() as connection:
                tables = sql.MetaData()
                tables.reflect(connection)
                tables.drop_all(connection)
            sign_in = Asked("/v1/session", {"name": "x", "password": "x"})  # the rule has no name
            statuses["POST /v1/session"].add(_ask(http, "POST /v1/session", sign_in))
            for route, _ in routes:
                asked = _filled(ROUTES[route], known)
                for headers in ({}, {"X-API-Key": f"candor_{'0' * 12}_x"}):
                    statuses[route].add(_ask(http, route, asked._replace(headers=headers)))
        lock.release()
    return {**statuses, "documented": description}


def _known(candor: Candor, http: httpx.Client) -> Names:
    [document] = candor.ledger.list("papers")
    answer = http.post("/v1/research", json={"question": QUESTION, "collection": "papers"}).json()
    return Names(collection="papers", document=document.id, run=answer["run_id"])


def _described(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            [route] = [each for each in ROUTES if each.replace(":path", "") == f"{method.upper()} {path}"]
            yield route, operation


def _ways(rule: Rule, route: str, operation: dict[str, Any], known: Names, candor: Candor) -> Iterator[Asked]:
    right = _filled(rule, known)
    spent = candor.keys.add(KeyRequest(name="spent", rights={"*": "admin"}, limits=Limits(requests_per_day=1))).secret
    candor.callers.admit(Credentials(key=spent))
    weak = candor.keys.add(KeyRequest(name="weak", rights={"papers": "read"})).secret
    others = candor.keys.add(KeyRequest(name="others", rights={"others": "admin"})).secret
    for headers in (
        {}, {}, {"Host": "elsewhere.example.com"}, {"Origin": "https://example.com"}, {"X-API-Key": weak},
        {"X-API-Key": others}, {"X-API-Key": spent}, {"X-API-Key": f"{spent[:-4]}AAAA"},
    ):  # fmt: skip
        yield right._replace(headers=headers)
    absent = Names(collection="none", document="none", run="run_none")
    elsewhere = Names(collection="locked", document=known["document"], run="run_elsewhere")
    for names in (absent, elsewhere):
        yield _filled(rule, names)
    bare = right.path.partition("?")[0]
    yield right._replace(path=bare)
    for odd in ("0" * 12, "%00", "no such!"):
        yield right._replace(path="/" + "/".join(odd if "{" in part else part for part in route.split("/")[1:]))
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "query":
            for wrong in ("none!", "%00"):
                yield right._replace(path=f"{bare}?{parameter['name']}={wrong}")
    if rule.body is not None:
        yield right._replace(body=[])
        yield right._replace(body=["x" * REQUEST_BYTES])


def _filled(rule: Rule, names: Names) -> Asked:
    return Asked(rule.path.format_map(names), _in(rule.body, names), files=rule.files)


def _in(body: Any, names: Names) -> Any:
    if isinstance(body, dict):
        return {name: _in(each, names) for name, each in body.items()}
    if isinstance(body, list):
        return [_in(each, names) for each in body]
    return body.format_map(names) if isinstance(body, str) and body.startswith("{") and body.endswith("}") else body


def _ask(http: httpx.Client, route: str, asked: Asked) -> int:
    method = route.partition(" ")[0]
    body = {"json": asked.body, "files": asked.files} if asked.content is None else {"content": asked.content}
    with http.stream(method, asked.path, headers=asked.headers, **body) as response:
        return response.status_code


def test_every_documented_error_is_reached(reached: dict[str, Any]) -> None:
    description = reached.pop("documented")
    missing = {
        (route, int(status))
        for route, operation in _described(description)
        for status in operation["responses"]
        if int(status) >= 400 and int(status) not in reached[route]
    }
    assert missing == set()
