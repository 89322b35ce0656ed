"""What a script sees of `POST /v1/research`."""

from __future__ import annotations

import httpx
import pytest

from support.service import QUESTION, REFUSED


def test_a_failed_run_has_a_status_that_a_script_sees(http: httpx.Client) -> None:
    response = http.post("/v1/research", json={"question": REFUSED, "collection": "papers"})
    assert (response.status_code, response.headers["content-type"]) == (502, "application/problem+json")
    problem = response.json()
    assert problem["type"] == "urn:candor:run-failed"
    assert "rejected the request (HTTP 400" in problem["detail"]
    assert problem["answer"]["status"] == "failed"
    assert problem["answer"]["run_id"] in problem["remedy"]
    assert response.headers["Location"] == f"/v1/runs/{problem['answer']['run_id']}"


@pytest.mark.parametrize("header", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_json_without_its_header_gets_an_error_that_names_it(http: httpx.Client, header: str) -> None:
    body = f'{{"question": "{QUESTION}"}}'
    for path in ("/v1/research", "/v1/chat/completions"):
        response = http.post(path, content=body, headers={"Content-Type": header} if header else {})
        assert response.status_code in (400, 422)
        assert "Send `Content-Type: application/json`" in response.text


def test_a_body_of_another_json_type_is_read(http: httpx.Client) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    response = http.post("/v1/search", content='{"query": "pumps", "collection": "papers"}', headers=headers)
    assert response.status_code == 200
