"""Complete ingests of real files with the real parser, model and store."""

from __future__ import annotations

import os

from ingest.ledger.records import DocumentState, Stage
from ingest.pipeline.tally import Progress
from support.files import write_docx, write_pdf
from support.workplace import BREAD, PUMPS, Workplace
from vectorstore.models import ChunkFilter
from vectorstore.retrieval import Retriever


def test_a_folder_becomes_searchable_with_exact_spans(workplace: Workplace) -> None:
    workplace.write("energy/pumps.md", PUMPS)
    write_docx(workplace.documents / "bread.docx", [("h1", "Bread"), "Knead the dough for ten minutes."])
    report = workplace.ingest()
    assert (report.files, report.indexed, report.chunks, report.failed) == (2, 2, 2, ())

    with workplace.collection() as collection:
        hit = Retriever(collection, workplace.embedder).search(["heating in winter"], limit=1)[0]
    assert hit.chunk.name == "energy/pumps.md"
    assert hit.chunk.document == (workplace.documents / "energy/pumps.md").as_posix()
    kept = workplace.ledger.text("papers", hit.chunk.document_id)
    assert kept.text[hit.chunk.start : hit.chunk.end] == hit.chunk.text


def test_the_ledger_records_the_result_of_a_file(workplace: Workplace) -> None:
    path = write_pdf(
        workplace.documents / "a.pdf", title="Pumps", parts=["Heat pumps work below zero.", ("page",), "End."]
    )
    workplace.ingest()
    record = workplace.ledger.find("papers", "a.pdf")
    assert record.state is DocumentState.INDEXED
    assert (record.title, record.pages, record.chunks, record.size) == ("Pumps", 2, 1, path.stat().st_size)
    assert record.mime_type == "application/pdf"
    assert record.tokens > 5
    assert record.parser.startswith("pdf/")
    assert {"reading", "parsing", "chunking"} <= set(record.seconds)


def test_facts_are_in_the_ledger_and_filter_searches(workplace: Workplace) -> None:
    for quarter, period in (("q1", "April 1, 2023"), ("q2", "July 1, 2023")):
        later = [part for _ in range(9) for part in (("page",), f"Borea Inc. sold pumps until {period}.")]
        cover = ["Borea Inc.", f"For the quarter ended {period}"]
        write_pdf(workplace.documents / f"{quarter}.pdf", title="EDGAR PDF", parts=[*cover, *later])
    workplace.ingest()
    record = workplace.ledger.find("papers", "q2.pdf")
    assert (record.title, record.facts["period"].value, record.facts["period"].page) == ("q2", "2023-07-01", 1)
    with workplace.collection() as collection:
        where = ChunkFilter(metadata={"issuer": "Borea Inc.", "period": "2023-07-01"})
        hits = Retriever(collection, workplace.embedder).search(["pumps"], 5, where)
    assert {hit.chunk.name for hit in hits} == {"q2.pdf"}
    assert hits[0].chunk.embedded_text.startswith("q2 › Borea Inc., July 1, 2023")


def test_an_unchanged_file_is_not_embedded_again(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    workplace.ingest()
    os.utime(path, (1, 1))
    report = workplace.ingest()
    assert (report.indexed, report.unchanged, report.chunks) == (0, 1, 0)
    assert "embedding" not in report.stage_seconds


def test_a_changed_file_replaces_its_old_chunks(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS + "\n\n".join(f"## Part {n}\n\n{PUMPS * 4}" for n in range(5)))
    workplace.write("bread.md", BREAD)
    workplace.ingest()
    assert len(workplace.chunks(path)) > 1
    path.write_text("# Heat pumps\n\nRewritten.\n")
    report = workplace.ingest()
    assert (report.indexed, report.unchanged) == (1, 1)
    assert [chunk.text for chunk in workplace.chunks(path)] == ["Heat pumps\n\nRewritten."]
    assert len(workplace.chunks()) == 2


def test_a_new_parser_version_reads_unchanged_files_again(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    workplace.ingest()
    known = workplace.ledger.find("papers", "pumps.md")
    workplace.ledger.record(known.model_copy(update={"parser": "kreuzberg 3.0"}))
    assert workplace.ingest().indexed == 1
    assert len(workplace.chunks(path)) == 1


def test_the_same_file_twice_is_ingested_once(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    assert workplace.ingest(workplace.documents, path, workplace.documents).files == 1


def test_identical_texts_are_documents_of_their_own(workplace: Workplace) -> None:
    workplace.write("a/pumps.md", PUMPS)
    workplace.write("b/pumps.md", PUMPS)
    workplace.ingest()
    assert [chunk.name for chunk in workplace.chunks()] == ["a/pumps.md", "b/pumps.md"]


def test_progress_reports_files_stages_and_counts(workplace: Workplace) -> None:
    workplace.write("pumps.md", PUMPS)
    workplace.write("empty.md", "")
    seen: list[Progress] = []
    workplace.ingest(progress=seen.append)
    assert {progress.stage for progress in seen} == set(Stage) - {Stage.ASKING, Stage.WAITING}
    assert (seen[-1].files_done, seen[-1].files_total, seen[-1].failed, seen[-1].chunks) == (2, 2, 1, 1)
    embedding = [progress.bytes_done for progress in seen if progress.stage is Stage.EMBEDDING]
    assert embedding[0] < embedding[-1], "also within a file"
    assert seen[-1].bytes_done == seen[-1].bytes_total == len(PUMPS.encode())
