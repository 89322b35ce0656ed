"""Filters and tags on the command line: what a search and a run may read, and tags that another ingest keeps."""

from __future__ import annotations

import os
import shutil
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from api.services.research import library
from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.replies import Reply, Request
from support.service import QUESTION

OLD = 1_000_000_000  # 2001-09-09
SAMPLES = Path(__file__).parents[3] / "sample_docs" / "documents"


class Recorder(Panel):
    """A panel that keeps its prompts."""

    def __init__(self, *quotes: str) -> None:
        super().__init__(*quotes)
        self.prompts: list[str] = []

    def __call__(self, request: Request) -> Reply | str:
        self.prompts += [str(message["content"]) for message in request.messages]
        return super().__call__(request)


@pytest.fixture
def panel(run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable) -> Recorder:
    """A model, and the two documents in `papers`: pumps.md has the tag `machines`, soup.txt is old."""
    recorder = Recorder("-25 °C")
    use_model(serve(recorder))
    os.utime(folder / "soup.txt", (OLD, OLD))
    run("ingest", folder)
    run("documents", "tag", "pumps.md", "--add", "Machines")
    return recorder


def names(hits: list[dict]) -> set[str]:
    return {hit["name"] for hit in hits}


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ((), {"pumps.md", "soup.txt"}),
        (("--document", "soup*"), {"soup.txt"}),
        (("--document", "soup*", "--document", "pumps.md"), {"pumps.md", "soup.txt"}),
        (("--type", "md"), {"pumps.md"}),
        (("--since", "2002"), {"pumps.md"}),
        (("--tag", "machines"), {"pumps.md"}),
        (("--folder", "papers"), {"pumps.md", "soup.txt"}),
    ],
)
def test_a_search_reads_only_what_the_filter_leaves(
    panel: Recorder, run: Callable, options: tuple[str, ...], found: set[str]
) -> None:
    assert names(run("search", "What boils?", "--json", *options).json) == found


def test_a_word_with_a_minus_needs_no_quotes(panel: Recorder, run: Callable) -> None:
    assert names(run("search", "What", "boils?", "-lentils", "--json", "-n5").json) == {"pumps.md"}
    assert names(run("search", "-n5", "--json", "--", "boils", "-contract").json) == {"pumps.md", "soup.txt"}
    assert "'-draft'" in run("search", "boils", "--where", "-draft").err  # the value of an option


def test_the_date_in_a_document_counts_and_not_that_of_its_file(run: Callable, tmp_path: Path) -> None:
    """All files are of today."""
    mail = "From: a@example.com\nSubject: Pump\nDate: Fri, 01 Mar 2024 10:00:00 +0000\n\nThe pump is loud.\n"
    (tmp_path / "mail.eml").write_text(mail)
    (tmp_path / "note.md").write_text("---\ndate: 2024-05-02\n---\nThe pump is loud.\n")
    (tmp_path / "report.md").write_text("# Report on the pump\n\nDate: 3 June 2025\n\nThe pump is loud.\n")
    shutil.copy(
        SAMPLES / "quarterly_report_q3_2024.pdf", tmp_path
    )  # published on 7 November 2024, as its properties say
    run("ingest", tmp_path, "--collection", "dated")
    found = run("search", "loud pump", "-c", "dated", "--since", "2025-01-01", "--json").json
    assert names(found) == {"report.md"}
    assert names(run("search", "loud pump", "-c", "dated", "--since", "2024-04-01", "--json").json) == {
        "note.md",
        "report.md",
        "quarterly_report_q3_2024.pdf",
    }


