"""A moved or renamed folder keeps its documents: ids, tags, and what cites them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ingest.ledger.records import DocumentSummary
from ingest.pipeline.discovery import FoundFile
from ingest.pipeline.moves import left_behind, relocated
from ingest.pipeline.outcomes import found_record
from ingest.pipeline.plan import Plan
from support.workplace import BREAD, PUMPS, Workplace, write_zip


def ids(workplace: Workplace) -> dict[str, str]:
    return {each.name: each.id for each in workplace.ledger.list("papers") if each.state != "removed"}


@pytest.fixture
def papers(workplace: Workplace) -> Path:
    """A folder with two documents, an archive, and a file that fails."""
    workplace.write("papers/pumps.md", PUMPS)
    workplace.write("papers/sub/bread.md", BREAD)
    workplace.write("papers/empty.md", "")
    workplace.write("papers/.hidden", "x")
    write_zip(workplace.documents / "papers/a.zip", inner__soup="# Soup\n\nBoil the lentils.\n")
    folder = workplace.documents / "papers"
    for path in folder.rglob("*"):
        os.utime(path, (1, 1))  # files that have just changed would be read again
    workplace.ingest(folder)
    return folder


def test_no_document_of_a_moved_folder_counts_as_lost(workplace: Workplace, papers: Path) -> None:
    papers.rename(papers.with_name("papers-2"))
    plans: list[Plan] = []
    workplace.ingest(workplace.documents, on_plan=plans.append)
    assert plans[0].notices == ()


@pytest.mark.parametrize("keeps_times", [True, False])
def test_a_renamed_folder_keeps_its_documents(workplace: Workplace, papers: Path, keeps_times: bool) -> None:
    before = ids(workplace)
    workplace.ledger.tag("papers", [before["pumps.md"]], add=["warm"])
    moved = papers.with_name("papers-2")
    if keeps_times:
        papers.rename(moved)
    else:
        shutil.copytree(papers, moved, copy_function=shutil.copyfile)
        shutil.rmtree(papers)
        for path in moved.rglob("*"):
            os.utime(path, (2, 2))
    report = workplace.ingest(moved)
    after = ids(workplace)
    assert {name: after[name] for name in ("pumps.md", "sub/bread.md", "a.zip", "a.zip/inner/soup.md", "empty.md")} == {
        name: before[name] for name in ("pumps.md", "sub/bread.md", "a.zip", "a.zip/inner/soup.md", "empty.md")
    }
    assert (report.embedded, len(report.failed)) == (0, 1)
    assert len(workplace.chunks()) == 3, "none is doubled"
    assert {chunk.document.partition("/papers-2/")[0] for chunk in workplace.chunks()} == {str(workplace.documents)}
    record = workplace.ledger.find("papers", "pumps.md")
    assert (record.tags, record.path) == (("warm",), f"{moved}/pumps.md")
    states = [each.state.value for each in workplace.ledger.list("papers") if Path(each.path).is_relative_to(papers)]
    assert (states, report.removed) == ([], ()), "no old entry stays"
    again = workplace.ingest(moved)
    assert (again.indexed, again.unchanged, again.removed) == (0, 4, ())


def test_a_changed_file_of_a_moved_folder_is_a_new_document(workplace: Workplace, papers: Path) -> None:
    before = ids(workplace)
    moved = papers.rename(papers.with_name("papers-2"))
    (moved / "pumps.md").write_text("# Other\n\nSomething else.\n")
    workplace.ingest(moved, sync=True)
    after = [each for each in workplace.ledger.list("papers") if each.path == f"{moved}/pumps.md"]
    assert before["pumps.md"] not in [each.id for each in after]
    assert ids(workplace)["sub/bread.md"] == before["sub/bread.md"]


def test_a_copied_folder_has_documents_of_its_own(workplace: Workplace, papers: Path) -> None:
    shutil.copytree(papers, papers.with_name("papers-2"))
    workplace.ingest(papers.with_name("papers-2"))
    assert sum(each.state == "indexed" for each in workplace.ledger.list("papers")) == 8


def test_a_new_file_at_the_former_path_is_another_document(workplace: Workplace, papers: Path) -> None:
    moved = papers.rename(papers.with_name("papers-2"))
    workplace.ingest(moved)
    kept = workplace.ledger.find("papers", f"{moved}/pumps.md").id
    new = workplace.write("papers/pumps.md", "# New\n\nA new text about valves.\n")
    workplace.ingest(new)
    assert workplace.ledger.find("papers", str(new)).id != kept
    assert sorted(workplace.searched("valves")) == sorted(workplace.searched("heat"))
    assert workplace.ingest(new).unchanged == 1


def test_equal_files_go_to_the_place_that_is_most_alike(workplace: Workplace) -> None:
    for name in ("papers/a/note.md", "papers/b/note.md"):
        workplace.write(name, PUMPS)
    folder = workplace.documents / "papers"
    workplace.ingest(folder)
    before = ids(workplace)
    moved = folder.rename(folder.with_name("papers-2"))
    workplace.ingest(moved)
    assert ids(workplace) == before


def test_a_folder_that_comes_back_keeps_its_documents_again(workplace: Workplace, papers: Path) -> None:
    before = ids(workplace)
    workplace.ingest(papers.rename(papers.with_name("papers-2")))
    workplace.ingest((workplace.documents / "papers-2").rename(papers))
    assert ids(workplace)["pumps.md"] == before["pumps.md"]
    assert len(workplace.chunks()) == 3


def test_the_known_documents_are_walked_once_however_many_moved() -> None:
    class Walked(dict[str, DocumentSummary]):
        times = 0

        def values(self) -> Any:
            self.times += 1
            return super().values()

    record = found_record("papers", FoundFile(path=Path("/old/0.md"), document="/old/0.md", name="0.md"))
    first = DocumentSummary(*(getattr(record, name) for name in DocumentSummary._fields))
    known = Walked({f"{n}": first._replace(id=f"{n}", path=f"/old/{n}.md", name=f"{n}.md") for n in range(9)})
    moves = Walked({each.path.replace("old", "new"): each for each in known.values()})
    files = [FoundFile(path=Path(path), document=path, name=path[5:]) for path in moves]
    known.times = moves.times = 0
    assert [each.path for each in relocated(moves, files, known)] == list(moves)
    assert list(left_behind(moves, known)) == []
    assert (known.times, moves.times) == (2, 1)
