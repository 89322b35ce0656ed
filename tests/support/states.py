"""Valid requests that are refused because of the current state of the data.

for route, asked in refused_by_state(candor, http, run_id, elsewhere, folder):
    ...  # send the request at once: the generator prepares each state just before it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import httpx

from api.auth.callers import Credentials
from api.auth.keys import KeyRequest
from api.auth.permissions import Limits
from api.bootstrap import Candor
from api.services.exports.run_file import LARGEST_FILE
from ingest.ledger.lock import ingest_lock
from multi_agent.catalog.entries import CustomAgent, Entry, Skill
from multi_agent.catalog.store import as_toml
from support.approvals import left_open
from support.files import write_pdf
from support.routes import AGENT, PLAN
from support.service import NEVER, REFUSED, RunningService
from support.waiting import LIMIT_S, until


class Asked(NamedTuple):
    """A request without its method."""

    path: str
    body: Any = None
    headers: Mapping[str, str] = MappingProxyType({})
    files: Any = None
    content: bytes | None = None
    """A body that is no JSON."""


UPLOAD_BYTES = 4000
"""The limit of an upload, in bytes. The service under test must use this setting."""
REQUEST_BYTES = 3000
"""The limit of other requests, in bytes. It is lower because uploads have their own limit."""

Requests = Iterator[tuple[str, Asked]]
"""Pairs of a route and a request to it."""

_SKILL = {"name": "filed", "instructions": "x"}
_AT_DOCUMENTS, _AT_AGENT, _AT_SKILL = "/v1/collections/{collection}/documents", "/v1/agents/{name}", "/v1/skills/{name}"


def refused_by_state(candor: Candor, http: httpx.Client, run_id: str, elsewhere: str, folder: Path) -> Requests:
    """Yield all requests. The run has ended, the job ``elsewhere`` belongs to another service, and files of the folder
    can be ingested.
    """
    yield from _agents(candor.settings.home)
    yield from _skills(candor.settings.home, http)
    yield from _unusable(candor.settings.home)
    yield from _uploads(candor.settings.home, http, folder)
    yield from _kept(candor, run_id)
    yield from _imported(http, run_id)
    yield from _decided(candor, run_id)
    yield from _plans(http, run_id)
    yield from _evaluations(http)
    yield from _tables(http)
    yield from _shared(candor, run_id, elsewhere)
    yield from _bin(candor, http)
    yield "POST /v1/keys", Asked("/v1/keys", {"name": "x", "rights": {"papers": "read"}, "user_id": "0" * 12})
    yield "DELETE /v1/groups/{group}", Asked("/v1/groups/%20")
    for _ in range(11):  # one more than may fail
        yield "POST /v1/session", Asked("/v1/session", {"name": "nobody", "password": "wrong"})
    yield "POST /v1/research", Asked("/v1/research", {"question": REFUSED, "collection": "papers"})
    yield "POST /v1/jobs/{job_id}/cancel", Asked(f"/v1/jobs/{elsewhere}/cancel")
    yield "PUT /v1/runs/{run_id}/rating", Asked(f"/v1/runs/{elsewhere}/rating", {"rating": "up"})


def job_of_another_service(candor: Candor) -> str:
    """Return the id of an unfinished run that the next service treats as a run of another service."""
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        asked = {"question": NEVER, "collection": "papers", "wait": False}
        run_id: str = http.post("/v1/research", json=asked).json()["run_id"]
        until(lambda: http.get(f"/v1/jobs/{run_id}").json()["status"] == "running")
    (candor.settings.home / "jobs.owner").unlink()
    return run_id


def _agents(home: Path) -> Requests:
    filed = {**AGENT, "name": "Filed"}
    _file(home, CustomAgent.model_validate(filed))
    place = "/v1/agents/Filed"
    yield f"PUT {_AT_AGENT}", Asked(place, filed)
    yield f"PATCH {_AT_AGENT}", Asked(place, {"enabled": False})
    yield f"DELETE {_AT_AGENT}", Asked(place)
    yield f"DELETE {_AT_AGENT}", Asked("/v1/agents/Extractor")  # a built-in agent
    yield f"PUT {_AT_AGENT}", Asked("/v1/agents/Nobody", {**AGENT, "name": "Nobody"})
    yield "POST /v1/agents", Asked("/v1/agents", {**AGENT, "name": "Nobody", "skills": ["no-such"]})


def _skills(home: Path, http: httpx.Client) -> Requests:
    _file(home, Skill.model_validate(_SKILL))
    place = "/v1/skills/filed"
    yield "POST /v1/skills", Asked("/v1/skills", _SKILL)
    yield f"PUT {_AT_SKILL}", Asked(place, _SKILL)
    yield f"DELETE {_AT_SKILL}", Asked(place)
    _done(http.patch("/v1/agents/QueryPlanner", json={"skills": ["filed"]}))
    yield f"DELETE {_AT_SKILL}", Asked(place)
    _done(http.patch("/v1/agents/QueryPlanner", json={"skills": []}))


def _unusable(home: Path) -> Requests:
    """Yield requests that fail because of an invalid agent file."""
    broken = home / "agents" / "broken.toml"
    broken.write_text("name = 'Broken'\n")
    for path in ("/v1/agents", "/v1/skills"):
        yield f"GET {path}", Asked(path)
        yield f"GET {path}/{{name}}", Asked(f"{path}/filed")
    broken.unlink()


def _uploads(home: Path, http: httpx.Client, folder: Path) -> Requests:
    manual = write_pdf(folder / "manual.pdf", parts=["The Notos 8 works down to -10 °C."])
    once, place = {"Idempotency-Key": "once"}, "/v1/collections/uploaded/documents"
    job = _done(http.post(place, files={"files": ("manual.pdf", manual.read_bytes())}, headers=once)).json()["id"]
    until(lambda: http.get(f"/v1/jobs/{job}").json()["status"] == "done")
    [document] = http.get("/v1/documents?collection=uploaded").json()
    within = "?collection=uploaded"

    # These requests reuse the idempotency key of that upload
    yield f"POST {_AT_DOCUMENTS}", Asked(place, headers=once, files={"files": ("other.md", b"x")})
    ingest = "/v1/collections/uploaded/ingest"
    yield "POST /v1/collections/{collection}/ingest", Asked(ingest, {"paths": [str(folder)]}, once)
    http.post("/v1/collections/uploaded/sources", json={"address": "https://example.org/", "name": "site"})
    sync = "/v1/collections/{collection}/sources/{name}/sync"
    yield f"POST {sync}", Asked(sync.format(collection="uploaded", name="site"), headers=once)
    again = f"/v1/documents/{document['id']}/ingest{within}"
    yield "POST /v1/documents/{document}/ingest", Asked(again, headers=once)

    yield f"POST {_AT_DOCUMENTS}", Asked(place, files={"files": ("large.md", b"x" * (UPLOAD_BYTES + 1))})
    original = f"/v1/documents/{document['id']}/original{within}"
    yield "GET /v1/documents/{document}/original", Asked(original, headers={"Range": "bytes=9000000-"})
    (home / "uploads" / "uploaded" / "manual.pdf").unlink()
    for part in ("original", "pages/1", "pages/1.png"):
        route = part.replace("1", "{page}")
        yield f"GET /v1/documents/{{document}}/{route}", Asked(f"/v1/documents/{document['id']}/{part}{within}")


def _bin(candor: Candor, http: httpx.Client) -> Requests:
    [document] = http.get("/v1/documents?collection=uploaded").json()
    _done(http.delete(f"/v1/documents/{document['id']}?collection=uploaded"))
    _done(http.delete("/v1/collections/uploaded"))
    entries = {each["kind"]: f"/v1/bin/{each['id']}" for each in http.get("/v1/bin").json()}
    yield "POST /v1/bin/{entry}/restore", Asked(f"{entries['document']}/restore")  # its collection is in the bin
    added = {"address": "https://example.org/", "name": "site"}
    yield "POST /v1/collections/{collection}/sources", Asked("/v1/collections/uploaded/sources", added)
    with ingest_lock(candor.engine, "uploaded"):
        yield "DELETE /v1/bin/{entry}", Asked(entries["collection"])


def _kept(candor: Candor, run_id: str) -> Requests:
    for name in ("new.md", "other.md"):
        candor.tools.sandbox(run_id).write(name, b"The Notos 8 works down to -10 \xc2\xb0C.")
    uploaded = candor.settings.home / "uploads" / "papers" / "other.md"
    uploaded.parent.mkdir(parents=True, exist_ok=True)
    uploaded.write_text("Another file of this name.")
    route = "POST /v1/runs/{run_id}/files/{name:path}/ingest"
    # This request reuses the idempotency key of an upload
    yield route, Asked(f"/v1/runs/{run_id}/files/new.md/ingest", headers={"Idempotency-Key": "once"})
    yield route, Asked(f"/v1/runs/{run_id}/files/other.md/ingest")


def _imported(http: httpx.Client, run_id: str) -> Requests:
    file = _done(http.get(f"/v1/runs/{run_id}/export?format=run")).content
    for content in (file, b"x" * (LARGEST_FILE + 1)):
        yield "POST /v1/runs/import", Asked("/v1/runs/import", content=content)


def _decided(candor: Candor, run_id: str) -> Requests:
    approval = candor.tools.approvals.request(left_open(run_id), timeout_s=600)
    yield "POST /v1/approvals/{approval_id}", Asked(f"/v1/approvals/{approval.approval_id}", {"decision": "refused"})


def _plans(http: httpx.Client, run_id: str) -> Requests:
    weekly = {"name": "weekly", "run_id": run_id}
    _done(http.post("/v1/plans", json=weekly))
    yield "POST /v1/plans", Asked("/v1/plans", weekly)
    yield "POST /v1/plans", Asked("/v1/plans", {"name": "other", "run_id": "run_none"})
    elsewhere = {name: PLAN[name] for name in ("question", "plan")} | {"collection": "none"}
    yield "PUT /v1/plans/{name}", Asked("/v1/plans/weekly", elsewhere)


def _evaluations(http: httpx.Client) -> Requests:
    asked = {"collection": "papers", "questions": [{"id": "q", "question": NEVER}]}
    under_way = _done(http.post("/v1/evaluations", json=asked)).json()["id"]
    yield "DELETE /v1/evaluations/{evaluation}", Asked(f"/v1/evaluations/{under_way}")
    until(lambda: http.get(f"/v1/jobs/{under_way}").json()["status"] == "running")
    yield "PUT /v1/setup/models/{table}", Asked("/v1/setup/models/embedding", {"model": "other"})
    _done(http.post(f"/v1/jobs/{under_way}/cancel"))


def _tables(http: httpx.Client) -> Requests:
    made = {"name": "t", "collection": "papers", "columns": [{"name": "x", "question": NEVER}]}
    _done(http.post("/v1/tables", json=made))
    yield "POST /v1/tables", Asked("/v1/tables", made)
    job = _done(http.post("/v1/tables/t/fill", json={})).json()["id"]
    yield "DELETE /v1/tables/{table}", Asked("/v1/tables/t")
    _done(http.post(f"/v1/jobs/{job}/cancel"))


def _shared(candor: Candor, run_id: str, elsewhere: str) -> Requests:
    """Yield requests to a run that is gone, one that is not finished, and one that was read as often as allowed."""
    for shared in ("run_none", elsewhere, run_id):
        limits = Limits(requests_per_day=1)
        link = candor.keys.add(KeyRequest(name="link", run_id=shared, rights={"papers": "read"}, limits=limits))
        if shared == run_id:
            candor.callers.admit(Credentials(key=link.secret))
        yield "GET /shared/{key}", Asked(f"/shared/{link.secret}")


def _file(home: Path, entry: Entry) -> None:
    place = home / ("agents" if isinstance(entry, CustomAgent) else "skills")
    place.mkdir()
    (place / "filed.toml").write_text(as_toml(entry))


def _done(response: httpx.Response) -> httpx.Response:
    assert response.is_success, response.text
    return response
