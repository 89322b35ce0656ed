"""Characters that no database or no answer can hold are refused where they come in, and said to stand where they do."""

from __future__ import annotations

import httpx
import pytest

HALF = r"\ud800"
"""Half of a surrogate pair, as JSON can name it."""
CHAT = "/v1/chat/completions"


@pytest.mark.parametrize("odd", [HALF, r"\u0000"])
@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("/v1/search", '{"query": "ODD"}', "body.query"),
        ("/v1/search", '{"query": "x", "collection": "ODD"}', "body.collection"),
        ("/v1/research", '{"question": "Is it ODD?", "wait": false}', "body.question"),
        ("/v1/research", '{"question": "x", "template": "ODD"}', "body.template"),
        ("/v1/memories", '{"text": "ODD"}', "body.text"),
        ("/v1/keys", '{"name": "x", "rights": {"ODD": "read"}}', "body.rights"),
        (CHAT, '{"model": "papers", "messages": [{"role": "user", "content": "ODD"}]}', "messages.0.content"),
    ],
)  # fmt: skip
def test_in_a_body(http: httpx.Client, path: str, body: str, place: str, odd: str) -> None:
    sent = body.replace("ODD", odd)
    response = http.post(path, content=sent, headers={"Content-Type": "application/json"})
    assert f"{place}: A text cannot contain the character U+0000 or half of a surrogate pair" in response.text
    assert response.status_code == (400 if path == CHAT else 422)


def test_in_an_address(http: httpx.Client) -> None:
    for path in ("/v1/runs/%00", "/v1/runs/%00/events", "/v1/jobs/%00", "/v1/evaluations/%00", "/v1/models/%00"):
        assert http.get(path).status_code == 404, path
    for path in ("/v1/runs?collection=%00", "/v1/approvals?run_id=%00", "/v1/audit?key=%00"):
        response = http.get(path)
        assert (response.status_code, response.json()["title"]) == (422, "Wrong input"), path
        assert response.json()["detail"].startswith("query.")


def test_a_whole_surrogate_pair_is_a_character_like_every_other(http: httpx.Client) -> None:
    body = r'{"text": "\ud83d\udca7 comes before \\u0000."}'
    kept = http.post("/v1/memories", content=body, headers={"Content-Type": "application/json"}).json()
    assert kept["text"] == "\N{DROPLET} comes before \\u0000."


def test_numbers_that_no_column_holds_are_wrong_input(http: httpx.Client) -> None:
    run_id, huge = "run_none", "9" * 30
    for path in (f"/v1/runs/{run_id}/events?after={huge}", f"/v1/audit?before={huge}"):
        assert http.get(path).status_code == 422, path
    assert http.get(f"/v1/runs/{run_id}/events", headers={"Last-Event-ID": huge}).status_code == 422
    for limit in ("requests_per_day", "tokens_per_day", "upload_bytes_per_day"):
        key = {"name": "x", "rights": {"papers": "read"}, "limits": {limit: int(huge)}}
        response = http.post("/v1/keys", json=key)
        assert (response.status_code, f"body.limits.{limit}" in response.json()["detail"]) == (422, True)
