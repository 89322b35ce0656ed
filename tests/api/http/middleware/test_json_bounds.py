"""A JSON body with very many or deeply nested values is refused before it is parsed."""

from __future__ import annotations

import json
import re
import threading
import time

import httpx
import pytest

from api.http.middleware.body_limit import DEEPEST, MOST_VALUES, json_fault
from multi_agent.values.request import LONGEST_RESULT, LONGEST_RESULTS
from support.waiting import LIMIT_S

SIZE = 4 * 2**20 - 100
JSON = {"Content-Type": "application/json"}


def many(value: str, size: int = SIZE) -> str:
    """Return a list of this value that fills ``size`` bytes."""
    return "[" + ",".join([value] * (size // (len(value) + 1))) + "]"


@pytest.mark.parametrize("value", ["0", "[]", "{}", '""', '"\\""', '{"":0}'])
def test_many_values_are_refused_at_once(value: str) -> None:
    body = many(value, 8 * 2**20).encode()
    started = time.process_time()
    assert "more than 20,000 values" in json_fault(body)
    assert time.process_time() - started < 2, "parsing and walking them takes 10 to 30 s"


@pytest.mark.parametrize("text", ["a, [b], {c}" * 9_000, '"' * 90_000, "\\" * 90_001, '\\"[,' * 30_000, "é,€[" * 9_000])
def test_marks_inside_a_text_do_not_count(text: str) -> None:
    for body in (json.dumps({text: [text]}), json.dumps([text, text], ensure_ascii=False)):
        assert json_fault(body.encode()) == ""


def test_the_limits_are_exact() -> None:
    assert json_fault(json.dumps([0] * (MOST_VALUES - 1)).encode()) == ""
    assert "values" in json_fault(json.dumps([0] * (MOST_VALUES + 1)).encode())
    assert json_fault(b"[" * DEEPEST + b"]" * DEEPEST) == ""
    assert "levels" in json_fault(b'{"a":' * (DEEPEST + 1) + b"0" + b"}" * (DEEPEST + 1))
    assert "UTF-8" in json_fault(json.dumps([0] * 9).encode("utf-16"))
    assert json_fault(b"") == ""


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/search", '{"query": "x", "a": ' + many("[]") + "}"),
        ("/v1/research", '{"question": "x", "rag_results": ' + many("0") + "}"),
        ("/v1/chat/completions", '{"model": "papers", "messages": ' + many("0") + "}"),
        ("/mcp", '{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + many("0") + "}"),
    ],
)
def test_other_requests_are_answered_meanwhile(http: httpx.Client, path: str, body: str) -> None:
    answered: list[httpx.Response] = []
    sending = threading.Thread(
        target=lambda: answered.append(
            httpx.post(http.base_url.join(path), content=body, headers=JSON | {"Accept": "*/*"}, timeout=LIMIT_S)
        )
    )
    sending.start()
    longest = 0.0
    while sending.is_alive():
        started = time.monotonic()
        http.get("/healthz", timeout=LIMIT_S)
        longest = max(longest, time.monotonic() - started)
    assert answered[0].status_code in (400, 422)
    assert "more than 20,000 values" in answered[0].text
    assert longest < 3, "before, 10 to 30 s"


@pytest.mark.parametrize("path", ["/v1/search", "/v1/research", "/v1/chat/completions", "/v1/plans", "/mcp"])
@pytest.mark.parametrize(
    ("body", "reason"),
    [("[" * 100_000, "more than 20,000 values"), ("[" * 900 + "]" * 900, "more than 100 levels of lists and objects")],
)
def test_a_deeply_nested_body_is_wrong_input(http: httpx.Client, path: str, body: str, reason: str) -> None:
    response = http.post(path, content=body, headers=JSON | {"Accept": "application/json, text/event-stream"})
    assert response.status_code in (400, 422)
    assert reason in response.text


def test_every_route_with_a_json_body_refuses_it(http: httpx.Client) -> None:
    described = http.get("/openapi.json").json()["paths"]
    sent = [
        (method, re.sub(r"\{\w+\}", "1", path))
        for path, operations in described.items()
        for method, operation in operations.items()
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    ]
    assert len(sent) > 15
    for method, path in sent:
        for body in ("[" * 100_000, "[" * 900 + "]" * 900, '{"a":' * 200 + "1" + "}" * 200):
            response = http.request(method, path, content=body, headers=JSON)
            assert response.status_code in (400, 422), (method, path, response.text)


def test_given_passages_of_the_maximum_size_pass(http: httpx.Client) -> None:
    """Each of their characters is escaped, as Python's ``json`` writes Chinese text."""
    count = LONGEST_RESULTS // LONGEST_RESULT
    passages = [{"text": "泵" * LONGEST_RESULT, "source": f"{number}", "page": 0} for number in range(count)]
    response = http.post("/v1/research", content=json.dumps({"question": "x", "rag_results": passages}), headers=JSON)
    assert response.status_code == 422
    assert "page: Input should be greater than or equal to 1" in response.text, "only the page is wrong"


def test_only_the_first_faults_of_many_are_listed(http: httpx.Client) -> None:
    response = http.post("/v1/research", json={"question": "x", "rag_results": [0] * 10_000})
    assert response.status_code == 422
    assert "body.rag_results.19: " in response.text
    assert "and 9,980 more" in response.text
    assert len(response.text) < 3_000
