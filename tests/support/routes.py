"""The right that each route requires, one row per route. ``test_permissions.py`` tests every row with every right on
every collection, and fails for a route without a row.

The test fills {collection}, {document}, {run}, {approval}, {evaluation} and {table} in ``path`` and ``body`` with ids
of the caller, ids of another caller, or ids that do not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import FastAPI
from starlette.routing import BaseRoute, Mount

from support.service import QUESTION

Need = Literal["nothing", "key", "read", "write", "admin", "owner"]


@dataclass(frozen=True)
class Rule:
    """The access that a route needs: ``nothing`` (no key), any ``key``, a right on the requested collection, or
    ``owner``. A caller with this access gets the status code ``passes``.
    """

    needs: Need
    path: str
    body: Any = None
    files: Any = None
    passes: int = 200
    destroys: bool = False
    """The test sends permitted requests with the id of a missing object, so that ``passes`` is 404."""
    makes: bool = False
    """The collection need not exist: the request creates it."""


AGENT = {"name": "Extractor", "description": "x", "prompt": "# System\nx\n# User\n$question"}
PLAN = {
    "name": "x", "question": "x",
    "plan": {"goal": "x", "steps": [{"id": "x", "agents": ["Nobody"], "instruction": "x"}]},
}  # fmt: skip
SKILL = {"name": "none", "instructions": "x", "tools": ["none"]}
COLUMN = {"name": "Limit", "question": "The limit"}
WITHIN = "?collection={collection}"

ROUTES: dict[str, Rule] = {
    "GET /": Rule("nothing", "/"),
    "MOUNT /viewer": Rule("nothing", "/viewer/style.css"),
    "GET /widget.js": Rule("nothing", "/widget.js"),
    "GET /docs": Rule("nothing", "/docs"),
    "MOUNT /docs/assets": Rule("nothing", "/docs/assets/swagger-ui.css"),
    "GET /openapi.json": Rule("nothing", "/openapi.json"),
    "GET /healthz": Rule("nothing", "/healthz"),
    "GET /readyz": Rule("nothing", "/readyz"),
    "GET /v1/setup/model": Rule("key", "/v1/setup/model"),
    "GET /v1/setup/models": Rule("owner", "/v1/setup/models"),
    "PUT /v1/setup/models/{table}": Rule("owner", "/v1/setup/models/llm", {"provider": "none"}, passes=422),
    "POST /v1/setup/models/{table}/trial": Rule("owner", "/v1/setup/models/rerank/trial", {}),
    "POST /v1/setup/models/{table}/offered": Rule("owner", "/v1/setup/models/rerank/offered", {}, passes=422),
    "POST /v1/setup/models/{table}/pull": Rule("owner", "/v1/setup/models/rerank/pull", {}, passes=422),
    "GET /metrics": Rule("owner", "/metrics"),
    "GET /v1/audit": Rule("owner", "/v1/audit"),
    "GET /v1/me": Rule("key", "/v1/me"),
    "GET /shared/{key}": Rule("nothing", "/shared/none", passes=401),
    "GET /v1/bin": Rule("key", "/v1/bin"),
    "POST /v1/bin/{entry}/restore": Rule("key", "/v1/bin/none/restore", passes=422),
    "DELETE /v1/bin/{entry}": Rule("key", "/v1/bin/none", passes=422),
    "GET /v1/keys": Rule("owner", "/v1/keys"),
    "POST /v1/keys": Rule("owner", "/v1/keys", {"name": "another", "rights": {"mine": "read"}}, passes=201),
    "DELETE /v1/keys/{key}": Rule("owner", "/v1/keys/000000000000", passes=404, destroys=True),
    "GET /v1/session": Rule("nothing", "/v1/session"),
    "POST /v1/session": Rule("nothing", "/v1/session", {}, passes=422),
    "DELETE /v1/session": Rule("nothing", "/v1/session", passes=204),
    "POST /v1/session/invitation": Rule(
        "nothing", "/v1/session/invitation", {"token": "none", "password": "x" * 12}, passes=401
    ),
    "GET /v1/session/oidc": Rule("nothing", "/v1/session/oidc", passes=303),
    "GET /v1/session/oidc/callback": Rule("nothing", "/v1/session/oidc/callback", passes=303),
    "GET /v1/users": Rule("owner", "/v1/users"),
    "POST /v1/users": Rule("owner", "/v1/users", {"name": "x", "groups": ["absent"]}, passes=404),
    "PATCH /v1/users/{user}": Rule("owner", "/v1/users/000000000000", {}, passes=404),
    "POST /v1/users/{user}/invitation": Rule("owner", "/v1/users/000000000000/invitation", passes=404),
    "GET /v1/groups": Rule("owner", "/v1/groups"),
    "PUT /v1/groups/{group}": Rule("owner", "/v1/groups/none", {"rights": {}}),
    "DELETE /v1/groups/{group}": Rule("owner", "/v1/groups/absent", passes=404),
    "GET /v1/collections": Rule("key", "/v1/collections"),
    "DELETE /v1/collections/{collection}": Rule("admin", "/v1/collections/{collection}?now=true", passes=409),  # in use
    "POST /v1/collections/{collection}/documents": Rule(
        "write", "/v1/collections/{collection}/documents", files={"files": (".hidden", b"x")}, passes=422, makes=True
    ),
    "POST /v1/collections/{collection}/ingest": Rule(
        "write", "/v1/collections/{collection}/ingest", {}, passes=422, makes=True
    ),
    "GET /v1/sources": Rule("key", "/v1/sources"),
    "POST /v1/collections/{collection}/sources": Rule(
        "write", "/v1/collections/{collection}/sources", {"address": "no address"}, passes=422, makes=True
    ),
    "POST /v1/collections/{collection}/sources/{name}/sync": Rule(
        "write", "/v1/collections/{collection}/sources/none/sync", passes=404, makes=True
    ),
    "DELETE /v1/collections/{collection}/sources/{name}": Rule(
        "write", "/v1/collections/{collection}/sources/none", passes=404, makes=True
    ),
    "GET /v1/collections/{collection}/suggestions": Rule("read", "/v1/collections/{collection}/suggestions"),
    "POST /v1/collections/{collection}/suggestions": Rule("write", "/v1/collections/{collection}/suggestions"),
    "GET /v1/documents": Rule("read", f"/v1/documents{WITHIN}"),
    "GET /v1/documents/{document}": Rule("read", f"/v1/documents/{{document}}{WITHIN}"),
    "GET /v1/documents/{document}/text": Rule("read", f"/v1/documents/{{document}}/text{WITHIN}"),
    "GET /v1/documents/{document}/find": Rule("read", f"/v1/documents/{{document}}/find{WITHIN}&text=pump"),
    "GET /v1/documents/{document}/search": Rule("read", f"/v1/documents/{{document}}/search{WITHIN}&query=pump"),
    "GET /v1/documents/{document}/differences": Rule(
        "read", f"/v1/documents/{{document}}/differences{WITHIN}&other={{document}}"
    ),
    "POST /v1/documents/{document}/differences": Rule(
        "read", f"/v1/documents/{{document}}/differences{WITHIN}", {"other": "{document}"}
    ),
    "GET /v1/documents/{document}/passages": Rule("read", f"/v1/documents/{{document}}/passages{WITHIN}"),
    "GET /v1/documents/{document}/citations": Rule("read", f"/v1/documents/{{document}}/citations{WITHIN}"),
    "GET /v1/documents/{document}/original": Rule("read", f"/v1/documents/{{document}}/original{WITHIN}"),
    "GET /v1/documents/{document}/pages/{page}": Rule(
        "read", f"/v1/documents/{{document}}/pages/1{WITHIN}", passes=404, destroys=True
    ),  # the documents of the test have no pages
    "GET /v1/documents/{document}/pages/{page}.png": Rule(
        "read", f"/v1/documents/{{document}}/pages/1.png{WITHIN}", passes=404, destroys=True
    ),
    "POST /v1/documents/{document}/ingest": Rule(
        "write", f"/v1/documents/{{document}}/ingest{WITHIN}", passes=404, destroys=True
    ),
    "PATCH /v1/documents/{document}/tags": Rule(
        "write", f"/v1/documents/{{document}}/tags{WITHIN}", {"remove": ["none"]}, passes=422
    ),  # the document does not have the tag
    "DELETE /v1/documents/{document}": Rule("write", f"/v1/documents/{{document}}{WITHIN}", passes=404, destroys=True),
    "POST /v1/search": Rule("read", "/v1/search", {"collection": "{collection}", "query": "pumps"}),
    "POST /v1/search/count": Rule("read", "/v1/search/count", {"collection": "{collection}", "query": "pumps"}),
    "POST /v1/research": Rule(
        "read", "/v1/research", {"collection": "{collection}", "question": "x", "template": "none"}, passes=422
    ),
    "GET /v1/research/defaults": Rule("key", "/v1/research/defaults"),
    "GET /v1/runs": Rule("key", "/v1/runs"),
    "GET /v1/runs/storage": Rule("key", "/v1/runs/storage"),
    "DELETE /v1/runs/{run_id}": Rule("admin", "/v1/runs/{run}", passes=404, destroys=True),
    "POST /v1/runs/prune": Rule("owner", "/v1/runs/prune", {"older_than_days": 36500}),
    "POST /v1/runs/import": Rule("write", f"/v1/runs/import{WITHIN}", passes=422, makes=True),  # without a file
    "GET /v1/runs/{run_id}": Rule("read", "/v1/runs/{run}"),
    "POST /v1/runs/{run_id}/cancel": Rule("admin", "/v1/runs/{run}/cancel"),
    "PUT /v1/runs/{run_id}/rating": Rule("write", "/v1/runs/{run}/rating", {"rating": "up"}),
    "GET /v1/runs/{run_id}/conversation": Rule("read", "/v1/runs/{run}/conversation"),
    "GET /v1/reports/{run_id}/outline": Rule("read", "/v1/reports/{run}/outline", passes=422),  # no report
    "GET /v1/runs/{run_id}/journal": Rule("read", "/v1/runs/{run}/journal"),
    "GET /v1/runs/{run_id}/events": Rule("read", "/v1/runs/{run}/events?follow=false"),
    "GET /v1/runs/{run_id}/export": Rule("read", "/v1/runs/{run}/export?format=json"),
    "POST /v1/runs/{run_id}/replay": Rule("read", "/v1/runs/{run}/replay"),
    "GET /v1/runs/{run_id}/comparison/{other}": Rule("read", "/v1/runs/{run}/comparison/{run}"),
    "GET /v1/runs/{run_id}/steps/{step}/fork": Rule("read", "/v1/runs/{run}/steps/none/fork", passes=422),
    "POST /v1/runs/{run_id}/fork": Rule("read", "/v1/runs/{run}/fork", {"step": "none"}, passes=422),
    "WEBSOCKET /v1/runs/{run_id}/ws": Rule("read", "/v1/runs/{run}/ws", passes=101),
    "GET /v1/jobs": Rule("key", "/v1/jobs"),
    "GET /v1/jobs/{job_id}": Rule("read", "/v1/jobs/{run}"),
    "POST /v1/jobs/{job_id}/cancel": Rule("admin", "/v1/jobs/{run}/cancel"),
    "GET /v1/approvals": Rule("read", "/v1/approvals?run_id={run}"),
    "POST /v1/approvals/{approval_id}": Rule(
        "write", "/v1/approvals/{approval}", {"decision": "refused"}, passes=409
    ),  # its run has ended
    "GET /v1/evaluations": Rule("key", "/v1/evaluations"),
    "POST /v1/evaluations": Rule(
        "read",
        "/v1/evaluations",
        {"collection": "{collection}", "questions": [{"id": "q", "question": "x"}], "metrics": ["none"]},
        passes=422,
    ),
    "GET /v1/evaluations/questions": Rule("read", f"/v1/evaluations/questions{WITHIN}"),
    "POST /v1/evaluations/questions": Rule(
        "key", "/v1/evaluations/questions", {"name": "a.csv", "text": "question\nHow many?\n"}
    ),
    "GET /v1/evaluations/comparison": Rule("read", "/v1/evaluations/comparison?first={evaluation}&second={evaluation}"),
    "GET /v1/evaluations/report": Rule("read", "/v1/evaluations/report?evaluation={evaluation}&format=md"),
    "GET /v1/evaluations/{evaluation}": Rule("read", "/v1/evaluations/{evaluation}"),
    "POST /v1/evaluations/{evaluation}/resume": Rule(
        "read", "/v1/evaluations/{evaluation}/resume", {}, passes=404, destroys=True
    ),
    "DELETE /v1/evaluations/{evaluation}": Rule("write", "/v1/evaluations/{evaluation}", passes=404, destroys=True),
    "GET /v1/tables": Rule("key", "/v1/tables"),
    "POST /v1/tables": Rule(
        "read",
        "/v1/tables",
        {"name": "new", "collection": "{collection}", "columns": [COLUMN], "filter": {"documents": ["none"]}},
        passes=422,
    ),
    "GET /v1/tables/{table}": Rule("read", "/v1/tables/{table}"),
    "POST /v1/tables/{table}/columns": Rule("write", "/v1/tables/{table}/columns", {"columns": [COLUMN]}, passes=422),
    "POST /v1/tables/{table}/estimate": Rule("read", "/v1/tables/{table}/estimate", {}),
    "POST /v1/tables/{table}/fill": Rule("read", "/v1/tables/{table}/fill", {"rows": ["none"]}, passes=422),
    "PUT /v1/tables/{table}/cells": Rule(
        "write", "/v1/tables/{table}/cells", {"document": "none", "column": "Limit", "value": "1"}, passes=422
    ),
    "GET /v1/tables/{table}/export": Rule("read", "/v1/tables/{table}/export?format=md"),
    "DELETE /v1/tables/{table}": Rule("write", "/v1/tables/{table}", passes=404, destroys=True),
    "GET /v1/tools": Rule("key", "/v1/tools"),
    "POST /v1/tools/servers": Rule("owner", "/v1/tools/servers"),
    "GET /v1/runs/{run_id}/tool-calls": Rule("read", "/v1/runs/{run}/tool-calls"),
    "GET /v1/runs/{run_id}/evidence": Rule("read", "/v1/runs/{run}/evidence"),
    "GET /v1/runs/{run_id}/evidence/{number}": Rule("read", "/v1/runs/{run}/evidence/1", passes=404),  # of a document
    "GET /v1/runs/{run_id}/files": Rule("read", "/v1/runs/{run}/files"),
    "GET /v1/runs/{run_id}/files/{name:path}": Rule("read", "/v1/runs/{run}/files/a.txt", passes=404),  # no files
    "POST /v1/runs/{run_id}/files/{name:path}/ingest": Rule(
        "write", "/v1/runs/{run}/files/a.txt/ingest", passes=404, destroys=True
    ),  # no files
    "GET /v1/models": Rule("key", "/v1/models"),
    "GET /v1/models/{model}": Rule("read", "/v1/models/{collection}"),
    "POST /v1/chat/completions": Rule(
        "read", "/v1/chat/completions", {"model": "{collection}", "messages": [{"role": "user", "content": QUESTION}]}
    ),
    "POST /mcp": Rule("key", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    "GET /v1/agents": Rule("key", "/v1/agents"),
    "GET /v1/agents/{name}": Rule("key", "/v1/agents/Extractor"),
    "POST /v1/agents": Rule("owner", "/v1/agents", AGENT, passes=409),  # the name is taken
    "PUT /v1/agents/{name}": Rule("owner", "/v1/agents/Extractor", AGENT, passes=422),  # a built-in agent
    "PATCH /v1/agents/{name}": Rule("owner", "/v1/agents/Extractor", {"enabled": True}),
    "DELETE /v1/agents/{name}": Rule("owner", "/v1/agents/Nobody", passes=404),
    "GET /v1/endpoints": Rule("key", "/v1/endpoints"),
    "GET /v1/skills": Rule("key", "/v1/skills"),
    "GET /v1/skills/{name}": Rule("key", "/v1/skills/none", passes=404),
    "POST /v1/skills": Rule("owner", "/v1/skills", SKILL, passes=422),  # there is no such tool
    "PUT /v1/skills/{name}": Rule("owner", "/v1/skills/none", SKILL, passes=404),
    "DELETE /v1/skills/{name}": Rule("owner", "/v1/skills/none", passes=404),
    "GET /v1/memories": Rule("key", "/v1/memories"),
    "POST /v1/memories": Rule("key", "/v1/memories", {"text": " "}, passes=422),
    "PUT /v1/memories/{memory_id}": Rule("key", "/v1/memories/none", {"text": "Be brief."}, passes=404),
    "DELETE /v1/memories/{memory_id}": Rule("key", "/v1/memories/none", passes=404),
    "GET /v1/plans": Rule("key", "/v1/plans"),
    "POST /v1/plans": Rule("owner", "/v1/plans", PLAN, passes=422),  # there is no such agent
    "POST /v1/plans/proposals": Rule("owner", "/v1/plans/proposals", {"run_id": "run_none"}, passes=404),
    "GET /v1/plans/{name}": Rule("key", "/v1/plans/none", passes=404),
    "GET /v1/plans/{name}/export": Rule("key", "/v1/plans/none/export", passes=404),
    "PUT /v1/plans/{name}": Rule(
        "owner", "/v1/plans/none", {name: PLAN[name] for name in ("question", "plan")}, passes=422
    ),
    "DELETE /v1/plans/{name}": Rule("owner", "/v1/plans/none", passes=404),
}


def routes_of(app: FastAPI) -> set[str]:
    """Return all routes of the application in the form of the keys of ``ROUTES``."""
    return {f"{method} {path}" for route in app.routes for method, path in _named(route)}


def _named(route: BaseRoute) -> Iterator[tuple[str, str]]:
    if isinstance(route, Mount):
        yield "MOUNT", route.path
    else:
        for method in getattr(route, "methods", None) or ("WEBSOCKET",):
            if method != "HEAD":  # the same as GET, without the body
                yield method, route.path
