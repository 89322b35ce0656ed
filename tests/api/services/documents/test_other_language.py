"""A question in another language than the documents: the search, the answer and the doctor say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.replies import Reply, Request

SNOW = "Wer räumt im Winter den Schnee vor dem Haus?"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "snow.txt").write_text("The caretaker clears the snow in front of the house before seven in winter.")
    (folder / "pool.txt").write_text(
        "The swimming pool on the roof is open from six in the morning until ten at night."
    )
    return folder


def test_a_search_names_both_languages_and_the_remedy(run: Callable, notes: Path) -> None:
    run("ingest", notes)
    found = run("search", SNOW, "--json")
    assert len(found.json) == 2
    assert "in German, the documents are in English, the embedding model knows English" in found.err
    assert "multilingual" in found.err
    for query in ("Who clears the snow?", "INV-48213", "snow"):
        assert "documents are in" not in run("search", query).err


def test_an_answer_without_result_and_the_prompt_name_the_languages(
    run: Callable, notes: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    asked: list[str] = []
    panel = Panel("nothing that the notes contain")

    def respond(request: Request) -> Reply | str:
        asked.append(request.prompt)
        return panel(request)

    use_model(serve(respond))
    run("ingest", notes)
    answer = run("ask", SNOW, "--mode", "fast", "--json").json
    assert answer["status"] == "insufficient"
    assert any("in German, the documents are in English" in each for each in answer["missing"])
    assert "They are in English: write queries in that language." in "".join(asked)


def test_the_multilingual_model_finds_the_meaning(run: Callable, notes: Path) -> None:
    (notes / "schwimmen.txt").write_text(
        "Das Schwimmbad auf dem Dach ist von sechs Uhr früh bis zehn Uhr abends offen."
    )
    [advice] = (line for line in run("ingest", notes).err.splitlines() if "does not support German" in line)
    assert "`candor models use embedding multilingual-small`" in advice
    run("models", "use", "embedding", "multilingual-small")
    assert "does not support" not in run("ingest", notes).err
    found = run("search", "雪由谁来清理？", "--mode", "meaning", "--json")
    assert "caretaker" in found.json[0]["text"]


def test_the_doctor_names_languages_that_the_model_does_not_know(run: Callable, tmp_path: Path) -> None:
    folder = tmp_path / "notizen"
    folder.mkdir()
    (folder / "schnee.txt").write_text(
        "Der Hausmeister räumt im Winter den Schnee vor dem Haus, und zwar vor sieben Uhr."
    )
    said = run("ingest", folder).err
    assert "does not support German (1 of 1 passages): a search finds the words" in said
    checks = {check["name"]: check["detail"] for check in run("doctor", "--json").json["checks"]}
    [detail] = (detail for name, detail in checks.items() if name.startswith("languages of"))
    assert "German" in detail
    assert "knows English" in checks["embedding model"]
