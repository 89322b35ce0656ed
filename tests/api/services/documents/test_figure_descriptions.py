"""Figure descriptions from a model: separate passages, whose evidence is marked as read in a picture."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.bootstrap import Candor
from ingest.chunking.chunker import Chunker, Source
from ingest.document import ParsedDocument
from ingest.errors import ModelUnavailable
from ingest.pipeline.chunks import chunk_document
from ingest.pipeline.model.figures import DESCRIPTIONS
from ingest.pipeline.plan import IngestRequest
from ingest.pipeline.tally import IngestReport
from ingest.settings import IngestSettings
from support import replies
from support.files import write_chart
from support.panel import TRIAGE, Panel, fast, role_of
from support.replies import Reply, Request
from support.scripted_endpoint import ScriptedEndpoint
from vectorstore.models import Chunk, ChunkKind

CAPTION = "Deliveries of the Borea 12, as the chart shows."
SHOWN = "A bar chart of the sales by quarter. The second quarter has the highest bar, at 42 thousand units."
QUESTION = "Which quarter had the highest sales?"
DESCRIBING = IngestSettings(describe_figures=True)


class Model:
    """A model that returns ``reply`` for every figure: by default, the same description."""

    def __init__(self) -> None:
        self.reply: Reply | str = json.dumps({"description": SHOWN})
        self.described: list[Request] = []

    def __call__(self, request: Request) -> Reply | str:
        if request.schema and role_of(request) == "FigureDescription":
            self.described.append(request)
            return self.reply
        return Panel("second quarter", roles={TRIAGE: fast})(request)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def folder(reports: Path) -> Path:
    write_chart(reports / "report.pdf", CAPTION)
    (reports / "soup.txt").write_text("Boil the lentils for 20 minutes.\n")
    return reports


@pytest.fixture
def candor(make_candor: Callable[..., Candor], endpoint: ScriptedEndpoint) -> Candor:
    return make_candor(llm=endpoint.settings("openai"), ingest=DESCRIBING)


def ingest(candor: Candor, folder: Path) -> IngestReport:
    return candor.ingest.ingest(IngestRequest(collection="reports", paths=(folder,)))


def passages(candor: Candor) -> list[Chunk]:
    """Return the passages of the report."""
    with candor.collections.open_library("reports") as library:
        return [chunk for chunk in library.retriever.scan() if chunk.name.endswith("report.pdf")]


def test_a_description_is_a_separate_passage(candor: Candor, model: Model, folder: Path) -> None:
    report = ingest(candor, folder)
    assert (report.indexed, report.pages) == (2, 1)
    [asked] = model.described
    assert len(asked.pictures) == 1
    assert CAPTION in asked.prompt

    written, described = passages(candor)
    assert (written.text, written.described_page) == (CAPTION, None)
    assert described.text == f"Figures on page 1, described by scripted\n\n{SHOWN}"
    assert (described.kind, described.pages, described.described_page) == (ChunkKind.PROSE, (1,), 1)
    assert DESCRIPTIONS not in described.metadata
    record = candor.documents.find(described.document_id, "reports")
    text = candor.documents.text(record).text
    assert [text[chunk.start : chunk.end] for chunk in (written, described)] == [written.text, described.text]
    with candor.collections.open_library("reports") as library:
        assert library.search(["highest sales by quarter"], 1)[0].chunk.id == described.id


def test_evidence_from_a_description_is_marked_as_read_in_the_picture(
    run: Callable, use_model: Callable, endpoint: ScriptedEndpoint, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_model(endpoint.settings("ollama"))
    monkeypatch.setenv("CANDOR_INGEST__DESCRIBE_FIGURES", "true")
    monkeypatch.setenv("CANDOR_RESEARCH__PICTURES_PER_CALL", "0")
    assert run("ingest", folder, "-c", "reports").code == 0
    answer: dict[str, Any] = run("ask", QUESTION, "--json").json
    assert answer["status"] == "answered"
    cited = [each for each in answer["evidence"] if each["quote"].startswith("The second quarter")]
    assert [each["picture"] for each in cited] == [{"page": 1, "region": None}]
    assert all(claim["pictured"] for claim in answer["claims"])
    assert "read from the picture of page 1, not verified: The second quarter" in " ".join(
        run("ask", QUESTION).out.split()
    )


def test_figures_are_described_once_and_removed_when_the_setting_is_turned_off(
    candor: Candor, model: Model, folder: Path, endpoint: ScriptedEndpoint, make_candor: Callable[..., Candor]
) -> None:
    ingest(candor, folder)
    assert (ingest(candor, folder).unchanged, len(model.described)) == (2, 1)
    off = make_candor(llm=endpoint.settings("openai"))
    again = ingest(off, folder)
    assert (again.indexed, again.unchanged) == (1, 1), "the text file is unchanged"
    assert [chunk.text for chunk in passages(off)] == [CAPTION]


def test_a_page_without_a_figure_gets_no_passage(candor: Candor, model: Model, folder: Path) -> None:
    model.reply = json.dumps({"description": " "})
    ingest(candor, folder)
    assert [chunk.text for chunk in passages(candor)] == [CAPTION]


def test_a_failed_description_fails_its_file(candor: Candor, model: Model, folder: Path) -> None:
    model.reply = replies.fail(413, "the picture is too large")
    report = ingest(candor, folder)
    [failed] = report.failed
    assert failed.name.endswith("report.pdf")
    assert "the picture is too large" in failed.reason
    assert "set `describe_figures` under [ingest] to false" in failed.reason
    assert report.indexed == 1


def test_a_model_without_vision_stops_the_ingest_before_it_starts(
    make_candor: Callable[..., Candor], model: Model, folder: Path
) -> None:
    with ScriptedEndpoint(model) as blind:
        candor = make_candor(llm=blind.settings("openai"), ingest=DESCRIBING)
        with pytest.raises(ModelUnavailable, match=r"is true, but the model 'scripted'.* does not support pictures"):
            ingest(candor, folder)
    assert candor.collections.list() == []
    assert model.described == []


def test_chunking_the_stored_text_gives_the_same_passages(candor: Candor, folder: Path) -> None:
    """After a change of the embedding model, Candor chunks the stored text and does not read the file again."""
    ingest(candor, folder)
    before = passages(candor)
    record = candor.documents.find(before[0].document_id, "reports")
    kept = candor.documents.text(record)
    parsed = ParsedDocument(
        text=kept.text,
        blocks=kept.blocks,
        pages=kept.pages,
        title=record.title,
        metadata=record.metadata,
        facts=record.facts,
        mime_type=record.mime_type,
        parser=record.parser,
    )
    chunker = Chunker(candor.embedder.count_tokens, candor.embedder.max_tokens, 64)
    source = Source(document_id=record.id, path=record.path, name=record.name, version=record.version)
    assert chunk_document(chunker, parsed, source, record.index_version) == before
