"""A document by parts, the places of a text in it, its passages, its citations; pictures and quotes sent once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.services.documents.shown_pages import ShownPages
from api.settings import Settings
from ingest.ledger.records import DocumentRecord
from ingest.pages.renderer import PageRenderer
from ingest.pages.request import RenderedPage
from multi_agent.storage.tables import CITATIONS, RUNS, answer_columns
from multi_agent.values.answer import Answer
from support.files import write_pdf
from support.panel import Panel
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, RunningService
from support.waiting import LIMIT_S
from vectorstore.embedding.embedder import Embedder

COLD = "The Borea 12 works down to -25 °C."
SECOND = "The weight of the pump is 120 kilograms."
MANY_RUNS = 10_000


@pytest.fixture(scope="module")
def candor(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[Candor]:
    """A PDF of two pages and two texts without pages; the model cites the PDF and a text."""
    folder = tmp_path_factory.mktemp("papers")
    write_pdf(folder / "sheet.pdf", parts=[("h1", "Data sheet"), COLD, ("page",), SECOND])
    quiet = "The  pump is\nquiet. " * 30
    (folder / "note.md").write_text(f"# Pumps\n\n{quiet}\n\nAt -25 °C it is loud.\n")
    long = "".join(f"## Part {part}\n\n" + "The heater hums at night. " * 200 + "\n\n" for part in range(3))
    (folder / "long.md").write_text(f"# Heaters\n\n{long}")
    with ScriptedEndpoint(Panel("-25 °C", "120 kilograms")) as endpoint:
        made = Candor(Settings(home=tmp_path_factory.mktemp("home"), llm=endpoint.settings("openai")))
        made.embedder = embedder
        run_ingest(made, [folder], "papers", progress=False)
        yield made


@pytest.fixture(scope="module")
def http(candor: Candor) -> Iterator[httpx.Client]:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as client:
        yield client


@pytest.fixture(scope="module")
def answer(http: httpx.Client) -> dict[str, Any]:
    """An answer that cites both documents."""
    found: dict[str, Any] = http.post("/v1/research", json={"question": QUESTION, "mode": "high"}).json()
    assert found["status"] == "answered", found
    return found


@pytest.fixture
def of(candor: Candor) -> Callable[[str, str], str]:
    """``of("sheet.pdf", "text")`` is the address of the document's text."""
    return lambda name, what: f"/v1/documents/{candor.documents.find(name, 'papers').id}/{what}"


def test_a_text_is_sent_by_page_and_by_part(http: httpx.Client, of: Callable[[str, str], str]) -> None:
    whole = http.get(of("sheet.pdf", "text")).json()
    assert (whole["start"], whole["length"], whole["page_count"]) == (0, len(whole["text"]), 2)
    page = http.get(of("sheet.pdf", "text"), params={"page": 2}).json()
    assert SECOND in page["text"]
    assert COLD not in page["text"]
    assert whole["text"][page["start"] :].startswith(page["text"])
    part = http.get(of("sheet.pdf", "text"), params={"start": 3, "limit": 5}).json()
    assert (part["text"], part["start"]) == (whole["text"][3:8], 3)
    assert [block["kind"] for block in part["blocks"]] == ["heading"]
    assert http.get(of("sheet.pdf", "text"), params={"start": 10**9}).json()["text"] == ""


def test_a_page_that_does_not_exist_names_the_pages(http: httpx.Client, of: Callable[[str, str], str]) -> None:
    beyond = http.get(of("sheet.pdf", "text"), params={"page": 3})
    assert (beyond.status_code, beyond.json()["detail"]) == (404, "'sheet.pdf' has 2 pages; 3 is not one.")
    without = http.get(of("note.md", "text"), params={"page": 1})
    assert (without.status_code, "'note.md' has no pages" in without.json()["detail"]) == (404, True)
    both = http.get(of("sheet.pdf", "text"), params={"page": 1, "limit": 5})
    assert (both.status_code, "either page, or start and limit" in both.json()["detail"]) == (422, True)


