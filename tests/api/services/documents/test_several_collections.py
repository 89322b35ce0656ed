"""Searches and questions over several collections at once, on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from api.auth.permissions import Caller, Right
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.services.documents.search import timed_search
from multi_agent.llm.settings import EndpointSettings
from support.models import write_model
from support.panel import Panel
from vectorstore.embedding.embedder import make_embedder
from vectorstore.errors import CollectionNotFound
from vectorstore.settings import EmbeddingSettings, VectorStoreSettings

INVOICE = "The invoice INV48213 for the Borea 12 is due on Friday."


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    folder = tmp_path / "mail"
    folder.mkdir()
    (folder / "invoice.txt").write_text(INVOICE)
    return folder


@pytest.fixture
def both(run: Callable, folder: Path, mail: Path) -> None:
    run("ingest", folder, "-c", "papers")
    run("ingest", mail, "-c", "mail")


@pytest.mark.usefixtures("both")
def test_a_search_finds_passages_of_all_named_collections(run: Callable) -> None:
    found = run("search", "Borea 12", "-c", "papers", "-c", "mail", "--json").json
    assert {hit["name"] for hit in found[:2]} == {"papers/pumps.md", "mail/invoice.txt"}
    assert run("search", "Borea 12", "-c", "*", "--json").json == found
    assert run("search", "Borea 12", "-c", "papers+mail", "--json").json == found
    assert {hit["name"] for hit in run("search", "Borea 12", "-c", "papers", "--json").json} == {
        "pumps.md",
        "soup.txt",
    }
    only = run("search", "Borea 12", "-c", "*", "--document", "mail/invoice.txt", "--json").json
    assert [hit["name"] for hit in only] == ["mail/invoice.txt"]


@pytest.mark.usefixtures("both")
def test_a_collection_that_does_not_exist_is_named(run: Callable) -> None:
    refused = run("search", "Borea", "-c", "papers", "-c", "mial")
    assert (refused.code, "no collection 'mial'" in refused.err) == (1, True)
    refused = run("documents", "-c", "*")
    assert (refused.code, "takes one collection, not mail and papers" in refused.err) == (2, True)


@pytest.mark.usefixtures("both")
def test_an_answer_cites_the_documents_with_their_collections(
    run: Callable, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(Panel(INVOICE, "The Borea 12 works down to -25 °C.")))
    asked = ("ask", "What is known of the Borea 12?", "--mode", "fast", "--json")
    answer = run(*asked, "-c", "papers", "-c", "mail").json
    assert answer["status"] == "answered"
    assert {quote["document"] for quote in answer["evidence"]} == {"mail/invoice.txt", "papers/pumps.md"}
    [row] = run("runs", "--json").json
    assert row["collection"] == "mail+papers"
    for quote in answer["evidence"]:
        shown = run("show", answer["run_id"], str(quote["number"]), "--json").json
        assert shown["text"][shown["start"] : shown["end"]] == quote["quote"]
    shown = run("show", "papers/pumps.md", "-c", "papers+mail", "--json").json
    assert (shown["collection"], shown["name"]) == ("papers", "pumps.md")
    assert [each["run_id"] for each in run("runs", "-c", "mail", "--json").json] == [answer["run_id"]]
    replayed = run("replay", answer["run_id"], "--json").json
    assert replayed["same"]


def test_a_key_needs_its_right_over_each_collection(make_candor: Callable[..., Candor], folder: Path) -> None:
    candor = make_candor()
    for name in ("papers", "mail", "secret"):
        run_ingest(candor, [folder], name, progress=False)
    reader = Caller(name="reader", rights={"papers": Right.READ, "mail": Right.WRITE})
    resolve = candor.collections.resolve_for
    assert resolve(reader, Right.READ, "papers+mail+papers") == "mail+papers"
    assert resolve(reader, Right.READ, "*") == "mail+papers"
    with pytest.raises(CollectionNotFound, match="'secret'"):
        resolve(reader, Right.READ, "papers+secret")
    assert not reader.may(Right.WRITE, "mail+papers")
    assert reader.may(Right.READ, "mail+papers")


def test_collections_of_different_models_are_searched_by_words_and_it_says_so(
    make_candor: Callable[..., Candor], folder: Path, mail: Path, tmp_path: Path
) -> None:
    run_ingest(make_candor(), [folder], "papers", progress=False)
    tiny = make_embedder(EmbeddingSettings(model=str(write_model(tmp_path / "tiny"))))
    candor = make_candor(store=VectorStoreSettings(embedding=EmbeddingSettings(model=tiny.model)))
    candor.embedder = tiny
    run_ingest(candor, [mail], "mail", progress=False)
    found = timed_search(candor.collections, "papers+mail", "Borea", 5)
    assert {hit.chunk.name for hit in found.hits} == {"papers/pumps.md", "mail/invoice.txt"}
    assert "mail and papers were embedded with different models, so they were searched by words alone" in found.note
