"""`candor documents compare` and `candor search --count`, without a model."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.services.documents.differences import compare_texts
from ingest.document import Block, BlockKind
from ingest.ledger.records import DocumentText
from multi_agent.llm.settings import EndpointSettings
from support.replies import Request

TERM = "## {} Term\n\nIt runs for {} months. Either party may end it with 30 days' notice.\n\n"
ROWS = "| Service | Price |\n|---|---|\n| Visit | {} EUR |\n| Help | 9 EUR |\n\n"
FEES = "## {} Fees\n\nPayment is due within 30 days.\n\n" + ROWS
FORCE = "## {} Force majeure\n\nNo party is liable for force majeure. Force\nmajeure is war, flood and strikes.\n\n"
SECRECY = "## {} {}\n\nEach party keeps what it learns secret. This duty lasts for ever.\n\n"
LAW = "## {} Law\n\nThe courts of Dublin decide.\n\n"
OLD = (
    "# Contract\n\n"
    + TERM.format(1, 24)
    + FEES.format(2, 250)
    + SECRECY.format(3, "Secrecy")
    + FORCE.format(4)
    + LAW.format(5)
)
NEW = (
    "# Contract\n\n" + FORCE.format(1) + TERM.format(2, 36) + FEES.format(3, 275)
    + SECRECY.format(4, "Confidentiality") + "## 5 Data\n\nBorea follows orders.\n"
)  # fmt: skip


@pytest.fixture
def contracts(run: Any, tmp_path: Path) -> None:
    """Two versions of a contract, and two files of the same name."""
    for name, text in (
        ("old.md", OLD),
        ("new.md", NEW),
        ("a/same.md", "One"),
        ("b/same.md", "Two acts of war."),
        ("cut.json", '{"a": [1'),
    ):
        (tmp_path / "contracts" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "contracts" / name).write_text(text)
    assert run("ingest", tmp_path / "contracts").code == 0


@pytest.mark.usefixtures("contracts")
def test_two_versions_are_compared_by_section(run: Any) -> None:
    found = run("documents", "compare", "old.md", "new.md", "--json").json
    by_heading = {each["heading"].rpartition(" › ")[2]: each for each in found["sections"]}
    assert {heading: (each["kind"], each["moved"]) for heading, each in by_heading.items()} == {
        "1 Force majeure": ("moved", True),
        "2 Term": ("changed", False),
        "3 Fees": ("changed", False),
        "4 Confidentiality": ("changed", False),
        "5 Data": ("added", False),
        "5 Law": ("removed", False),
    }
    [term], [fees] = by_heading["2 Term"]["changes"], by_heading["3 Fees"]["changes"]
    assert (term["old"], term["new"]) == ("It runs for 24 months.", "It runs for 36 months.")
    assert (fees["old"], fees["numbers"]) == ("| Visit | 250 EUR |", [["250", "275"]]), "only the row with the cell"
    assert by_heading["4 Confidentiality"]["old_heading"] == "Contract › 3 Secrecy"

    shown = run("documents", "compare", "old.md", "new.md").out
    assert "numbers: 24 → 36" in shown
    assert "+ Borea follows orders." in shown
    assert "1 added, 3 changed, 1 moved, 1 removed, 0 unchanged" in shown
    assert "none differs" in run("documents", "compare", "old.md", "old.md").out
    assert "matches 2 documents" in run("documents", "compare", "old.md", "same.md").err
    assert "no document 'none.md'" in run("documents", "compare", "old.md", "none.md").err
    assert "warning: cut.json: " in run("documents", "compare", "cut.json", "old.md").out


@pytest.mark.usefixtures("contracts")
def test_a_model_says_what_the_changes_mean(
    run: Any, serve: Callable[..., EndpointSettings], use_model: Callable[..., None]
) -> None:
    prompts = []

    def explain(request: Request) -> str:
        prompts.append(request.prompt)
        numbers = {words: int(number) for number, words in re.findall(r"\[(\d+)\] \(.*?\) (.*)", request.prompt)}
        term, fee = (next(each for words, each in numbers.items() if name in words) for name in ("runs for", "Visit"))
        points = [
            {"changes": [term], "text": "The term is a year longer: 36 instead of 24 months."},
            {"changes": [fee], "text": "A visit now costs 300 EUR."},
            {"changes": [99], "text": "The courts of Berlin decide."},
        ]
        return json.dumps({"points": points})

    use_model(serve(explain))
    shown = run("documents", "compare", "old.md", "new.md", "--meaning").out
    [prompt] = prompts
    assert "It runs for 36 months." in prompt
    assert "Payment is due" not in prompt, "only what differs"
    after = " ".join(shown.partition("unchanged.")[2].split())
    assert "36 instead of 24 months. Contract › 2 Term. " in after
    assert "- It runs for 24 months. + It runs for 36 months." in after
    assert "Not kept, because the changes do not state it A visit now costs 300 EUR. (Not in its evidence: 300" in after
    assert "Berlin decide. (It names no change.)" in after
    found = run("documents", "compare", "old.md", "new.md", "--meaning", "--json").json
    assert [each["heading"] for each in found["meanings"]] == ["Contract › 2 Term"]
    assert "names no change" in run("documents", "compare", "old.md", "old.md", "--meaning").out
    assert len(prompts) == 2, "without changes, no model is asked"


@pytest.mark.usefixtures("contracts")
def test_a_comparison_is_shown_if_the_model_fails(
    run: Any, serve: Callable[..., EndpointSettings], use_model: Callable[..., None]
) -> None:
    use_model(serve(lambda _: "no JSON"))
    failed = run("documents", "compare", "old.md", "new.md", "--meaning")
    assert (failed.code, "+ It runs for 36 months." in failed.out) == (1, True)
    assert "Error" in failed.err


@pytest.mark.usefixtures("contracts")
def test_a_document_is_compared_with_the_version_before_it(run: Any, tmp_path: Path) -> None:
    for number, fee in ((1, 250), (2, 275)):
        text = OLD.replace("# Contract", "# Lease").replace("250", str(fee))
        (tmp_path / "contracts" / f"lease_v{number}.md").write_text(text)
    run("ingest", tmp_path / "contracts")
    shown = run("documents", "compare", "lease_v2.md").out
    assert "numbers: 250 → 275" in shown
    assert "lease_v1.md → lease_v2.md" in shown
    assert "No version before 'lease_v1.md' was found" in run("documents", "compare", "lease_v1.md").err
    found = run("search", "force majeure", "--document", "lease*", "--latest")
    assert ("lease_v2.md" in found.out, "lease_v1.md" in found.out) == (True, False)
    assert "Older versions left out: lease_v1.md (newest: lease_v2.md)" in found.err
    counted = run("search", "--count", "force majeure", "--document", "lease*", "--latest").out
    assert "in 1 of 1 document. Older versions left out: lease_v1.md" in " ".join(counted.split())
    refused = run("table", "create", "fees", "--column", "fee:text:What is the fee?", "--latest")
    assert refused.code == 2


@pytest.mark.usefixtures("contracts")
def test_words_are_counted_by_document(run: Any) -> None:
    found = run("search", "--count", '"force majeure" "acts of war"', "--json").json
    assert (found["total"], found["searched"]) == (7, 5)
    assert [(row["document"], *row["counts"].values()) for row in found["documents"]] == [
        ("new.md", 3, 0), ("old.md", 3, 0), ("b/same.md", 0, 1),
    ]  # fmt: skip
    assert "3 mentions in 1 of 1 document" in run("search", "--count", "force majeure", "--document", "old.md").out
    assert "0 mentions in 0 of 5 documents" in run("search", "--count", "act of God").out
    assert "put each of them in quotes" in run("search", "--count", '"force majeure" war').err
    assert "has no word to count" in run("search", "--count", '""').err


def test_long_documents_are_compared_in_seconds() -> None:
    def text(years: int) -> DocumentText:
        lines = [
            f"Clause {number} of part {number % 7} runs for {number % 90 + years} years." for number in range(8_000)
        ]
        starts = range(0, len(lines), 20)
        parts = ["\n".join(lines[start : start + 20]) for start in starts]
        blocks, at = [], 0
        for part in parts:
            blocks.append(Block(kind=BlockKind.LIST, start=at, end=at + len(part)))
            at += len(part) + 1
        return DocumentText(text="\n".join(parts), blocks=tuple(blocks), pages=())

    began = time.perf_counter()
    [section] = compare_texts(text(1), text(2), "a", "b").sections
    assert {each.kind for each in section.changes} == {"changed"}
    assert time.perf_counter() - began < 20