def test_a_text_is_found_everywhere_in_a_document(http: httpx.Client, of: Callable[[str, str], str]) -> None:
    text = http.get(of("note.md", "text")).json()["text"]
    found = http.get(of("note.md", "find"), params={"text": "PUMP is quiet", "first": 28, "limit": 5}).json()
    assert (found["total"], len(found["places"])) == (30, 2)
    place = found["places"][0]
    assert text[place["start"] : place["end"]] == place["text"]
    assert (place["page"], place["before"].endswith("The ") or place["before"].endswith("The  ")) == (None, True)
    [other] = http.get(of("sheet.pdf", "find"), params={"text": "kilograms."}).json()["places"]
    assert other["page"] == 2
    assert http.get(of("note.md", "find"), params={"text": "p.mp"}).json()["total"] == 0, "a sign is only itself"
    assert http.get(of("note.md", "find"), params={"text": "  "}).status_code == 422


def test_a_search_stays_in_its_document(http: httpx.Client, of: Callable[[str, str], str]) -> None:
    hits = http.get(of("note.md", "search"), params={"query": "How heavy is the pump?"}).json()
    assert hits
    assert {hit["name"] for hit in hits} == {"note.md"}


def test_passages_are_listed_page_after_page(http: httpx.Client, of: Callable[[str, str], str], candor: Candor) -> None:
    address, seen = of("long.md", "passages?limit=2"), []
    while address:
        response = http.get(address)
        seen += response.json()
        address = response.links.get("next", {}).get("url", "")
    assert [each["index"] for each in seen] == list(range(candor.documents.find("long.md", "papers").chunks))
    assert len(seen) > 3
    assert seen[-1]["section"][-1] == "Part 2"


def test_the_runs_that_cite_a_document_are_listed(
    http: httpx.Client, of: Callable[[str, str], str], answer: dict[str, Any]
) -> None:
    [citing] = http.get(of("sheet.pdf", "citations")).json()
    assert citing["run"]["run_id"] == answer["run_id"]
    assert {quote["quote"] for quote in citing["quotes"]} == {COLD, SECOND}
    cited = {each["number"]: each["quote"] for each in answer["evidence"]}
    assert all(cited[quote["number"]] == quote["quote"] for quote in citing["quotes"])
    sheet = of("sheet.pdf", "").split("/")[3]
    assert [run["run_id"] for run in http.get("/v1/runs", params={"cites": sheet}).json()] == [answer["run_id"]]
    assert http.get("/v1/runs", params={"cites": "other"}).json() == []


