"""Passages that the caller gives with the question (``rag_results``), over REST."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from multi_agent.values.request import LONGEST_RESULT, MOST_RESULTS
from support.service import QUESTION

IN_THE_COLLECTION = "The Borea 12 works down to -25 °C."
ELSEWHERE = "Field notes. The Borea 12 ran for a week at -25 °C. It stood on a roof."
WIKI = {"text": ELSEWHERE, "source": "https://wiki.example/borea", "page": 4, "score": 0.7}


def ask(http: httpx.Client, *passages: dict[str, Any], **more: Any) -> httpx.Response:
    asked = {"question": QUESTION, "collection": "papers", "mode": "fast", "rag_results": passages, **more}
    return http.post("/v1/research", json=asked)


def collection_chunk(http: httpx.Client) -> dict[str, Any]:
    """Return the chunk of the pump manual from a search."""
    found = http.post("/v1/search", json={"query": IN_THE_COLLECTION, "collection": "papers"}).json()
    chunks: list[dict[str, Any]] = found
    return next(chunk for chunk in chunks if IN_THE_COLLECTION in chunk["text"])


def test_a_passage_from_elsewhere_is_cited_as_given_by_the_caller(http: httpx.Client) -> None:
    answer = ask(http, WIKI, search=False).json()
    assert answer["status"] == "answered", answer
    [quote] = answer["evidence"]
    assert ELSEWHERE[quote["start"] : quote["end"]] == quote["quote"] == "The Borea 12 ran for a week at -25 °C."
    assert quote["origin"] == {"kind": "caller", "source": WIKI["source"], "score": 0.7}
    assert (quote["document"], quote["pages"]) == (WIKI["source"], [4])
    kept = http.get(f"/v1/runs/{answer['run_id']}/evidence/1").json()
    assert kept["text"][kept["start"] : kept["end"]] == quote["quote"]
    assert answer["summary"]["given_passages"] == {"cited": 1, "read": 1, "total": 1}
    assert answer["summary"]["documents"] == {"cited": 0, "read": 0, "total": 0}
    assert answer["coverage"]["chunks_considered"] == 0


def test_the_collection_is_searched_in_addition_and_the_given_passages_come_first(http: httpx.Client) -> None:
    answer = ask(http, WIKI).json()
    assert {quote["quote"]: (quote["origin"] or {}).get("kind") for quote in answer["evidence"]} == {
        IN_THE_COLLECTION: None,
        "The Borea 12 ran for a week at -25 °C.": "caller",
    }
    events = http.get(f"/v1/runs/{answer['run_id']}/events", headers={"Accept": "application/json"}).text
    first = events.partition('"searched"')[2]
    assert first.index("Field notes.") < first.index(IN_THE_COLLECTION)
    assert answer["summary"]["documents"]["cited"] == 1


def test_a_passage_of_the_collection_is_recognised(http: httpx.Client) -> None:
    chunk = collection_chunk(http)
    by_text = {"text": chunk["text"], "source": "another search"}
    by_id = {"text": IN_THE_COLLECTION, "source": "another search", "chunk_id": chunk["id"]}
    for given in (by_text, by_id):
        answer = ask(http, given, search=False).json()
        [quote] = answer["evidence"]
        assert (quote["origin"], quote["document_id"], quote["chunk_id"]) == (
            None,
            chunk["document_id"],
            chunk["id"],
        ), given
        assert answer["summary"]["given_passages"]["total"] == 0
        assert answer["summary"]["documents"] == {"cited": 1, "read": 1, "total": 1}


def test_a_changed_copy_of_a_chunk_is_not_recognised_by_its_id(http: httpx.Client) -> None:
    chunk = collection_chunk(http)
    changed = {"text": "The Borea 12 works down to -25 °C, or -40 °C.", "source": "x", "chunk_id": chunk["id"]}
    [quote] = ask(http, changed, search=False).json()["evidence"]
    assert quote["origin"]["kind"] == "caller"
    assert quote["quote"] == changed["text"]


def test_planned_research_reads_the_given_passages(http: httpx.Client) -> None:
    answer = ask(http, WIKI, {"text": "Soup is warm.", "source": "cook book"}, search=False, mode="high").json()
    assert answer["status"] == "answered", answer
    assert [quote["origin"]["source"] for quote in answer["evidence"]] == [WIKI["source"]]
    assert answer["summary"]["given_passages"] == {"cited": 1, "read": 2, "total": 2}
    assert answer["summary"]["steps_completed"] == 6


def test_two_passages_of_one_source_are_cited_apart(http: httpx.Client) -> None:
    second = {**WIKI, "text": "At -25 °C it needed no heater.", "page": 5}
    answer = ask(http, WIKI, second, search=False).json()
    whole = f"{ELSEWHERE}\n\n{second['text']}"
    assert [(whole[each["start"] : each["end"]], each["pages"]) for each in answer["evidence"]] == [
        ("The Borea 12 ran for a week at -25 °C.", [4]),
        (second["text"], [5]),
    ]
    assert len({each["document_id"] for each in answer["evidence"]}) == 1


def test_a_source_named_like_a_document_is_told_apart_in_the_prompt(http: httpx.Client) -> None:
    answer = ask(http, {**WIKI, "source": "pumps.md"}).json()
    events = http.get(f"/v1/runs/{answer['run_id']}/events").text
    assert '"name":"pumps.md (given)"' in events.replace(": ", ":")
    assert {quote["document_id"] for quote in answer["evidence"] if quote["origin"]}.isdisjoint(
        quote["document_id"] for quote in answer["evidence"] if not quote["origin"]
    )


@pytest.mark.parametrize(
    ("passages", "more", "says"),
    [
        ([], {"search": False}, "nothing to read"),
        ([WIKI] * (MOST_RESULTS + 1), {}, f"has {MOST_RESULTS + 1} passages, but the maximum is {MOST_RESULTS}"),
        ([{**WIKI, "text": "x" * (LONGEST_RESULT + 1)}], {}, f"Passage 1 of `rag_results` has {LONGEST_RESULT + 1:,}"),
        ([{**WIKI, "text": "x" * LONGEST_RESULT}] * 21, {}, "has 420,000 characters in total"),
        ([WIKI, {**WIKI, "text": " \n"}], {}, "Passage 2 of `rag_results` has a blank text"),
        ([WIKI], {"sources": ["web"]}, "Add 'documents' to `sources`"),
        ([{"text": "x"}], {}, "source"),
        ([{**WIKI, "page": 0}], {}, "page"),
        ([{**WIKI, "colour": "red"}], {}, "colour"),
    ],
)
def test_what_cannot_be_read_is_refused(
    http: httpx.Client, passages: list[Any], more: dict[str, Any], says: str
) -> None:
    refused = ask(http, *passages, **more)
    assert refused.status_code == 422
    assert says in refused.json()["detail"]