def test_a_folder_can_be_written_from_here(
    panel: Recorder, run: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert len(run("search", "pumps", "--folder", ".", "--json").json) == 2
    refused = run("search", "pumps", "--folder", "..//soup")
    assert (refused.code, f"folder {folder.parent / 'soup'}" in " ".join(refused.err.split())) == (1, True), refused.err


def test_a_run_reads_only_what_the_filter_leaves(panel: Recorder, run: Callable) -> None:
    answered = run("ask", QUESTION, "--mode", "high", "--tag", "machines", "--type", "md", "-v")
    assert answered.code == 0, answered.err
    assert "Searched: 1 of 2 documents (type md, tag machines)" in answered.out
    assert any("pumps.md" in prompt for prompt in panel.prompts)
    assert not any("soup" in prompt or "lentils" in prompt for prompt in panel.prompts)
    [latest] = run("runs", "--json").json
    assert "reads only documents with type md, tag machines" in run("trace", latest["run_id"]).out


def test_a_run_reads_only_the_newest_version(panel: Recorder, run: Callable, folder: Path) -> None:
    text = (folder / "pumps.md").read_text() + "".join(f"\nPart {number} is made of steel.\n" for number in range(9))
    (folder / "pumps.md").write_text(text)
    (folder / "pumps_old.md").write_text(text.replace("-25", "-20"))
    os.utime(folder / "pumps_old.md", (OLD, OLD))
    run("ingest", folder)
    left_out = "Older versions left out: pumps_old.md (newest: pumps.md)"
    assert left_out in run("ask", QUESTION, "--mode", "fast", "--latest").out
    assert any("pumps.md" in prompt for prompt in panel.prompts)
    assert not any("pumps_old" in prompt for prompt in panel.prompts)
    panel.prompts.clear()
    assert left_out not in run("ask", QUESTION, "--mode", "fast").out
    assert any("pumps_old.md" in prompt for prompt in panel.prompts)


def test_an_answer_that_the_filter_left_out_names_the_filter(panel: Recorder, run: Callable) -> None:
    lacking = run("ask", QUESTION, "--mode", "fast", "--document", "soup.txt", "--json").json
    assert lacking["status"] == "insufficient"
    assert (lacking["searched"]["documents"], lacking["searched"]["total"]) == (1, 2)
    assert not any("Borea 12 works" in prompt for prompt in panel.prompts)


@pytest.mark.parametrize("command", [("search", "pumps"), ("ask", QUESTION)])
def test_a_filter_that_leaves_nothing_ends_the_command_before_any_model_call(
    panel: Recorder, run: Callable, command: tuple[str, ...]
) -> None:
    refused = run(*command, "--type", "md", "--tag", "tax")
    assert refused.code == 1
    assert (
        "No document of 'papers' meets the condition 'tag tax'. Values in the collection: machines."
        in " ".join(refused.err.split())
    )  # fmt: skip
    assert panel.prompts == []
    assert run("runs", "--json").json == []


def test_a_chat_keeps_its_filter(panel: Recorder, run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter([QUESTION])

    def next_line(_: str) -> str:
        if (line := next(lines, None)) is None:
            raise EOFError
        return line

    monkeypatch.setattr("builtins.input", next_line)
    assert '"total": 2' in run("chat", "--tag", "machines", "--json").out


def test_tags_are_given_at_ingest_and_kept(panel: Recorder, run: Callable, folder: Path) -> None:
    (folder / "new.md").write_text("The Alto 7 is quiet.")
    (folder / "pumps.md").write_text("# Pumps\n\nThe Borea 13 works down to -35 °C.\n")
    assert run("ingest", folder, "--tag", "  2024 ", "--tag", "Quiet Ones").code == 0
    tags = {each["name"]: each["tags"] for each in run("documents", "--json").json}
    assert tags == {
        "new.md": ["2024", "quiet ones"],
        "pumps.md": ["2024", "machines", "quiet ones"],
        "soup.txt": ["2024", "quiet ones"],
    }
    (folder / "new.md").rename(folder / "moved.md")
    assert "removed: new.md (now moved.md)" in run("ingest", folder).err
    listed = run("documents").out
    assert "moved.md" in listed
    assert next(line for line in listed.splitlines() if "moved.md" in line).rstrip().endswith("2024, quiet ones")
    changed = run("documents", "tag", "pumps.md", "--remove", "2024", "--add", "loud", "--json").json
    assert changed["tags"] == ["loud", "machines", "quiet ones"]
    assert "tags  loud, machines, quiet ones" in run("show", "pumps.md").out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--remove", "tax"), "'pumps.md' does not have the tag 'tax'. Its tags are: machines. Nothing was changed."),
        (("--add", "a, b"), "'a, b' cannot be a tag: use 1 to 64 characters and no comma."),
        (("--add", "x", "--remove", "machines", "--add", "machines"), "is both added and removed"),
        ((), "There is nothing to change. Name tags to add or to remove."),
    ],
)
def test_a_wrong_change_of_tags_changes_nothing(
    panel: Recorder, run: Callable, options: tuple[str, ...], says: str
) -> None:
    refused = run("documents", "tag", "pumps.md", *options)
    assert (refused.code > 0, says in " ".join(refused.err.split())) == (True, True), refused.err
    assert run("show", "pumps.md", "--json").json["tags"] == ["machines"]