def test_all_quotes_come_with_their_surroundings_in_one_response(
    http: httpx.Client, answer: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.services.research.surroundings.LOCATE_S", LIMIT_S)
    found = {each["number"]: each for each in http.get(f"/v1/runs/{answer['run_id']}/evidence?locate=true").json()}
    assert len(answer["evidence"]) == len(found) >= 3
    for quote in answer["evidence"]:
        around = found[quote["number"]]
        start = quote["start"] - around["start"]
        assert around["state"] == "found"
        assert around["text"][start : start + len(quote["quote"])] == quote["quote"]
        assert [each["page"] for each in around["marked"]] == quote["pages"]
        assert all(each["boxes"] for each in around["marked"])
    assert all(not each["marked"] for each in http.get(f"/v1/runs/{answer['run_id']}/evidence").json())


def test_quotes_do_not_wait_for_positions(
    http: httpx.Client, answer: dict[str, Any], candor: Candor, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hang(*_: object) -> None:
        await asyncio.sleep(LIMIT_S)

    monkeypatch.setattr(candor.pages, "locate", hang)
    monkeypatch.setattr("api.services.research.surroundings.LOCATE_S", 0.01)
    found = http.get(f"/v1/runs/{answer['run_id']}/evidence?locate=true").json()
    assert [(each["state"], each["marked"]) for each in found] == [("found", [])] * len(answer["evidence"])


async def test_locating_a_quote_also_keeps_the_picture_of_its_page(
    candor: Candor, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = candor.documents.find("sheet.pdf", "papers")
    start = candor.ledger.text("papers", document.id).text.index(COLD)
    pages = ShownPages(PageRenderer(timeout_s=LIMIT_S), candor.ledger, 1)
    located = await pages.locate(document, 1, [(start, start + len(COLD)), (0, 4)])
    assert [len(boxes) for boxes in located.marks] == [1, 1]

    async def fail(*_: object) -> None:
        raise AssertionError("the page was drawn again")

    monkeypatch.setattr(pages, "_draw", fail)
    assert await pages.locate(document, 1, [(start, start + len(COLD)), (0, 4)]) == located
    _, image = await pages.show(document, 1, (), 2.0)
    assert image.startswith(b"\x89PNG")


def test_the_same_picture_is_drawn_once_and_sent_once(
    http: httpx.Client, of: Callable[[str, str], str], candor: Candor, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = http.get(of("sheet.pdf", "pages/1.png"))

    async def fail(*_: object) -> None:
        raise AssertionError("the picture was drawn again")

    monkeypatch.setattr(candor.pages, "_draw", fail)
    assert http.get(of("sheet.pdf", "pages/1.png")).content == first.content
    assert first.headers["cache-control"] == "private, no-cache"
    known = http.get(of("sheet.pdf", "pages/1.png"), headers={"If-None-Match": first.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")


async def test_the_kept_pictures_are_bounded(monkeypatch: pytest.MonkeyPatch, candor: Candor) -> None:
    drawn: list[int] = []
    pages = ShownPages(None, None, 1, kept_bytes=30_000)  # type: ignore[arg-type]

    async def draw(document: DocumentRecord, page: int, *_: object) -> tuple[RenderedPage, bytes]:
        drawn.append(page)
        return RenderedPage(), b"x" * 10_000

    monkeypatch.setattr(pages, "_draw", draw)
    document = candor.documents.find("sheet.pdf", "papers")
    for page in (1, 2, 1, 3, 1, 2):
        await pages.show(document, page, (), 2.0)
    assert drawn == [1, 2, 3, 2], "page 2 was not shown for the longest time when page 3 needed room"
    await pages.show(document.model_copy(update={"version": "other"}), 1, (), 2.0)
    assert drawn[-1] == 1, "another version is another picture"


def test_citations_are_quick_among_many_runs(
    http: httpx.Client, of: Callable[[str, str], str], candor: Candor, answer: dict[str, Any]
) -> None:
    """A scan of the answers would take seconds. The limit allows for a busy machine."""
    began, columns = datetime(2020, 1, 1, tzinfo=UTC), answer_columns(Answer.model_validate(answer))
    rows = [
        {"run_id": f"run_many{number:05}", "collection": "papers", "question": "Why?", "model": "m", "key": "",
         "started_at": began + timedelta(seconds=number), **columns}
        for number in range(MANY_RUNS)
    ]  # fmt: skip
    sheet = of("sheet.pdf", "").split("/")[3]
    with candor.engine.begin() as connection:
        connection.execute(RUNS.insert(), rows)
        connection.execute(CITATIONS.insert(), [
            {"run_id": row["run_id"], "position": 0, "number": 1, "pages": [1], "start": 0, "end": 4, "quote": COLD,
             "document_id": sheet if number % 100 == 0 else f"other {number}"}
            for number, row in enumerate(rows)
        ])  # fmt: skip
    started = perf_counter()
    page = http.get(of("sheet.pdf", "citations"))
    assert perf_counter() - started < 1
    following = http.get(page.links["next"]["url"])
    found = [each["run"]["run_id"] for response in (page, following) for each in response.json()]
    assert found[:2] == [answer["run_id"], "run_many09900"]
    assert len(found) == len(set(found)) == 100


def test_words_are_counted_and_documents_are_compared(http: httpx.Client, of: Callable[[str, str], str]) -> None:
    counted = http.post("/v1/search/count", json={"collection": "papers", "query": '"the pump"'}).json()
    assert {row["document"]: row["counts"] for row in counted["documents"]} == {
        "note.md": {"the pump": 30}, "sheet.pdf": {"the pump": 1},
    }  # fmt: skip
    assert http.post("/v1/search/count", json={"query": '"the pump" is'}).status_code == 422
    many = {"collection": "papers", "query": " ".join(f'"pump {number}"' for number in range(101))}
    assert "101 phrases. Count at most 100" in http.post("/v1/search/count", json=many).json()["detail"]

    found = http.get(of("sheet.pdf", "differences"), params={"other": "note.md"}).json()
    assert (found["old"], found["new"]) == ("sheet.pdf", "note.md")
    gone = [each for section in found["sections"] for each in section["changes"] if each["kind"] == "removed"]
    assert [(each["old"], each["old_page"]) for each in gone] == [(COLD, 1), (SECOND, 2)]
    assert http.get(of("sheet.pdf", "differences"), params={"other": "none"}).status_code == 404
    refused = http.get(of("sheet.pdf", "differences"))
    assert (refused.status_code, "No version before 'sheet.pdf'" in refused.json()["detail"]) == (422, True)
