"""ForEach asks the same of every document or thing, and its rows are records for SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from multi_agent.agents.for_each import ForEach, ForEachOutput
from multi_agent.errors import BudgetReached
from multi_agent.llm.settings import EndpointSettings
from multi_agent.records.sql import RecordDatabase
from multi_agent.records.table import build_table
from multi_agent.settings.research import Budget, ResearchSettings
from support.chunks import make_chunk
from support.kits import Bench, library_of, make_context
from support.panel import sentences_of
from support.replies import Reply, Request
from vectorstore.embedding.embedder import Embedder

REPORTS = {"a.md": "Revenue was 120. Research was 30.", "b.md": "Revenue was 190. Research was 145.", "c.md": "A poem."}
COLUMNS = [
    {"name": "revenue", "question": "What was revenue?", "type": "number"},
    {"name": "research", "question": "What was spent on research?", "type": "number"},
]


def answer(request: Request) -> Reply | str:
    """Respond with the figures of the document or thing in the prompt."""
    name = re.search(r"^The (?:document|thing that the passages tell about): (\w+)", request.prompt, re.MULTILINE)
    shown = [text for text in REPORTS.values() if text.split(".")[0] in request.prompt]
    answers = []
    asked = [word for word in ("Revenue", "Research") if f" {word.lower()} (number" in request.prompt]
    for number, word in enumerate(asked, start=1):
        figures = [found[1] for text in shown if (found := re.search(rf"{word} was (\d+)", text))]
        at = sentences_of(request, 1, f"{word} was {figures[0]}") if figures else []
        reason = "" if figures else f"{name and name[1]} is something else."
        answers.append({"column": number, "sentences": at, "values": figures[:1], "reason": reason})
    return json.dumps({"answers": answers})


@pytest.fixture
def bench(serve: Callable[..., EndpointSettings], embedder: Embedder, tmp_path: Path) -> Any:
    chunks = [make_chunk(text, document=f"/docs/{name}") for name, text in REPORTS.items()]
    with library_of(chunks, embedder, tmp_path) as library:
        yield lambda **more: Bench(ForEach, serve(answer), library=library, **more)


async def test_each_document_becomes_a_record_with_all_its_quotes(bench: Any) -> None:
    asked = bench()
    update = await asked.run(make_context("Which spends most?"), {"columns": COLUMNS})
    assert [record.values for record in update.records] == [
        {"item": "a.md", "revenue": 120, "research": 30},
        {"item": "b.md", "revenue": 190, "research": 145},
    ]
    table = build_table(asked.context)
    quoted = [
        (first.quote, *(item.quote for item in rest)) for first, rest in zip(table.evidence, table.further, strict=True)
    ]
    assert {text for quotes in quoted for text in quotes} == {
        "Revenue was 120.", "Research was 30.", "Revenue was 190.", "Research was 145."
    }  # fmt: skip
    assert [(note.text, note.gap) for note in update.notes] == [("1 of 3 items has no answer: c.md", True)]


async def test_each_item_has_a_line_in_the_trace(bench: Any) -> None:
    asked = bench()
    await asked.run(make_context("Which?"), {"columns": COLUMNS})
    lines = {body.item: body for body in asked.of_type("item_read")}
    assert sorted(body.number for body in lines.values()) == [1, 2, 3]
    assert (lines["a.md"].of, lines["a.md"].found) == (3, {"revenue": "120", "research": "30"})
    assert lines["c.md"].reason.endswith("something else.")


async def test_a_list_of_an_earlier_step_is_searched_item_by_item(bench: Any) -> None:
    asked = bench()
    update = await asked.run(make_context("Which?"), {"items": ["a.md", "The poem; b.md"], "columns": COLUMNS[:1]})
    items = [body.item for body in asked.of_type("item_read")]
    assert sorted(items) == ["The poem", "a.md", "b.md"]
    output = ForEachOutput.of(update)
    assert (output.best, "a.md, 120" in output.all) == ("b.md", True)


async def test_what_was_read_before_a_limit_is_kept_and_says_how_much(bench: Any) -> None:
    limited = bench(settings=ResearchSettings(budget=Budget(model_calls=2)))
    with pytest.raises(BudgetReached):
        await limited.run(make_context("Which?"), {"columns": COLUMNS})
    assert [note.text for note in limited.context.notes if "limit" in note.text] == [
        "only 2 of 3 items read, because a limit was reached"
    ]


async def test_a_first_reading_is_kept_if_a_limit_ends_the_second(
    serve: Callable[..., EndpointSettings], embedder: Embedder, tmp_path: Path
) -> None:
    about = "Revenue and its growth are told in part {} of this report. "
    texts = ["Revenue was 120. It grew.", *(about.format(number) * 4 for number in range(30))]
    chunks = [make_chunk(text, document="/docs/a.md", index=index) for index, text in enumerate(texts)]
    with library_of(chunks, embedder, tmp_path) as library:
        settings = ResearchSettings(tokens_per_call=300, budget=Budget(model_calls=1))
        limited = Bench(ForEach, serve(answer), library=library, settings=settings)
        with pytest.raises(BudgetReached):
            await limited.run(make_context("Which?"), {"columns": COLUMNS})
    assert [record.values for record in limited.context.records] == [{"item": "a.md", "revenue": 120, "research": None}]
    assert len(limited.of_type("item_read")) == 1


async def test_two_lists_are_joined_by_sql(bench: Any) -> None:
    asked, context = bench(), make_context("Which spends the largest share?")
    for step, column in zip(("first", "second"), COLUMNS, strict=True):
        await asked.run(context, {"columns": [column]}, step=step)
        context = asked.context
    table = build_table(context)
    assert [column.name for column in table.columns][3:] == ["list", "item", "research", "revenue"]
    joined = RecordDatabase(table.columns).query(
        "SELECT a.record, b.record AS other, a.item, round(b.research / a.revenue, 2) AS share FROM records a "
        "JOIN records b USING (item) "
        "WHERE a.list = 'first' AND b.list = 'second' AND a.revenue > 100 ORDER BY share DESC",
        rows=9,
        seconds=9,
    )
    assert [row[2:] for row in joined.rows] == [("b.md", 0.76), ("a.md", 0.25)]


def test_columns_have_names_of_their_own() -> None:
    with pytest.raises(ValueError, match="a name of its own"):
        ForEach.card.inputs.model_validate({"columns": [COLUMNS[0], COLUMNS[0]]})
