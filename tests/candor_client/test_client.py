"""Both clients with a running service: ingest, search, ask, table, report, and the errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from api.bootstrap import Candor as Installation
from api.settings import ServiceSettings, Settings
from candor_client import Answer, AsyncCandor, Candor, CandorError
from candor_client.errors import JobFailed, LimitReached, NotAllowed, NotFound, Refused, RunFailed, Unreachable
from candor_client.options import Column, PlannedSection
from ingest.settings import IngestSettings
from support.panel import TRIAGE, Panel, fast, sentences_of
from support.ports import free_port
from support.replies import Reply, Request
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, REFUSED, RunningService
from support.web import Page, Web
from vectorstore.embedding.embedder import Embedder

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
COLUMNS: list[Column] = [{"name": "Limit", "question": "Lowest temperature", "type": "number", "unit": "°C"}]
SECTIONS: list[PlannedSection] = [{"title": "Cold", "question": QUESTION}]


def table_row(request: Request) -> str:
    found = "-25 °C" in request.prompt
    at = sentences_of(request, 1, "-25 °C") if found else []
    return json.dumps({"answers": [{"column": 1, "sentences": at, "values": ["-25"] if found else [], "reason": ""}]})


def model(request: Request) -> Reply | str:
    roles = {TRIAGE: fast, "RowAnswers": table_row, "FindingsAnalysis": lambda _: '{"points": []}'}
    return (
        Reply(status=400, raw="no such question")
        if REFUSED in request.prompt
        else Panel("-25 °C", roles=roles)(request)
    )


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[str]:
    with ScriptedEndpoint(model) as endpoint:
        home, service = tmp_path_factory.mktemp("home"), ServiceSettings(root_path="/candor")
        settings = Settings(
            home=home, llm=endpoint.settings("openai"), service=service,
            ingest=IngestSettings(allow_private_addresses=True),
        )  # fmt: skip
        installation = Installation(settings)
        installation.embedder = embedder
        with RunningService(installation) as running:
            yield f"{running.url}/candor"


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A folder with two documents, one of which divides lines by U+2028, and files that nobody means."""
    folder = tmp_path / "papers"
    (folder / ".git").mkdir(parents=True)
    (folder / "pumps.md").write_text("# Pumps\n\n## Limits\n\nThe Borea 12\u2028works down to -25 °C.\n")
    (folder / "soup.txt").write_text("Boil the lentils for 20 minutes.\n")
    (folder / ".git" / "config.txt").write_text("hidden")
    (folder / "link.txt").symlink_to(Path(__file__))
    return folder


