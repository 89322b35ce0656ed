"""``candor ask "…" FOLDER``: one command from a folder to an answer."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from api.cli.ask.folder import collection_name
from api.errors import UsageError
from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel

QUESTION = "Down to which temperature does the Borea 12 work?"


@pytest.fixture
def model(serve: Callable[..., EndpointSettings], use_model: Callable) -> None:
    use_model(serve(Panel("-25 °C")))


def documents(run: Callable, collection: str) -> dict[str, str]:
    return {each["name"]: each["state"] for each in run("documents", "-c", collection, "--json").json}


@pytest.mark.usefixtures("model")
def test_a_folder_is_read_and_asked_in_one_command(run: Callable, folder: Path) -> None:
    first = run("ask", QUESTION, folder)
    assert first.code == 0
    assert first.out.startswith("Answered")
    assert "“The Borea 12 works down to -25 °C.”" in first.out
    assert "papers: 2 indexed, 0 unchanged" in first.err
    (folder / "new.md").write_text("# New\n\nThe Borea 14 is new.\n")
    (folder / "soup.txt").unlink()
    again = run("ask", QUESTION, f"{folder}/")
    assert "papers: 1 indexed, 1 unchanged, 0 failed, 0 left out, 1 removed" in again.err
    assert documents(run, "papers") == {"new.md": "indexed", "pumps.md": "indexed", "soup.txt": "removed"}


@pytest.mark.usefixtures("model")
def test_ingest_chooses_the_collection_that_ask_chooses(run: Callable, folder: Path, tmp_path: Path) -> None:
    assert run("ingest", folder, "--json").json["collection"] == "papers"
    assert "papers: 0 indexed, 2 unchanged" in run("ask", QUESTION, folder).err
    assert run("ingest", "--retry-failed").code == 1, "of the only collection nothing failed"
    folder.rename(tmp_path / "letters")
    run("ingest", tmp_path / "letters", "-c", "mail")
    assert "mail: 0 indexed, 2 unchanged" in run("ask", QUESTION, tmp_path / "letters").err, "it contains the folder"


def test_a_moved_folder_keeps_its_collection_and_ids(run: Callable, folder: Path, tmp_path: Path) -> None:
    run("ingest", folder)
    before = {each["name"]: each["id"] for each in run("documents", "--json").json}
    assert before
    moved = folder.rename(tmp_path / "elsewhere")
    run("ingest", moved)
    assert len(run("collections", "--json").json) == 1
    found = run("documents", "--json").json
    assert {each["name"]: each["id"] for each in found} == before
    assert all(each["path"].startswith(str(moved)) for each in found)
    copy = Path(shutil.copytree(moved, tmp_path / "copy"))
    run("ingest", copy)
    listed = run("collections", "--json").json
    assert {each["name"]: each["documents"] for each in listed} == {"papers": 2, "copy": 2}
    assert re.search(r"papers +2 +0 +2 ", run("collections").out)
    for folder in (moved, copy):
        shutil.rmtree(folder)
    other = tmp_path / "other"
    other.mkdir()
    for name in before:
        (other / name).write_text("Another text with the name of a file that is gone.")
    run("ingest", other)
    assert {each["name"]: each["documents"] for each in run("collections", "--json").json}["other"] == 2


@pytest.mark.usefixtures("model")
def test_json_is_one_value_and_nothing_else(run: Callable, folder: Path) -> None:
    asked = run("ask", QUESTION, folder, "--json")
    assert (asked.code, asked.json["status"], asked.err) == (0, "answered", "")
    assert asked.json["evidence"][0]["document"] == "pumps.md"


@pytest.mark.usefixtures("model")
def test_a_collection_with_other_documents_is_refused_and_unchanged(
    run: Callable, folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "archive" / "papers"
    other.mkdir(parents=True)
    (other / "letter.txt").write_text("Dear all, the pump is loud.\n")
    run("ingest", other, "-c", "papers")
    refused = run("ask", QUESTION, folder)
    assert refused.code == 2
    assert (
        f"The collection 'papers' also contains documents from other folders, such as '{other}/letter.txt'"
        in refused.err
    )
    assert documents(run, "papers") == {"letter.txt": "indexed"}
    named = run("ask", QUESTION, folder, "-c", "papers", "--json")
    assert named.json["status"] == "answered"
    assert set(documents(run, "papers")) == {"letter.txt", "pumps.md", "soup.txt"}


@pytest.mark.usefixtures("model")
def test_several_paths_share_the_collection_of_the_first(run: Callable, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "Price list.txt").write_text("The Borea 12 costs 9,000 euros.\n")
    assert run("ask", QUESTION, tmp_path / "Price list.txt", folder, "--json").json["status"] == "answered"
    assert set(documents(run, "Price-list")) == {"Price list.txt", "pumps.md", "soup.txt"}


def test_a_model_that_is_down_is_reported_before_anything_is_read(
    run: Callable, folder: Path, use_model: Callable
) -> None:
    use_model(EndpointSettings(base_url="http://127.0.0.1:9", retries=0))
    refused = run("ask", QUESTION, folder)
    assert refused.code == 1
    assert "http://127.0.0.1:9" in refused.err
    assert f"Nothing was read. Without a model, `candor ingest {folder}` and then `candor search` work." in refused.err
    assert run("documents", "-c", "papers").code == 1


def test_a_question_without_quotation_marks_is_explained(run: Callable) -> None:
    refused = run("ask", "Which", "pump", "is", "loud?")
    assert refused.code == 2
    assert "no file or folder 'pump'. Write the question in quotation marks" in refused.err


@pytest.mark.parametrize(
    ("name", "collection"),
    [("papers", "papers"), ("My papers (2024)", "My-papers-2024"), (".notes", "notes"), ("x" * 80, "x" * 63)],
)
def test_the_collection_is_named_after_the_folder(tmp_path: Path, name: str, collection: str) -> None:
    (tmp_path / name).mkdir()
    assert collection_name(tmp_path / name) == collection


def test_a_folder_without_latin_letters_needs_a_name(tmp_path: Path) -> None:
    (tmp_path / "文書").mkdir()
    with pytest.raises(UsageError, match="--collection"):
        collection_name(tmp_path / "文書")