def test_members_of_an_archive_have_its_tags(panel: Recorder, run: Callable, folder: Path, tmp_path: Path) -> None:
    import zipfile

    archive = tmp_path / "more.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("inner.md", "The Piano 3 is the smallest pump.")
    run("ingest", archive, "-c", "papers", "--tag", "packed")
    found = run("search", "smallest pump", "--tag", "packed", "--json").json
    assert [hit["text"] for hit in found] == ["The Piano 3 is the smallest pump."]
    run("ingest", archive, "-c", "papers", "--tag", "twice")
    assert len(run("search", "smallest pump", "--tag", "twice", "--json").json) == 1


def test_a_new_collection_of_the_same_name_has_no_tags(panel: Recorder, run: Callable, folder: Path) -> None:
    run("drop", "papers", "--yes", "--now")
    run("ingest", folder)
    assert {tuple(each["tags"]) for each in run("documents", "--json").json} == {()}


def test_a_limit_shortens_the_list_of_documents(panel: Recorder, run: Callable) -> None:
    shown = run("documents", "--limit", "1")
    assert ("pumps.md" in shown.out, "soup.txt" in shown.out) == (True, False)
    assert "There are more than 1 document. Use --limit or --state to see others." in shown.err
    assert [each["name"] for each in run("documents", "--limit", "1", "--json").json] == ["pumps.md"]
    everything = run("documents")
    assert ("soup.txt" in everything.out, "more than" in everything.err) == (True, False)


def test_names_are_found_in_both_forms_of_accents(run: Callable, folder: Path) -> None:
    stored, typed = (unicodedata.normalize(form, "Übersicht-März.txt") for form in ("NFD", "NFC"))
    (folder / stored).write_text("Der Umsatz der Anlage stieg im ersten Quartal.")
    run("ingest", folder)
    assert "Umsatz" in run("show", typed, "--text").out
    assert names(run("search", "Umsatz", "--document", typed, "--json").json) == {stored}


