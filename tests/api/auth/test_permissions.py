"""Every route × right × collection: access is granted by right, and nothing leaks about the data of others.

``support/routes.py`` lists the right that each route needs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import httpx
import pytest
import sqlalchemy as sql
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from api.auth.keys import KeyRequest
from api.auth.permissions import Right
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.http.app import make_app
from api.settings import ServiceSettings, Settings
from ingest.ledger.lock import ingest_lock
from multi_agent.evaluation.question_set import Question
from multi_agent.evaluation.store import Configuration, Evaluation, Row, new_evaluation_id
from support.approvals import left_open
from support.routes import COLUMN, ROUTES, WITHIN, Rule, routes_of
from support.scripted_endpoint import ScriptedEndpoint
from support.service import NEVER, QUESTION, RunningService, model
from support.waiting import LIMIT_S, until
from vectorstore.embedding.embedder import Embedder

INVALID_KEYS = ("no key", "a wrong key", "an expired key", "a revoked key", "no such key", "another scheme")
HOLDERS = {
    "nothing of it": {"elsewhere": "admin"},
    "ask": {"mine": "ask"},
    "read": {"mine": "read"},
    "write": {"mine": "write"},
    "admin": {"mine": "admin"},
    "read all": {"*": "read"},
    "owner": {"*": "admin"},
}
WORDS = "The zinc plate of the secret vault weighs 40 kg."


class Things(NamedTuple):
    """The ids that a request names."""

    collection: str
    document: str
    run: str
    approval: str = ""
    evaluation: str = ""
    table: str = ""


@dataclass(frozen=True)
class World:
    """The service, which requires keys, and its data."""

    candor: Candor
    http: httpx.Client
    keys: dict[str, str]
    things: dict[str, Things]

    def ask(self, route: str, who: str, things: Things) -> httpx.Response:
        """Send a request to the route as ``who``, about these things."""
        rule, method = ROUTES[route], route.partition(" ")[0]
        headers = {"Authorization": f"Bearer {self.keys[who]}"} if who in self.keys else {}
        if who == "another scheme":
            headers = {"Authorization": f"Basic {self.keys['owner']}"}
        path = rule.path.format(**things._asdict())
        if method == "WEBSOCKET":
            return _websocket(str(self.http.base_url).rstrip("/") + path, headers)
        return self.http.request(
            {"MOUNT": "GET"}.get(method, method),
            path,
            headers=headers,
            json=_filled(rule.body, things) if rule.body is not None else None,
            files=rule.files,
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[World]:
    root = tmp_path_factory.mktemp("rights")
    with ScriptedEndpoint(model) as endpoint:
        service = ServiceSettings(require_key=True)
        candor = Candor(Settings(home=root / "home", llm=endpoint.settings("openai"), service=service))
        candor.embedder = embedder
        for name, text in (("mine", "The Borea 12 works down to -25 °C."), ("theirs", WORDS)):
            (root / name).mkdir()
            (root / name / f"{name}_file.txt").write_text(text)
            run_ingest(candor, [root / name], name, progress=False)
        keys = _keys(candor)
        with (
            RunningService(candor) as running,
            httpx.Client(base_url=running.url, timeout=LIMIT_S) as http,
            ingest_lock(candor.engine, "mine"),  # so that no request can delete them
            ingest_lock(candor.engine, "theirs"),
        ):
            things = {name: _things(candor, http, keys["owner"], name) for name in ("mine", "theirs")}
            run = f"run_{'0' * 12}"
            nothing = Things(
                "absent", "0" * len(things["mine"].document), run, f"{run}-call-0", "eval_00000000", "table_of_absent"
            )
            yield World(candor, http, keys, {**things, "absent": nothing})


def _websocket(url: str, sent: dict[str, str]) -> httpx.Response:
    """Open a web socket, and return its messages as a response with status 101, or the refusal."""
    try:
        with connect(url.replace("http", "ws", 1), additional_headers=sent, open_timeout=LIMIT_S) as socket:
            return httpx.Response(101, content="".join(map(str, socket)))
    except InvalidStatus as refused:
        response = refused.response
        headers = list(response.headers.raw_items())
        return httpx.Response(response.status_code, headers=headers, content=bytes(response.body or b""))


def _keys(candor: Candor) -> dict[str, str]:
    def make(rights: dict[str, Any], expires_at: datetime | None = None) -> Any:
        return candor.keys.add(KeyRequest(name="for a test", rights=rights, expires_at=expires_at))

    known = {who: make(rights).secret for who, rights in HOLDERS.items()}
    revoked, expired = make({"*": "admin"}), make({"*": "admin"}, datetime.now(UTC) + timedelta(milliseconds=1))
    candor.keys.revoke(revoked.key.id)
    wrong = known["owner"][:-2] + ("AA" if not known["owner"].endswith("AA") else "BB")
    unknown = "candor_" + "0" * 12 + wrong[19:]
    return known | {
        "a revoked key": revoked.secret, "an expired key": expired.secret, "a wrong key": wrong,
        "no such key": unknown,
    }  # fmt: skip


def _things(candor: Candor, http: httpx.Client, key: str, name: str) -> Things:
    """Return the collection's only document, an ended run, an open approval, an evaluation and a table."""
    [document] = candor.ledger.list(name)
    asked = {"question": f"{QUESTION} ({name})", "collection": name}
    answer = http.post("/v1/research", json=asked, headers={"X-API-Key": key}).json()
    approval = candor.tools.approvals.request(left_open(answer["run_id"]), timeout_s=600)
    table = candor.tables.create({"name": f"table_of_{name}", "columns": [COLUMN]}, name)
    return Things(name, document.id, answer["run_id"], approval.approval_id, _evaluation(candor, name), table.name)