def test_the_example_of_the_documentation_runs(
    url: str, papers: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(papers.parent)
    example = re.findall(r"```python\n(from candor_client.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    assert "http://127.0.0.1:8484" in example
    exec(example.replace("http://127.0.0.1:8484", url), {})
    printed = capsys.readouterr().out.split("\n")
    quoted = "[1] papers/pumps.md, Limits: “The Borea 12\u2028works down to -25 °C.”"
    assert printed.count(quoted) == 2, "of the answer and of the report"
    assert {"papers/pumps.md -25", "papers/soup.txt None", "Cold", "Noise"} <= set(printed)


def test_a_program_reads_what_is_there_and_follows_a_question(url: str, papers: Path) -> None:
    with Candor(url) as candor:
        job = candor.ingest(papers, papers / "soup.txt", collection="called", tags=["new"])
        assert isinstance(job.result, dict)
        assert (job.result["indexed"], job.result["failed"]) == (3, [])
        assert "called" in [each.name for each in candor.collections()]
        assert [(each.name, each.tags) for each in candor.documents("called")] == [
            ("papers/pumps.md", ["new"]),
            ("papers/soup.txt", ["new"]),
            ("soup.txt", ["new"]),
        ]
        assert candor.search("Borea frost", "called", limit=1)[0].name == "papers/pumps.md"
        with candor.stream(QUESTION, "called") as run:
            types = [event.body.type for event in run]
            answer = run.answer()
        assert (types[0], types[-1], "claim_drafted" in types) == ("run_started", "run_finished", True)
        assert (answer.status, [quote.document for quote in answer.cited]) == ("answered", ["papers/pumps.md"])
        assert candor.answer(run.run_id) == answer


async def test_asynchronous_code_awaits_the_same(url: str, papers: Path) -> None:
    async with AsyncCandor(url) as candor:
        job = await candor.ingest(papers, collection="awaited")
        assert isinstance(job.result, dict)
        assert job.result["indexed"] == 2
        assert "awaited" in [each.name for each in await candor.collections()]
        assert len(await candor.documents("awaited")) == 2
        assert (await candor.search("Borea frost", "awaited"))[0].name == "papers/pumps.md"
        async with candor.stream(QUESTION, "awaited") as run:
            titles = [event.title async for event in run]
            answer = await run.answer()
        assert titles
        assert answer.status == "answered"
        assert answer == await candor.answer(run.run_id)
        assert "-25 °C" in (await candor.ask(QUESTION, "awaited", mode="fast")).cited[0].quote
        report = await candor.report("What do these say?", "awaited", SECTIONS)
        assert "Cold" in [section.title for section in report.sections]
        assert [row.name for row in (await candor.make_table("awaited", COLUMNS, "awaited")).rows] == [
            "papers/pumps.md",
            "papers/soup.txt",
        ]


def test_an_error_says_what_happened_and_what_to_do(url: str, papers: Path) -> None:
    with Candor(url) as candor:
        candor.ingest(papers, collection="errors")
        with pytest.raises(NotFound, match=r"No such collection: .*'nope'.* GET /v1/collections lists"):
            candor.search("x", "nope")
        with pytest.raises(Refused, match="Wrong input"):
            candor.ask("", "errors")
        with pytest.raises(RunFailed, match="rejected the request") as failed:
            candor.ask(REFUSED, "errors")
        assert failed.value.answer.run_id.startswith("run_")
        with pytest.raises(FileNotFoundError, match="nowhere"):
            candor.ingest(papers / "nowhere", collection="errors")
    with Candor(url, key="unknown") as stranger, pytest.raises(NotAllowed, match="Key needed"):
        stranger.collections()
    nobody = f"http://127.0.0.1:{free_port()}"
    with Candor(nobody) as candor, pytest.raises(Unreachable, match=f"{nobody}.* `candor serve` runs there"):
        candor.ask(QUESTION)


def answering(handler: Callable[[httpx.Request], httpx.Response]) -> Candor:
    """Return a client of a service that does not exist."""
    return Candor("http://candor.test", "KEY", headers={"X-Own": "1"}, transport=httpx.MockTransport(handler))


def test_the_key_is_sent_and_a_limit_tells_when_to_come_back() -> None:
    problem = {"type": "urn:x", "title": "Limit reached", "status": 429, "detail": "100 tokens.", "remedy": "Wait."}

    def refuse(request: httpx.Request) -> httpx.Response:
        assert (request.headers["Authorization"], request.headers["X-Own"]) == ("Bearer KEY", "1")
        return httpx.Response(429, json=problem, headers={"Retry-After": "60"})

    with pytest.raises(LimitReached, match=r"Limit reached: 100 tokens\. Wait\.") as reached:
        answering(refuse).search("x")
    assert reached.value.headers["Retry-After"] == "60"


def test_a_response_of_a_proxy_is_no_answer_of_candor() -> None:
    proxy = answering(lambda _: httpx.Response(502, text="<h1>Bad Gateway</h1>"))
    with pytest.raises(CandorError, match=r"status 502, but not as Candor does: '<h1>Bad Gateway"):
        proxy.collections()
    with pytest.raises(CandorError, match=r"valid string at \(0, 'name'\)\. Use the client of the service's version"):
        answering(lambda _: httpx.Response(200, json=[{"name": 1}])).collections()


def test_a_stream_that_ends_early_names_the_run_that_goes_on() -> None:
    cut = answering(lambda _: httpx.Response(200, text=": nothing new\n\n", headers={"Location": "/v1/runs/run_1"}))
    with pytest.raises(Unreachable, match=r"run_1 ended early\. Call answer\('run_1'\)"):
        cut.ask(QUESTION)


def test_a_cancelled_job_is_an_error() -> None:
    job = {"id": "j", "kind": "ingest", "collection": "c", "key": "", "created_at": "2026-01-01T00:00:00Z"}
    cancelled = answering(lambda _: httpx.Response(202, json={**job, "status": "cancelled"}))
    with pytest.raises(JobFailed, match="ingest job j over 'c' did not finish: It was cancelled"):
        cancelled.ingest(__file__, collection="c")


def test_no_event_is_lost_after_a_break() -> None:
    at = {"run_id": "run_1", "at": "2026-01-01T00:00:00Z", "title": "", "details": ""}
    body = {"type": "run_resumed", "times": 1, "answered": 0}
    events = [{**at, "number": number, "body": body, "details": "\u2028"} for number in (1, 2)]
    answer = {"run_id": "run_1", "status": "answered", "mode": "fast", "question": QUESTION}
    stream = "".join(f"id: 1\ndata: {json.dumps(each, ensure_ascii=False)}\n\n" for each in events)
    stream += f"event: answer\ndata: {json.dumps(answer)}\n\n"
    at_once = answering(lambda _: httpx.Response(200, text=stream, headers={"Location": "/v1/runs/run_1"}))
    with at_once.stream(QUESTION) as run:
        assert next(iter(run)).number == 1
        assert [event.number for event in run] == [2]
        assert run.answer().status == "answered"


def test_an_answer_shows_itself_with_its_quotes_and_escapes_them() -> None:
    quote = {
        "number": 1, "document": "a<b>.pdf", "document_id": "d", "chunk_id": "c", "pages": [3], "start": 0, "end": 1,
        "quote": "<script>alert(1)</script>",
    }  # fmt: skip
    answer = Answer.model_validate(
        {
            "run_id": "run_1", "status": "answered", "mode": "fast", "question": "?", "answer": "Yes & no. [1]",
            "basis": "1 quote", "claims": [{"text": "Yes & no.", "evidence": [1], "supported": True}],
            "evidence": [quote, {**quote, "number": 2, "quote": "not cited"}],
        }
    )  # fmt: skip
    assert str(answer).splitlines() == [
        "Answered · 1 quote",
        "Yes & no. [1]",
        "[1] a<b>.pdf, page 3: “<script>alert(1)</script>”",
    ]
    shown = answer._repr_html_()
    assert "<strong>Answered · 1 quote</strong>\nYes &amp; no. [1]" in shown
    assert "[1] a&lt;b&gt;.pdf, page 3: “&lt;script&gt;alert(1)&lt;/script&gt;”" in shown


def test_a_program_follows_sources(url: str) -> None:
    with Web() as web, Candor(url) as candor:
        web.pages["/docs/"] = Page(b"<h1>Pumps</h1><p>The Borea is blue.</p><a href=a>a</a>")
        web.pages["/docs/a"] = Page(b"<h1>Fans</h1><p>The Lyra is red.</p>")
        fetched = candor.fetch(web.url("/docs/a"), web.url("/none"), collection="pages")
        assert (fetched.result["indexed"], len(fetched.result["failed"])) == (1, 1)
        added = candor.add_source(web.url("/docs/"), "site", name="handbook", every="1h", options={"depth": 1})
        assert (added.name, added.every, added.documents) == ("handbook", "1h", 0)
        assert candor.sync_source("handbook", "site").status == "done"
        [listed] = candor.sources("site")
        assert (listed.state, listed.documents, candor.sources("pages")) == ("synced", 2, [])
        web.pages["/docs/"] = Page(b"<h1>Pumps</h1>")
        assert len(candor.sync_source("handbook", "site").result["removed"]) == 1
        assert (candor.remove_source("handbook", "site"), candor.sources()) == (1, [])
        with pytest.raises(NotFound, match="no source 'handbook'"):
            candor.sync_source("handbook", "site")
        with pytest.raises(Refused, match="candor sources add"):
            candor.add_source("s3://bucket/papers", "site")