def test_metadata_is_set_changed_and_removed_without_reading_files_again(run: Callable, folder: Path) -> None:
    (folder / "note.md").write_text("---\nproject: Lyra\nstatus: open\ntags: [idea]\n---\nThe pump is quiet.\n")
    (folder / "metadata.csv").write_text("file,project,year\nnote.md,Vega,2024\nsoup.txt,Vega,2023\ngone.pdf,Vega,\n")
    planned = run("ingest", folder, "--meta", "room=1", "--meta", "room=2", "--dry-run")
    assert "metadata to set: room=1; 2" in planned.err
    first = run("ingest", folder, "--meta", "room=1", "--meta", "room=2")
    assert "metadata.csv: There is no file for 1 row: gone.pdf." in first.err

    def fields(name: str) -> dict[str, object]:
        return dict(run("show", name, "--json").json["fields"])

    assert fields("note.md") == {"project": "Vega", "status": "open", "year": 2024, "room": ["1", "2"]}
    assert fields("pumps.md") == {"room": ["1", "2"]}
    assert "project=Vega, status=open, year=2024, room=1; 2" in run("show", "note.md").out
    assert names(run("search", "pump", "--where", "Project=vega", "--json").json) == {"note.md", "soup.txt"}
    assert names(run("search", "pump", "--tag", "idea", "--json").json) == {"note.md"}

    (folder / "metadata.csv").write_text("file,year\nnote.md,2025\n")
    again = run("ingest", folder, "--meta", "project=Orion", "--meta", "room=", "--json").json
    assert (again["indexed"], again["unchanged"], again["embedded"], len(again["failed"])) == (0, 3, 0, 0)
    assert fields("note.md") == {"project": "Orion", "status": "open", "year": 2025}
    assert fields("soup.txt") == {"project": "Orion"}
    (folder / "metadata.csv").unlink()
    run("ingest", folder / "note.md", "-c", "papers")
    assert fields("note.md")["year"] == 2025, "an ingest of a file does not read the metadata of its folder"
    run("ingest", folder)
    assert "year" not in fields("note.md")


def test_what_a_note_states_follows_the_note(run: Callable, folder: Path) -> None:
    (folder / "note.md").write_text("---\ndate: 2001-05-06\n---\nThe pump is quiet. #idea\n")
    run("ingest", folder, "--tag", "mine")
    shown = run("show", "note.md", "--json").json
    assert (shown["tags"], shown["fields"]) == (["idea", "mine"], {"date": "2001-05-06"})
    assert "{" not in run("show", "note.md").out
    assert names(run("search", "pump", "--since", "2002", "--json").json) == {"pumps.md", "soup.txt"}
    refused = run("documents", "tag", "note.md", "--remove", "idea")
    assert (refused.code, "states the tag 'idea'" in refused.err) == (2, True)
    run("ingest", folder, "--meta", "date=2003-01-01", "--meta", "tags=later")
    assert "note.md" in names(run("search", "pump", "--since", "2002", "--json").json)
    (folder / "note.md").write_text("The pump is quiet.\n")
    run("ingest", folder)
    shown = run("show", "note.md", "--json").json
    assert (shown["tags"], shown["fields"]) == (["later", "mine"], {"date": "2003-01-01"})


def test_metadata_of_a_wrong_form_is_refused(run: Callable, folder: Path) -> None:
    for written, says, code in (("project", "NAME=VALUE", 2), ("date=soon", "The date 'soon' is none", 1)):
        refused = run("ingest", folder, "--meta", written)
        assert (refused.code, says in refused.err) == (code, True)
    run("ingest", folder)
    refused = run("ask", "What boils?", "--where", "nope=1")
    assert (refused.code, "The fields are:" in refused.err) == (1, True)


def test_members_of_an_archive_follow_its_metadata(run: Callable, folder: Path) -> None:
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("alto.md", "The Alto 7 is quiet.")
    for client in ("Acme", "Bora"):
        (folder / "metadata.csv").write_text(f"file,client\na.zip,{client}\n")
        run("ingest", folder, "--meta", "project=Orion")
        found = run("show", "a.zip/alto.md", "--json").json["fields"]
        assert found == {"client": client, "project": "Orion"}


def test_a_search_of_a_folder_reads_only_its_documents(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("old/soup.txt", "new/soup.txt"):
        file = tmp_path / "notes" / name
        file.parent.mkdir(parents=True)
        file.write_text(f"The {file.parent.name} soup has leeks.")
    run("ingest", tmp_path / "notes")
    read: list[str] = []
    entry = library._entry
    monkeypatch.setattr(library, "_entry", lambda row, *others: read.append(row.name) or entry(row, *others))
    assert names(run("search", "soup", "--folder", "new", "--json").json) == {"new/soup.txt"}
    assert read == ["new/soup.txt"]
    assert "Values in the collection: new, old" in run("search", "soup", "--folder", "none").err
