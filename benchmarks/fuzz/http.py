"""Fuzz requests to a running service. Responses must match ``/openapi.json`` and may not be server errors (5xx).

Schemathesis makes valid and invalid requests from the description. Half of them name a collection, a document and a run
that exist. Others have hostile values in the path, the query or the body.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import requests as http
import schemathesis
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.bootstrap import Candor
from api.http.app import make_app
from api.settings import ServiceSettings, Settings
from benchmarks.fuzz.search import ROOT, Batch, Property, search_all

sys.path.append(str(ROOT / "tests"))  # for the scripted model
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, RunningService, model
from support.waiting import until

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]


class Sent(NamedTuple):
    """A valid request, the parts of it to replace, and the checks of the response."""

    case: schemathesis.Case
    changed: dict[str, Any]
    checks: Sequence[Any] = CHECKS


EXAMPLES = 3
"""Examples of each kind for one operation in one batch."""
LIMIT_S = 120
_LONGEST_ADDRESS = 60_005
_TEXTS = [
    "", " ", "x" * 60_000, "é" * 30_000, "\x00", "\x1b[2J", "\u202e", "\ufffe", "\U0001f600", "a/b", "a", "..",
    "../../etc/passwd", "%00", "%2e%2e%2f", "C:\\x", "'; DROP TABLE runs; --", "<script>", "${x}", "@{question}",
    "{{x}}", "-1", "0", "1e999", "9" * 400, "nan", "null", "true", "2026-02-30", "papers", "*", "(" * 500,
    "a\r\nX: y",
]  # fmt: skip
_VALUES = [
    *_TEXTS, "\ud800", None, True, 0, -1, 1 << 63, 10**400, 1e308, float("nan"), float("inf"), [], {}, [[]],
    ["x"] * 5_000, {"": {}},
]  # fmt: skip
_BODIES = [
    b"", b"{", b"null", b"[]", b"[" * 100_000, b"[" * 900 + b"]" * 900, b'{"a":' * 99 + b"1" + b"}" * 99,
    b"\xff\xfe{}", b"\xef\xbb\xbf{}", b'"' + b"x" * 60_000 + b'"', b'{"\\ud800": 1}', b"{\"a\": NaN}", b"[1e999]",
    b"9" * 5_000, b"[" + b"0," * 30_000 + b"0]", b"\x00",
]  # fmt: skip
_NAMES = [
    "a", "a/b", "a/b/c", "b.md", "b.MD", "../x", "/x", "a\\b", ".hidden", "x" * 300, "a\x00b", "", ".", "..", "CON",
    "é.md", "e\u0301.md",
]  # fmt: skip


@contextmanager
def requests() -> Iterator[Callable[[int], Batch]]:
    """Start a service with a scripted model in a new data folder."""
    logging.getLogger("aiohttp.server").disabled = True  # the scripted model does not play the trial of a setup
    with tempfile.TemporaryDirectory() as home, ScriptedEndpoint(model) as endpoint:
        service = ServiceSettings(concurrent_runs=2, research_process=True)
        settings = Settings(home=Path(home), llm=endpoint.settings("openai"), service=service)
        with RunningService(Candor(settings)) as service:
            yield lambda seed: search_all(_properties(service.url), seed, EXAMPLES)


def describe_api() -> dict[str, Any]:
    """Return the OpenAPI description of the service."""
    return make_app(Candor(Settings(home=Path("only described")))).openapi()


def check_response(case: schemathesis.Case, response: Any, checks: Sequence[Any] = CHECKS) -> None:
    """Raise AssertionError for a server error, and for a response that differs from the description."""
    failed = response.status_code == 503 and "The run run_" in response.text  # the model plans for documents only
    checks = [each for each in checks if not (failed and each is not_a_server_error)]
    if not checks:
        return
    try:
        case.validate_response(response, checks=checks)
    except BaseExceptionGroup as failures:
        raise AssertionError(str(failures)) from None


def _properties(url: str) -> list[Property]:
    """Create a collection, a document and a run. Return the properties of requests to each operation."""
    known = _make_known(url)
    properties = []
    for each in schemathesis.openapi.from_dict(describe_api()).get_all_operations():
        operation = each.ok()
        existing = {name: known[name] for name in known if f"{{{name}}}" in operation.path}
        valid = operation.as_strategy()
        kinds = {
            "valid": valid,
            "of something that exists": operation.as_strategy(path_parameters=existing),
            "invalid": operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
        }
        hostile = {"hostile path or query": _hostile_address(valid)}
        described = str(operation.definition.raw.get("requestBody"))
        if "application/json" in described:
            hostile["hostile body"] = _hostile_body(valid)
        if "multipart/form-data" in described:
            hostile["hostile names"] = _hostile_names(valid)
        properties += [
            Property(cases, partial(_call, url), f"{operation.label}, {kind}") for kind, cases in kinds.items()
        ]
        properties += [
            Property(cases, partial(_send, url), f"{operation.label}, {kind}") for kind, cases in hostile.items()
        ]
    return properties


def _make_known(url: str) -> dict[str, str]:
    """Return the ids of existing objects by the names of path parameters."""
    text = "# Pumps\n\nThe Borea 12 works down to -25 °C.\n"
    upload = http.post(f"{url}/v1/collections/papers/documents", files={"files": ("pumps.md", text)}, timeout=LIMIT_S)
    job = upload.json()["id"]
    until(lambda: http.get(f"{url}/v1/jobs/{job}", timeout=LIMIT_S).json()["status"] in ("done", "failed"))
    question = {"collection": "papers", "question": QUESTION, "wait": False}
    run = http.post(f"{url}/v1/research", json=question, timeout=LIMIT_S).json()["run_id"]
    until(lambda: http.get(f"{url}/v1/jobs/{run}", timeout=LIMIT_S).json()["status"] in ("done", "failed"))
    [document] = http.get(f"{url}/v1/documents?collection=papers&name=pumps.md", timeout=LIMIT_S).json()
    return {"collection": "papers", "run_id": run, "document": document["id"], "job_id": job, "model": "papers"}


def _call(url: str, case: schemathesis.Case) -> None:
    check_response(case, case.call(base_url=url, timeout=LIMIT_S))


@st.composite
def _hostile_address(draw: st.DrawFn, valid: st.SearchStrategy[schemathesis.Case]) -> Sent:
    """Return a request with a hostile value for one path or query parameter."""
    case = draw(valid)
    text = draw(st.sampled_from([text for text in _TEXTS if len(quote(text)) <= _LONGEST_ADDRESS]))
    in_path, in_query = case.path_parameters or {}, case.query or {}
    place = draw(st.sampled_from([*in_path, *in_query, "undescribed"]))
    path = case.path.format(
        **{name: quote(text if name == place else str(value), safe="") for name, value in in_path.items()}
    )
    query = in_query if place in in_path else {**in_query, place: text}
    elsewhere = place in in_path and (text in ("", ".", "..") or "/" in text)
    sent = {"url": f"{path}?{urlencode(query, errors='replace')}"}
    return Sent(case, sent, [not_a_server_error] if elsewhere else CHECKS)


@st.composite
def _hostile_body(draw: st.DrawFn, valid: st.SearchStrategy[schemathesis.Case]) -> Sent:
    """Return a request with a hostile body, or with one hostile value in its body."""
    case = draw(valid)
    if draw(st.booleans()):
        body = draw(st.sampled_from(_BODIES))
    else:
        places = list(_places(case.body)) or [()]
        body = json.dumps(_put(case.body, draw(st.sampled_from(places)), draw(st.sampled_from(_VALUES)))).encode()
    return Sent(case, {"data": body, "json": None, "headers": {"Content-Type": "application/json"}})


@st.composite
def _hostile_names(draw: st.DrawFn, valid: st.SearchStrategy[schemathesis.Case]) -> Sent:
    """Return an upload of files with hostile names."""
    names = draw(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=4))
    files = [("files", (name, f"Text {at}.")) for at, name in enumerate(names)]
    return Sent(draw(valid), {"files": files, "data": None, "json": None, "headers": {}})


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*path, key)
        yield from _places(inner, (*path, key))


def _put(value: Any, where: tuple[Any, ...], new: Any) -> Any:
    if not where:
        return new
    inner = _put(value[where[0]], where[1:], new)
    if isinstance(value, dict):
        return {**value, where[0]: inner}
    return [inner if at == where[0] else each for at, each in enumerate(value)]


def _send(url: str, sent: Sent) -> None:
    whole = {**sent.case.as_transport_kwargs(base_url=url), "cookies": None, **sent.changed}
    whole["url"] = whole["url"] if whole["url"].startswith(url) else url + whole["url"]
    try:
        check_response(sent.case, http.request(**whole, timeout=LIMIT_S), sent.checks)
    except Exception as error:
        error.add_note(f"Sent: {whole['method']} {whole['url'][:1000]}\n{str(sent.changed)[:5000]}")
        raise
