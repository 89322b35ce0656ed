"""Several versions of one document: prompts have their dates, and the answer names the other values (case 53)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.replies import Request

Run = Callable[..., Any]
CASE = Path(__file__).parents[2] / "cases" / "53-versions"
QUESTION = "What is the yearly maintenance fee of the Norvik contract?"
FEE = "The yearly maintenance fee is {} EUR, payable in January."


@pytest.fixture
def contracts(tmp_path: Path) -> Path:
    folder = tmp_path / "contracts"
    folder.mkdir()
    for each in CASE.glob("*.docx"):
        shutil.copy(each, folder)
    return folder


@pytest.fixture
def asked(serve: Callable[..., EndpointSettings], use_model: Callable[[EndpointSettings], None]) -> list[Request]:
    """The requests to a model that cites the oldest contract."""
    requests: list[Request] = []
    panel = Panel(FEE.format("12,000"))

    def respond(request: Request) -> Any:
        requests.append(request)
        return panel(request)

    use_model(serve(respond))
    return requests


def test_prompts_have_dates_and_the_answer_names_the_other_values(
    run: Run, asked: list[Request], contracts: Path
) -> None:
    run("ingest", contracts, "-c", "x")
    answer = run("ask", QUESTION, "-c", "x", "--mode", "fast", "--json").json
    [reading] = [each for each in asked if "=== contract" in each.prompt]
    lines = {line for line in reading.prompt.splitlines() if line.startswith("=== ")}
    assert "=== contract_v1.docx (Service contract Norvik), saved 2024-01-10" in lines
    newest = "saved 2024-05-20, a newer version of contract_v1.docx and contract_v2.docx"
    assert f"=== contract_final.docx (Service contract Norvik), {newest}" in lines
    assert all(line.startswith("=== contract_") for line in lines)
    assert {sides[0] for sides in answer["contradictions"]} == {
        f"“{FEE.format('12,000')}” (contract_v1.docx, saved 2024-01-10)"
    }
    assert {sides[1] for sides in answer["contradictions"]} == {
        f"“{FEE.format('14,250')}” (contract_final.docx, {newest})",
        f"“{FEE.format('13,500')}” (contract_v2.docx, saved 2024-03-02, a newer version of contract_v1.docx)",
    }
    exported = run("export", answer["run_id"], "--format", "md").out
    assert "## Other values in what was read" in exported
    assert "saved 2024-05-20" in exported


def test_the_command_line_names_them_in_words(run: Run, asked: list[Request], contracts: Path) -> None:
    run("ingest", contracts, "-c", "x")
    shown = " ".join(run("ask", QUESTION, "-c", "x", "--mode", "fast").out.split())
    assert "Other values in what was read" in shown
    assert "14,250 EUR" in shown
    assert "Contradictions: " not in shown


def test_dates_of_texts_mails_and_price_lists(run: Run, asked: list[Request], tmp_path: Path) -> None:
    """What each document is decides its date: what it states, when it was sent, the year in its name."""
    table = "item,fee\nNorvik contract yearly maintenance fee,{}\nNorvik contract hourly rate,90\n"
    written = {
        "notice.md": "# Notice\n\nDate: 2024-03-12\n\nThe yearly maintenance fee of Norvik was announced.\n",
        "2023 prices.csv": table.format("12000 EUR"),
        "2024 prices.csv": table.format("14250 EUR"),
        "mail.eml": "From: a@example.org\nTo: b@example.org\nSubject: Norvik fee\n"
        "Date: Mon, 20 May 2024 10:00:00 +0000\n\nThe yearly maintenance fee of the Norvik contract is agreed.\n",
    }
    for name, text in written.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    run("ingest", tmp_path, "-c", "y")
    run("ask", QUESTION, "-c", "y", "--mode", "fast", "--json")
    [reading] = [each for each in asked if "=== 2024 prices" in each.prompt]
    lines = "\n".join(line for line in reading.prompt.splitlines() if line.startswith("=== "))
    assert "dated 2024-03-12" in lines
    assert "2024-05-20" in lines
    assert "a newer version of 2023 prices.csv" in lines