def _evaluation(candor: Candor, collection: str) -> str:
    """Add an evaluation with one answered question."""
    evaluation = Evaluation(
        id=new_evaluation_id(), set_name=collection, fingerprint="f", collection=collection, metrics=("correct",),
        configuration=Configuration(label="x", model="m"), started_at=datetime.now(UTC),
    )  # fmt: skip
    candor.evaluations.store.add(evaluation, (Question(id="q", question=collection),))
    row = Row(question_id="q", run_id="r", status="answered", figures={"correct": 1.0})
    candor.evaluations.store.put(evaluation.id, row)
    return evaluation.id


def _filled(body: Any, things: Things) -> Any:
    if isinstance(body, list):
        return [_filled(each, things) for each in body]
    if isinstance(body, dict):
        return {name: _filled(each, things) for name, each in body.items()}
    return body.format(**things._asdict()) if isinstance(body, str) else body


def _request(route: str, things: Things) -> str:
    """Return the path and the body of a request to the route, as one text."""
    rule = ROUTES[route]
    return repr((rule.path.format(**things._asdict()), _filled(rule.body, things)))


def _different(route: str, *targets: tuple[Things, ...]) -> list[tuple[Things, ...]]:
    """Return the targets, but only one of those that lead to equal requests."""
    return list({tuple(_request(route, each) for each in target): target for target in targets}.values())


def _expected(rule: Rule, who: str, collection: str) -> int:
    """Return the expected status code for the holder of that key."""
    owner = who == "owner"
    if who == "ask":
        return rule.passes if rule.needs == "nothing" else 403
    if rule.needs in ("nothing", "key"):
        return rule.passes
    if rule.needs == "owner":
        return rule.passes if owner else 403
    everything = owner or who == "read all"
    if who == "nothing of it" or (collection != "mine" and not everything):
        return 404
    has = Right.ADMIN if owner else Right.READ if who == "read all" else Right(who)
    if not has.covers(Right(rule.needs)) and (collection != "absent" or "{collection}" in rule.path):
        return 403
    return rule.passes if collection != "absent" or rule.makes else 404


