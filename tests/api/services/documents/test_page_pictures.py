"""Page pictures from document to answer: in the library, on the command line and over HTTP."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from multi_agent.errors import PictureUnavailable
from multi_agent.llm.settings import EndpointSettings
from support.files import write_chart
from support.panel import READING, TRIAGE, Panel, fast, synthesis
from support.replies import Reply, Request
from support.scripted_endpoint import ScriptedEndpoint
from support.service import RunningService, follow, with_service
from support.waiting import LIMIT_S

CAPTION = "Sales of the Borea 12 by quarter, in thousands."
QUESTION = "What were the sales of the Borea 12 in the second quarter?"
REGION = [0.4, 0.3, 0.6, 0.7]


class Model:
    """A model that reads a value from the page picture."""

    def __init__(self) -> None:
        self.pictures: list[bytes] = []

    def __call__(self, request: Request) -> Reply | str:
        if request.schema:  # skip the tiny picture of the capability check, which has no schema
            self.pictures += request.pictures
        return Panel(roles={TRIAGE: fast, READING: self._read})(request)

    def _read(self, request: Request) -> str:
        reading = {"picture": 1, "words": "Q2: 42", "region": REGION}
        claim: dict[str, Any] = {"sentences": [], "text": "42 thousand in the second quarter.", "pictures": [reading]}
        seen = synthesis([claim], sufficient=True, short="42")
        return json.dumps(seen if request.pictures else synthesis([], sufficient=False))


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def report(reports: Path) -> Path:
    return write_chart(reports / "report.pdf", CAPTION)


@pytest.fixture
def candor(make_candor: Callable[..., Candor], endpoint: ScriptedEndpoint, report: Path) -> Candor:
    candor = make_candor(llm=endpoint.settings("openai"))
    run_ingest(candor, [report], "reports", progress=False)
    return candor


def test_a_page_is_drawn_with_the_maximum_size(candor: Candor) -> None:
    with candor.collections.open_library("reports") as library:
        [chunk] = library.scan()
        assert chunk.pictured_pages == (1,)
        picture = Image.open(io.BytesIO(library.page_picture(chunk, 1)))
    assert max(picture.size) == 1_400
    assert picture.getpixel((picture.width // 2, picture.height // 2)) == (20, 60, 140), "the colour of a chart bar"


def test_a_changed_file_is_not_drawn(candor: Candor, report: Path) -> None:
    write_chart(report, "Another caption.", (90, 90, 90))
    os.utime(report, (1, 1))
    with candor.collections.open_library("reports") as library:
        [chunk] = library.scan()
        with pytest.raises(
            PictureUnavailable, match=r"page 1 of 'report\.pdf' .*Ingest it again.* set `vision` .* to 'off'"
        ):
            library.page_picture(chunk, 1)


class TestCommandLine:
    """``candor ask`` with a model that accepts images."""

    @pytest.fixture
    def ask(self, run: Callable, use_model: Callable, endpoint: ScriptedEndpoint, report: Path) -> Callable[..., Any]:
        use_model(endpoint.settings("ollama"))
        run("ingest", report)
        return lambda *options: run("ask", QUESTION, *options)

    def test_picture_evidence_is_marked(self, ask: Callable[..., Any], run: Callable, model: Model) -> None:
        shown = ask("-v")
        assert shown.code == 0
        said = " ".join(shown.out.split())
        assert "42 thousand in the second quarter. [1]" in said
        assert "read from the picture of page 1, not verified Q2: 42" in said
        assert "“" not in shown.out, "picture evidence is not a quote"
        assert "no rule can verify" in said
        assert len(model.pictures) == 1
        run_id = shown.out.rpartition("candor trace ")[2].split()[0]
        assert "─── a picture, not kept: " in run("trace", run_id, "--prompts").out

    def test_the_json_answer_has_the_region(self, ask: Callable[..., Any]) -> None:
        answer = ask("--json").json
        assert answer["evidence"][0]["picture"] == {"page": 1, "region": REGION}
        assert answer["claims"][0]["pictured"] is True
        assert answer["confidence"] == 0.3

    def test_no_picture_is_sent_if_vision_is_off(
        self, ask: Callable[..., Any], model: Model, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CANDOR_LLM__VISION", "off")
        assert ask("--json").json["status"] == "insufficient"
        assert model.pictures == []

    def test_a_deleted_file_fails_the_run_with_a_reason(self, ask: Callable[..., Any], report: Path) -> None:
        report.unlink()
        failed = ask("--json").json
        assert failed["status"] == "failed"
        assert "page 1 of 'report.pdf' cannot be sent to the model" in failed["reasoning"]


def test_vision_on_without_support_fails_the_run_before_the_first_request(
    run: Callable, use_model: Callable, serve: Callable[..., EndpointSettings], report: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    asked: list[Request] = []

    def answer(request: Request) -> Reply | str:
        asked.append(request)
        return Panel()(request)

    use_model(serve(answer, "ollama"))
    monkeypatch.setenv("CANDOR_LLM__VISION", "on")
    run("ingest", report)
    failed = run("ask", QUESTION, "--json").json
    assert failed["status"] == "failed"
    assert "CANDOR_LLM__VISION" in failed["reasoning"]
    assert "takes no pictures" in failed["reasoning"]
    assert asked == []


def test_pictures_work_over_http_with_a_separate_research_process(candor: Candor, model: Model) -> None:
    candor.settings = with_service(candor.settings, research_process=True)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        asked = http.post("/v1/research", json={"question": QUESTION, "wait": False}).json()["run_id"]
        follow(http, asked)
        answer = http.get(f"/v1/runs/{asked}").json()["answer"]
        report = http.get(f"/v1/runs/{asked}/export", params={"format": "md"}).text
        journal = http.get(f"/v1/runs/{asked}/journal").json()
    assert len(model.pictures) == 1
    assert answer["evidence"][0]["picture"] == {"page": 1, "region": REGION}
    assert answer["claims"][0]["pictured"] is True
    assert re.search(r"report.pdf, page 1, created [\d-]+, read from the picture of page 1, not verified", report)
    assert "> Q2: 42" in report
    [sent] = [message["pictures"] for entry in journal for message in entry["messages"] if "pictures" in message]
    assert [sorted(each) for each in sent] == [["height", "sha256", "size", "width"]]
