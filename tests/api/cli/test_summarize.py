"""`candor summarize`, over a real HTTP endpoint with a scripted model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from multi_agent.llm.settings import EndpointSettings
from support.panel import NOTES, SYNTHESIS, Panel, passages_of, role_of
from support.replies import Reply, Request

CHOICE = "ChosenNotes"


class Model:
    """Notes every sentence, and keeps two notes of a choice. Its answer repeats each quote as a claim."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.read: list[str] = []
        roles = {NOTES: self._notes, CHOICE: lambda _: json.dumps({"numbers": [2, 1, 999]})}
        self._panel = Panel(roles=roles)

    def __call__(self, request: Request) -> Reply | str:
        if request.schema is not None:
            self.calls.append(role_of(request))
        return self._panel(request)

    def _notes(self, request: Request) -> str:
        passages = passages_of(request)
        self.read.append(passages[0][0].split(",")[0])
        numbered = [(number, text) for _, units in passages for number, text in units.items()]
        return json.dumps({"notes": [{"sentences": [number], "text": text} for number, text in numbered]})


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def summarize(run: Any, serve: Callable[..., EndpointSettings], use_model: Any, model: Model, ingested: None) -> Any:
    """Return a function that runs `candor summarize` on the collection ``papers``."""
    use_model(serve(model))
    return lambda *arguments: run("summarize", *arguments, "-c", "papers")


def test_all_documents_are_read_and_another_question_pays_only_for_its_answer(
    summarize: Any, run: Any, model: Model, folder: Path
) -> None:
    first = summarize("--json")
    assert first.code == 0, first.err
    answer = first.json
    assert answer["status"] == "answered"
    assert (sorted(model.read), model.calls.count(NOTES)) == (["pumps.md", "soup.txt"], 2)
    assert answer["coverage"]["scanned"] == answer["coverage"]["documents_total"]
    assert answer["claims"]
    assert all(claim["evidence"] for claim in answer["claims"])
    assert run("replay", answer["run_id"], "--json").json["same"]

    model.calls = []
    second = summarize("--about", "What do they say about heat?", "--json").json
    assert (model.calls, second["usage"]["model_calls"]) == ([SYNTHESIS], 1)
    assert run("replay", second["run_id"], "--json").json["same"]
    assert [each["question"] for each in run("runs", "--json").json] == [second["question"], answer["question"]]

    (folder / "new.md").write_text("# New\n\nThe Vento 3 weighs 12 kg.\n")
    assert run("ingest", folder, "-c", "papers").code == 0
    model.calls, model.read = [], []
    assert summarize("--json").code == 0
    assert (model.calls, model.read) == ([NOTES, SYNTHESIS], ["new.md"])

    (folder / "torn.pdf").write_bytes(b"%PDF-1.7 torn")
    run("ingest", folder, "-c", "papers")
    traced = run("trace", summarize("--json").json["run_id"]).out
    assert "Could not be read: torn.pdf." in " ".join(traced.split())


def test_one_document_is_read_and_long_notes_are_chosen_from(
    summarize: Any, model: Model, folder: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDOR_RESEARCH__TOKENS_PER_CALL", "400")
    lines = [f"Pump {number} of the long list weighs exactly {number + 10} kg in its case." for number in range(120)]
    (folder / "long.md").write_text("# Long\n\n" + " ".join(lines))
    assert run("ingest", folder, "-c", "papers").code == 0
    answer = summarize("long.md", "--json").json
    assert (answer["status"], answer["question"].startswith("What is long.md about")) == ("answered", True)
    assert CHOICE in model.calls
    assert {each["document"] for each in answer["evidence"]} == {"long.md"}
    assert "Summarizer named numbers of no quote, which were left out: " in answer["basis"]
    assert answer["basis"].endswith("999")
    assert 0 < len(answer["claims"]) < 10
    refused = summarize("none.md")
    assert (refused.code, "none.md" in refused.err) == (1, True)


def test_a_summary_over_its_limit_leaves_its_notes_to_the_next(summarize: Any, model: Model) -> None:
    stopped = summarize("--json", "--max-calls", "1").json
    assert (stopped["status"] == "answered", model.calls) == (False, [NOTES])
    model.calls = []
    assert summarize("--json").json["status"] == "answered"
    assert model.calls == [NOTES, SYNTHESIS]