def test_every_route_declares_its_right(world: World) -> None:
    assert routes_of(make_app(world.candor)) == set(ROUTES), "add the route to tests/support/routes.py"


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_requires_its_right(world: World, route: str) -> None:
    rule = ROUTES[route]
    nothing, asked = world.things["absent"], set()
    for collection, things in world.things.items():
        for who in HOLDERS:
            expected = _expected(rule, who, collection)
            target = Things(things.collection, *nothing[1:]) if rule.destroys and expected == rule.passes else things
            if (same := (who, expected, _request(route, target))) in asked:
                continue
            asked.add(same)
            response = world.ask(route, who, target)
            assert response.status_code == expected, (who, collection, response.text)
            if expected == 404 and WITHIN in rule.path and target is things:
                assert response.json()["title"] == "No such collection"


@pytest.mark.parametrize("route", ROUTES)
def test_all_invalid_keys_get_the_same_response(world: World, route: str) -> None:
    for (things,) in _different(route, (world.things["mine"],), (world.things["absent"],)):
        answers = [world.ask(route, who, things) for who in INVALID_KEYS]
        if ROUTES[route].needs == "nothing":
            assert {answer.status_code for answer in answers} == {ROUTES[route].passes}
        else:
            assert {answer.status_code for answer in answers} == {401}
            assert {answer.headers["www-authenticate"] for answer in answers} == {'Bearer realm="candor"'}
        assert len({answer.content for answer in answers}) == 1
        assert not any(_secrets_in(world, answer) for answer in answers)


@pytest.mark.parametrize("route", [route for route, rule in ROUTES.items() if "{" in f"{rule.path}{rule.body}"])
@pytest.mark.parametrize("who", ["nothing of it", "read", "admin"])
def test_inaccessible_data_looks_like_missing_data(world: World, route: str, who: str) -> None:
    """Also for prefixes of ids."""
    theirs, absent = world.things["theirs"], world.things["absent"]
    pairs = (  # the first 9 characters include 4 random digits, so they match no id of the caller
        tuple(Things(each[0], *(name[:length] for name in each[1:])) for each in (theirs, absent))
        for length in (40, 12, 9)
    )
    for one, other in _different(route, *pairs):
        inaccessible, missing = world.ask(route, who, one), world.ask(route, who, other)
        assert (inaccessible.status_code, _bare(inaccessible.text, one)) == (
            missing.status_code,
            _bare(missing.text, other),
        )
        assert _headers(inaccessible) == _headers(missing)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("who", ["nothing of it", "admin"])
def test_responses_contain_no_data_of_others(world: World, route: str, who: str) -> None:
    """Also for requests about the caller's own data, all data, or without a collection."""
    asked = (world.things["mine"],), (world.things["absent"],), (Things("", "", ""),)
    for (things,) in _different(route, *asked):
        if not ROUTES[route].destroys:
            assert not _secrets_in(world, world.ask(route, who, things))


def test_the_only_readable_collection_is_the_default(world: World) -> None:
    documents = world.http.get("/v1/documents", headers={"X-API-Key": world.keys["read"]})
    assert [each["name"] for each in documents.json()] == ["mine_file.txt"]
    which = world.http.get("/v1/documents", headers={"X-API-Key": world.keys["nothing of it"]})
    assert (which.status_code, which.json()["title"]) == (422, "Collection not named")


def test_lists_contain_only_readable_items(world: World) -> None:
    def seen(path: str, field: str, who: str) -> set[str]:
        return {each[field] for each in world.http.get(path, headers={"X-API-Key": world.keys[who]}).json()}

    for path, field in (("/v1/collections", "name"), ("/v1/runs?limit=1000", "collection")):
        assert seen(path, field, "read") == {"mine"}
        assert seen(path, field, "nothing of it") == set()
        assert seen(path, field, "read all") == {"mine", "theirs"}
    latest = world.http.get("/v1/runs?limit=1", headers={"X-API-Key": world.keys["read"]}).json()
    assert [run["collection"] for run in latest] == ["mine"], "runs of others do not count towards the limit"


