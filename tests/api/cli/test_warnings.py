"""What was not read of a document is said where the person looks: after the ingest, in the list, with the answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.service import QUESTION

WARNING = "1 invalid byte was replaced by \ufffd. The file is damaged UTF-8."


@pytest.fixture
def damaged(run: Callable, folder: Path) -> str:
    """Ingest `documents`, in which pumps.md has a damaged byte; return what the command prints."""
    with (folder / "pumps.md").open("ab") as file:
        file.write("\n\nHersteller: Müller, Köln, Łódź \u20ac\n".encode() + b"\xff\n")
    ended = run("ingest", folder)
    return " ".join((ended.out + ended.err).split())


def test_the_ingest_ends_with_the_warnings(damaged: str) -> None:
    assert "2 indexed (1 with warnings)" in damaged
    assert f"warning: pumps.md: {WARNING}" in damaged


def test_the_list_can_be_limited_to_documents_with_warnings(damaged: str, run: Callable) -> None:
    shown = " ".join(run("documents", "--warnings").out.split())
    assert WARNING in shown
    assert "soup.txt" not in shown
    assert WARNING not in " ".join(run("documents").out.split())
    assert [each["name"] for each in run("documents", "--warnings", "--json").json] == ["pumps.md"]


def test_the_answer_says_what_was_not_read(
    damaged: str, run: Callable, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(Panel("-25 °C")))
    answer = run("ask", QUESTION, "--json").json
    assert answer["coverage"]["warnings"] == [f"pumps.md: {WARNING}"]
    assert "pumps.md: 1 invalid byte was replaced" in " ".join(run("ask", QUESTION, "-v").out.split())
