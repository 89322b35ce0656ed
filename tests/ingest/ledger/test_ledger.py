"""The ledger: records, parsed texts, references to documents, hidden versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from api.services.research.library import list_catalogue
from ingest.document import DATE, PERIOD, Fact, FactSource
from ingest.errors import AmbiguousDocument, DocumentNotFound, LedgerUnavailable
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord, DocumentState, FieldSource, Publication, Stage, document_id
from ingest.readers.shared.document_builder import DocumentBuilder
from support.database import make_engine


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(make_engine(tmp_path / "candor.sqlite"))


def record(name: str, collection: str = "papers", **fields: Any) -> DocumentRecord:
    path = f"/docs/{name}"
    known = {"state": DocumentState.INDEXED, "stage": Stage.STORING, "version": "a" * 64, "chunks": 3} | fields
    return DocumentRecord(collection=collection, id=document_id(path), path=path, name=name, **known)


def test_a_record_is_read_as_it_was_written(ledger: Ledger) -> None:
    written = record(
        "pumps/a.pdf", seconds={"parsing": 0.5}, warnings=("odd",), metadata={"authors": "A. Author", "year": 2024}
    )
    ledger.record(written)
    assert ledger.get("papers", written.id) == written
    assert ledger.get("recipes", written.id) is None


def test_a_record_replaces_the_one_before(ledger: Ledger) -> None:
    ledger.record(record("a.md"))
    ledger.record(record("a.md", state=DocumentState.FAILED, stage=Stage.PARSING, reason="damaged"))
    assert [(r.state, r.reason) for r in ledger.list("papers")] == [(DocumentState.FAILED, "damaged")]


def test_searchable_documents_are_found_by_name_and_id(ledger: Ledger) -> None:
    listed = [record("b.md"), record("a.md"), record("c.md", chunks=0), record("d.md"), record("a.md", "recipes")]
    for each in listed:
        ledger.record(each)
    b, a, _, d, _ = (each.id for each in listed)
    assert ledger.searchable("papers", ["b.md", a, "a.md", "c.md", "unknown"]) == [a, b]
    assert ledger.searchable("papers", [d, *(f"unknown {number}" for number in range(40_000))]) == [d]


def test_a_failed_ingest_keeps_the_parsed_text(ledger: Ledger) -> None:
    builder = DocumentBuilder()
    builder.page(1)
    builder.heading("Pumps — Übersicht", 1)
    builder.table([("a", "b"), ("1", "2")])
    parsed = builder.build(parser="test", mime_type="application/pdf")
    ledger.publish([Publication(record("a.pdf"), parsed)])
    ledger.record(record("a.pdf", state=DocumentState.FAILED))
    stored = ledger.text("papers", document_id("/docs/a.pdf"))
    assert (stored.text, stored.blocks, stored.pages) == (parsed.text, parsed.blocks, parsed.pages)


def test_a_document_without_text_is_an_error(ledger: Ledger) -> None:
    with pytest.raises(DocumentNotFound, match="no parsed text"):
        ledger.text("papers", "unheard-of")


@pytest.mark.parametrize("by", ["id", "id prefix", "path", "name", "file name"])
def test_a_document_is_found_by(ledger: Ledger, by: str) -> None:
    ledger.record(record("pumps/a.pdf"))
    ledger.record(record("pumps/b.pdf"))
    wanted = record("pumps/b.pdf")
    reference = {
        "id": wanted.id,
        "id prefix": wanted.id[:8],
        "path": "/docs/pumps/b.pdf",
        "name": "pumps/b.pdf",
        "file name": "b.pdf",
    }[by]
    assert ledger.find("papers", reference).id == wanted.id


def test_unknown_and_ambiguous_references_are_errors(ledger: Ledger) -> None:
    ledger.record(record("2023/report.pdf"))
    ledger.record(record("2024/report.pdf"))
    with pytest.raises(DocumentNotFound, match=r"'summary\.pdf' in collection 'papers'"):
        ledger.find("papers", "summary.pdf")
    with pytest.raises(AmbiguousDocument, match=r"2 documents: 2023/report\.pdf .*, 2024/report\.pdf"):
        ledger.find("papers", "report.pdf")


def test_a_relative_path_names_a_document(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    wanted = record("report.pdf").model_copy(update={"path": str(tmp_path / "in" / "report.pdf")})
    ledger.record(wanted)
    monkeypatch.chdir(tmp_path / "here")
    assert ledger.find("papers", "../in/report.pdf").id == wanted.id


def test_wildcards_in_a_reference_are_literal(ledger: Ledger) -> None:
    ledger.record(record("a/100%.md"))
    with pytest.raises(DocumentNotFound):
        ledger.find("papers", "%")


def test_documents_are_sorted_by_name_and_filtered_by_state(ledger: Ledger) -> None:
    for name, state in [("b.md", "failed"), ("a.md", "indexed"), ("c.md", "indexed")]:
        ledger.record(record(name, state=DocumentState(state)))
    assert [r.name for r in ledger.list("papers")] == ["a.md", "b.md", "c.md"]
    assert [r.name for r in ledger.list("papers", DocumentState.FAILED)] == ["b.md"]


def test_forgetting_a_collection_keeps_the_others(ledger: Ledger) -> None:
    ledger.record(record("a.md"))
    ledger.record(record("a.md", collection="recipes"))
    ledger.forget("papers")
    assert (ledger.list("papers"), len(ledger.list("recipes"))) == ([], 1)


def test_a_database_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="unable to open database file"):
        Ledger(create_engine(f"sqlite:///{tmp_path / 'no such folder' / 'candor.sqlite'}")).list("papers")


def test_publishing_a_version_hides_the_one_before(ledger: Ledger) -> None:
    old, new = record("a.md", version="a" * 64), record("a.md", version="b" * 64)
    parsed = DocumentBuilder()
    parsed.prose("Text.")
    ledger.hide("papers", {new.index_version: new.id})
    ledger.publish([Publication(new, parsed.build(parser="test", mime_type="text/plain"), old.index_version)])
    assert ledger.hidden("papers") == {old.index_version: old.id}
    ledger.unhide("papers", [old.index_version])
    assert ledger.hidden("papers") == {}


def test_a_removed_document_is_hidden_and_keeps_its_reason(ledger: Ledger) -> None:
    removed = record("a.md")
    ledger.record(removed)
    ledger.remove("papers", [removed], "gone from disk")
    kept = ledger.find("papers", "a.md")
    assert (kept.state, kept.reason, kept.chunks) == (DocumentState.REMOVED, "gone from disk", 0)
    assert ledger.hidden("papers") == {removed.index_version: removed.id}


def test_documents_are_listed_in_pages(ledger: Ledger) -> None:
    """Names may be the same, so the id decides."""
    same = [record(f"{folder}/a.md").model_copy(update={"name": "a.md"}) for folder in "xyz"]
    others = [record("b.md", state=DocumentState.FAILED), record("c.md"), record("a.md", "recipes")]
    ledger.record(*same, *others)
    everything = ledger.list("papers")
    listed: list[DocumentRecord] = []
    while page := ledger.list("papers", limit=2, after=listed[-1].id if listed else ""):
        assert len(page) <= 2
        listed += page
    assert listed == everything
    assert [each.name for each in everything] == ["a.md", "a.md", "a.md", "b.md", "c.md"]
    [failed] = ledger.list("papers", DocumentState.FAILED, limit=1)
    assert failed.name == "b.md"


def test_the_catalogue_describes_searchable_documents_as_their_records_do(ledger: Ledger) -> None:
    fact = Fact(value="2024-06", printed="June 2024", quote="June 2024", source=FactSource.RULE)
    written = fact.model_copy(update={"value": "2024-07-15"})
    documents = [
        record("b.PDF", facts={PERIOD: fact}, metadata={"language": "de"}, modified=1.7e9),
        record(
            "a", mime_type="text/plain", modified=1.7e9, title="A", pages=2, metadata={"modified_at": "2020-05-20T10Z"}
        ),
        record("c.eml", facts={PERIOD: fact, DATE: written}, modified=1.7e9),
        record("new.md", chunks=0),
    ]
    ledger.record(*documents)
    ledger.tag("papers", [documents[0].id], add=["taxes"])
    records = [each for each in ledger.list("papers") if each.chunks]
    described = list_catalogue(ledger, "papers")
    fields = ("id", "name", "path", "title", "chunks", "pages", "tags", "type", "dated")
    assert [[getattr(each, name) for name in fields] for each in described] == [
        [getattr(each, name) for name in fields] for each in records
    ]
    assert [(each.type, str(each.dated), each.tags, each.language) for each in described] == [
        ("text/plain", "2020-05-20", (), ""), ("pdf", "2024-06-30", ("taxes",), "de"), ("eml", "2024-07-15", (), ""),
    ]  # fmt: skip
    assert [str(each.changed) for each in described] == ["2020-05-20", "2023-11-14", "2023-11-14"], (
        "as the prompts date a document"
    )
    assert (described[1].metadata[PERIOD], described[1].version) == ("2024-06", "a" * 16)


def test_many_documents_are_published_in_one_transaction(ledger: Ledger) -> None:
    olds = [record(f"{number}.md", version="a" * 64) for number in range(3)]
    news = [record(f"{number}.md", version="b" * 64) for number in range(3)]
    ledger.record(*olds)
    ledger.hide("papers", {new.index_version: new.id for new in news})
    before = ledger.changes("papers")
    ledger.publish([Publication(new, superseded=old.index_version) for old, new in zip(olds, news, strict=True)])
    assert ledger.hidden("papers") == {old.index_version: old.id for old in olds}
    assert ledger.changes("papers") > before
    assert {each.version for each in ledger.list("papers")} == {"b" * 64}


def test_later_sources_of_fields_take_precedence(ledger: Ledger) -> None:
    one, other = record("a.md"), record("b.md")
    for each in (one, other):
        ledger.publish([Publication(each, fields={"project": "file", "status": "open", "tags": ["note"]})])
    ledger.describe("papers", FieldSource.REQUEST, {one.id: {"project": "request", "date": "2024"}}, keep=True)
    ledger.describe("papers", FieldSource.COLUMNS, {one.id: {"project": "columns", "room": ("1",)}}, keep=False)
    ledger.tag("papers", [one.id], add=["mine"])
    found = ledger.find("papers", one.id)
    assert found.fields == {"project": "request", "status": "open", "room": ("1",), "date": "2024"}
    assert (found.tags, str(found.dated)) == (("mine", "note"), "2024-12-31")
    ledger.publish([Publication(other, fields={"project": "file", "tags": ["note"], "modified_at": "2024-05-20"})])
    days = ledger.days(["papers"], [one.id, other.id])
    assert (days[one.id]["date"], days[other.id]["modified_at"]) == ("2024", "2024-05-20"), "properties of a PDF"
    listed = {each.id: (each.tags, each.metadata["project"]) for each in list_catalogue(ledger, "papers")}
    assert listed == {one.id: (("mine", "note"), "request"), other.id: (("note",), "file")}

    ledger.publish([Publication(one)])
    assert ledger.find("papers", one.id) == found, "a new index of the stored text keeps what the file says"
    ledger.publish([Publication(one, fields={})])
    ledger.describe("papers", FieldSource.COLUMNS, {one.id: {}}, keep=False)
    ledger.describe("papers", FieldSource.REQUEST, {one.id: {"project": ""}}, keep=True)
    assert ledger.find("papers", one.id).fields == {"date": "2024"}


def test_members_inherit_what_people_gave_their_archive(ledger: Ledger) -> None:
    archive, member = record("a.zip"), record("a.zip/b.md", fields={})
    ledger.publish([Publication(archive, fields={"project": "file"}), Publication(member, fields={"status": "open"})])
    ledger.describe("papers", FieldSource.REQUEST, {archive.id: {"client": "Acme"}}, keep=True)
    ledger.tag("papers", [archive.id], add=["mine"])
    ledger.inherit("papers", {member.id: archive.id})
    found = ledger.find("papers", member.id)
    assert (found.fields, found.tags) == ({"status": "open", "client": "Acme"}, ("mine",))
    ledger.forget("papers")
    ledger.record(member)
    assert ledger.find("papers", member.id).fields == {}


def test_documents_without_passages_are_listed_and_counted_apart(ledger: Ledger) -> None:
    failed = record("c.md", chunks=0, state=DocumentState.FAILED)
    removed = record("d.md", chunks=0, state=DocumentState.REMOVED)
    ledger.record(record("a.md"), record("b.md", state=DocumentState.FAILED), failed, removed)
    assert [row.name for row, _ in ledger.catalogue("papers")] == ["a.md", "b.md"]
    assert [row.name for row, _ in ledger.catalogue("papers", unread=True)] == ["c.md"]
    counted = ledger.counts()["papers"]
    assert counted[DocumentState.INDEXED] == (1, 3, 1)
    assert counted[DocumentState.FAILED] == (2, 3, 1), "a failed new version does not hide the indexed one"
    assert counted[DocumentState.REMOVED] == (1, 0, 0)


def test_a_removed_document_keeps_only_what_people_say_of_it(ledger: Ledger) -> None:
    fact = Fact(value="2024", printed="2024", quote="in 2024", source=FactSource.RULE)
    known = record("a.md", title="Secret", metadata={"authors": "S. Ecret"}, facts={PERIOD: fact}, warnings=("secret",))
    ledger.record(known)
    ledger.tag("papers", [known.id], add=["kept"])
    ledger.describe("papers", FieldSource.FILE, {known.id: {"project": "Secret"}}, keep=True)
    ledger.describe("papers", FieldSource.REQUEST, {known.id: {"owner": "Ada"}}, keep=True)
    ledger.remove("papers", [known], "removed by hand")
    [gone] = ledger.list("papers")
    assert "ecret" not in gone.model_dump_json()
    assert (gone.tags, gone.fields, gone.facts) == (("kept",), {"owner": "Ada"}, {})


@pytest.mark.parametrize("most", [1, 5_000])
def test_the_catalogue_of_a_folder_has_its_documents_with_their_tags(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("ingest.ledger.ledger._REFERENCES", most)
    earlier, later, last = (record(name) for name in ("2023/a.md", "2024/b.md", "2024/c.md"))
    ledger.record(earlier, later, last)
    ledger.tag("papers", [later.id], add=["draft"])
    found = ledger.catalogue("papers", within=lambda path: "/2024/" in path)
    assert [(row.name, own.tags) for row, own in found] == [("2024/b.md", ("draft",)), ("2024/c.md", ())]


@pytest.mark.parametrize("odd", [{"metadata": {"created_at": "9999999999"}}, {"modified": 1e12}])
def test_a_forged_date_does_not_hide_the_catalogue(ledger: Ledger, odd: dict[str, Any]) -> None:
    ledger.record(record("mail.eml", **odd), record("pumps.md"))
    assert [each.name for each in list_catalogue(ledger, "papers")] == ["mail.eml", "pumps.md"]