def test_only_admins_see_the_readiness_checks(world: World) -> None:
    def checks(who: str) -> list[str]:
        answer = world.ask("GET /readyz", who, world.things["absent"]).json()
        assert answer["ok"]
        return [check["name"] for check in answer["checks"]]

    assert checks("owner") == ["database", "store", "embedding model", "search", "research"]
    assert checks("read all") == checks("no key") == []


def test_a_run_is_cancelled_by_its_key_or_an_admin(world: World) -> None:
    def begin(who: str) -> Things:
        asked = {"collection": "mine", "question": NEVER, "wait": False}
        begun = world.http.post("/v1/research", json=asked, headers={"X-API-Key": world.keys[who]})
        return Things("mine", "", begun.json()["run_id"])

    cancel = "POST /v1/runs/{run_id}/cancel"
    own, others = begin("read"), begin("read")
    assert world.ask(cancel, "read", own).status_code == 200
    assert world.ask(cancel, "write", others).status_code == 403
    assert world.ask(cancel, "admin", others).json()["status"] == "cancelled"


def test_a_call_is_refused_by_its_key_and_allowed_by_writers(world: World) -> None:
    def waiting(who: str) -> Things:
        asked = {"collection": "mine", "question": NEVER, "wait": False}
        run_id = world.http.post("/v1/research", json=asked, headers={"X-API-Key": world.keys[who]}).json()["run_id"]
        return Things("mine", "", run_id, world.candor.tools.approvals.request(left_open(run_id), 600).approval_id)

    decide = "POST /v1/approvals/{approval_id}"
    own, others = waiting("read"), waiting("admin")
    for choice in ({"decision": "approved"}, {"decision": "edited", "arguments": {"what": "balloon"}}):
        key = {"X-API-Key": world.keys["read"]}
        assert world.http.post(f"/v1/approvals/{own.approval}", json=choice, headers=key).status_code == 403
    assert world.ask(decide, "read", own).json()["status"] == "refused"
    assert world.ask(decide, "read", others).status_code == 403
    assert world.ask(decide, "write", others).json()["status"] == "refused"
    for things in (own, others):
        world.ask("POST /v1/runs/{run_id}/cancel", "owner", things)


@pytest.mark.parametrize("route", ["GET /v1/runs/{run_id}", "GET /v1/documents/{document}/text", "POST /v1/search"])
def test_inaccessible_and_missing_data_take_the_same_statements(world: World, route: str) -> None:
    """So that the time of a response does not tell which data exist."""

    def statements(kind: str) -> list[str]:
        return _statements(world.candor, lambda: world.ask(route, "read", world.things[kind]))

    until(lambda: statements("theirs") == statements("absent"))  # after the last run has ended


def _statements(candor: Candor, do: Callable[[], object]) -> list[str]:
    """Return the SQL statements that ``do`` executes."""
    executed: list[str] = []

    def note(*event: Any) -> None:
        executed.append(event[2])

    sql.event.listen(candor.engine, "before_cursor_execute", note)
    try:
        do()
    finally:
        sql.event.remove(candor.engine, "before_cursor_execute", note)
    return executed


def _bare(text: str, things: Things) -> str:
    """Return the text without the ids in the request."""
    for word in things:
        text = text.replace(json.dumps(word)[1:-1], "…") if word else text
    return text


def _headers(response: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name not in ("date", "content-length")}


def _secrets_in(world: World, response: httpx.Response) -> list[str]:
    theirs = world.things["theirs"]
    return [word for word in (*theirs, "theirs_file", "zinc", "(theirs)") if word in response.text]


def test_only_admins_set_the_configuration_of_an_evaluation(world: World) -> None:
    """A configuration can name packages to import and endpoints that get the documents."""
    asked = {
        "collection": "mine", "questions": [{"id": "q", "question": "x"}],
        "configuration": {"settings": {"llm": {"base_url": "http://elsewhere.example"}}},
    }  # fmt: skip
    for who in ("read", "admin"):
        headers = {"Authorization": f"Bearer {world.keys[who]}"}
        response = world.http.post("/v1/evaluations", json=asked, headers=headers)
        assert response.status_code == 403
