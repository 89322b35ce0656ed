"""After a purge, no file of the data folder has a word of a removed document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.services.documents.search import timed_search
from api.services.move import collections as copying
from ingest.ledger.records import DocumentState

SECRET = "zanzifluxon"
REMOVED = f"""---
project: front-{SECRET}
---
# Report of title-{SECRET}

The title-{SECRET} costs 17 million.

""" + "\n".join(f"- item {number} of the {SECRET}" for number in range(300))


@pytest.fixture
def candor(make_candor: Callable[..., Candor], tmp_path: Path) -> Candor:
    """A collection of two documents, one of which was removed."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "report.md").write_text(REMOVED)
    (folder / "bread.md").write_text("# Bread\n\nKnead the dough for ten minutes.\n")
    candor = make_candor()
    run_ingest(candor, [folder], "papers", progress=False)
    assert list(files_with(candor)), "it is found as long as the document is there"
    candor.documents.tag("bread.md", "papers", add=["food"])
    candor.documents.remove(candor.documents.find("report.md", "papers"))
    return candor


def files_with(candor: Candor) -> Iterator[str]:
    """Yield the files of the data folder that have the word."""
    for path in candor.settings.home.rglob("*"):
        if path.is_file() and SECRET.encode() in path.read_bytes().lower():
            yield path.name


def test_a_removed_document_leaves_no_words(candor: Candor) -> None:
    before = candor.documents.list("papers", "indexed")
    with candor.collections.open("papers") as opened:
        vectors = opened.vectors([chunk.id for chunk in opened.scan()])
    assert list(files_with(candor)), "the files of the store keep them until then"
    assert candor.collections.purge("papers") == 1
    assert list(files_with(candor)) == []
    [found] = timed_search(candor.collections, "papers", "dough", 3).hits
    assert found.chunk.name == "bread.md"
    assert candor.documents.list("papers", "indexed") == before
    with candor.collections.open("papers") as opened:
        for identity, vector in opened.vectors(list(vectors)).items():
            np.testing.assert_allclose(vector, vectors[identity], atol=1e-4)
    [gone] = candor.documents.list("papers", "removed")
    assert (gone.name, gone.state) == ("report.md", DocumentState.REMOVED)


def test_a_replaced_version_leaves_no_words(candor: Candor, tmp_path: Path) -> None:
    changed = tmp_path / "documents" / "bread.md"
    for text in (f"# Bread\n\nThe {SECRET} is baked.\n", "# Bread\n\nKnead the dough.\n"):
        changed.write_text(text)
        run_ingest(candor, [changed], "papers", progress=False)
    candor.collections.purge("papers")
    assert list(files_with(candor)) == []


def test_an_interrupted_purge_changes_nothing_and_is_begun_anew(
    candor: Candor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(copying, "require_equal", interrupt)
        with pytest.raises(KeyboardInterrupt):
            candor.collections.purge("papers")
    assert timed_search(candor.collections, "papers", "dough", 3).hits
    (tmp_path / "documents" / "tea.md").write_text("# Tea\n\nPour boiling water over the leaves.\n")
    run_ingest(candor, [tmp_path / "documents" / "tea.md"], "papers", progress=False)
    assert candor.collections.purge("papers") == 2
    assert timed_search(candor.collections, "papers", "boiling water", 3).hits[0].chunk.name == "tea.md"
    assert list(files_with(candor)) == []
