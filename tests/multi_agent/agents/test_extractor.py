"""The Extractor reads each passage once, merges results immediately and verifies quotes."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multi_agent.agents.extractor import Extractor, ExtractorOutput, response_model
from multi_agent.errors import BudgetReached, LLMRefused
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.research import Budget, ResearchSettings
from multi_agent.values.context import RecordField, RecordList, Strategy
from support.chunks import make_chunk
from support.kits import Bench, make_context
from support.panel import passages_of
from support.replies import Reply, Request, always, delayed, held_until, unauthorised
from support.waiting import wait_for
from vectorstore.models import Chunk, ChunkKind

Serve = Callable[..., EndpointSettings]
TWO_A_CALL = ResearchSettings(passages_per_call=2)
UNITS = RecordField(name="units", type="number", meaning="units sold")
ROWS = Strategy(description="rows", take="each row", leave_out="", examples=())


def row(index: int) -> Chunk:
    """Return the passage of the document at this position."""
    chunk = make_chunk(f"Row {index}: {index}00 units were sold.", index=index)
    return chunk.model_copy(update={"start": 100 * index, "end": 100 * index + len(chunk.text)})


CHUNKS = tuple(row(index) for index in range(5))


def shown(request: Request) -> dict[int, str]:
    """Return the sentences in a prompt by number."""
    return {number: text for _, units in passages_of(request) for number, text in units.items()}


def items(*numbers: int, **fields: Any) -> str:
    return json.dumps({"items": [{"sentences": [number], "shows": "it", **fields} for number in numbers]})


def copy_all(request: Request) -> str:
    """Respond as an Extractor that picks every sentence."""
    return items(*shown(request))


def copy_rows(request: Request) -> str:
    """Respond as an Extractor that picks every sentence and fills a record for each."""
    rows = [
        {"sentences": [number], "shows": "", "record": {"units": float(text.split()[2])}}
        for number, text in shown(request).items()
    ]
    return json.dumps({"items": rows})


def quotes(bench: Bench) -> list[str]:
    return [item.quote for item in bench.context.evidence]


async def test_it_reads_all_passages_a_few_at_a_time(serve: Serve) -> None:
    bench = Bench(Extractor, serve(copy_all), settings=TWO_A_CALL)
    update = await bench.run(make_context(chunks=CHUNKS))
    assert quotes(bench) == [chunk.text for chunk in CHUNKS]
    assert ExtractorOutput.of(update) == ExtractorOutput(quotes=5, documents=("a.md",))
    assert "Read 5 passages in 3 calls: 5 quotes" in bench.reasoning


async def test_the_result_is_in_order_of_the_passages(serve: Serve) -> None:
    others_kept = threading.Event()

    def slower_first(request: Request) -> Reply | str:
        return held_until(others_kept, copy_rows(request)) if "Row 0" in request.prompt else copy_rows(request)

    bench = Bench(Extractor, serve(slower_first), settings=TWO_A_CALL)
    running = asyncio.create_task(bench.run(make_context(chunks=CHUNKS, record_fields=(UNITS,))))
    await wait_for(lambda: len(bench.kept) == 2)
    others_kept.set()
    update = await running
    assert bench.kept[0].evidence[0].quote != CHUNKS[0].text
    assert [item.quote for item in update.evidence] == [chunk.text for chunk in CHUNKS]
    assert [record.values["units"] for record in bench.context.records] == [0, 100, 200, 300, 400]


async def test_results_before_a_failure_are_kept(serve: Serve) -> None:
    others_kept = threading.Event()

    def refuse_the_last(request: Request) -> Reply | str:
        return held_until(others_kept, unauthorised()) if "Row 4" in request.prompt else copy_all(request)

    bench = Bench(Extractor, serve(refuse_the_last), settings=TWO_A_CALL)
    running = asyncio.create_task(bench.run(make_context(chunks=CHUNKS)))
    await wait_for(lambda: len(bench.kept) == 2)
    others_kept.set()
    with pytest.raises(LLMRefused):
        await running
    assert quotes(bench) == [chunk.text for chunk in CHUNKS[:4]]

    again = Bench(Extractor, serve(copy_all), settings=TWO_A_CALL)
    await again.run(bench.context)
    assert again.reasoning.startswith("Read 1 passage in 1 call (4 more were read in the same way before)")
    assert quotes(again) == [chunk.text for chunk in CHUNKS]


async def test_results_before_a_cancellation_are_kept(serve: Serve) -> None:
    def hang_at_the_last(request: Request) -> Reply | str:
        return Reply(hang=True) if "Row 4" in request.prompt else copy_all(request)

    bench = Bench(Extractor, serve(hang_at_the_last), settings=TWO_A_CALL)
    task = asyncio.create_task(bench.run(make_context(chunks=CHUNKS)))
    await wait_for(lambda: len(bench.kept) == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert quotes(bench) == [chunk.text for chunk in CHUNKS[:4]]


async def test_calls_in_progress_at_the_budgets_end_are_kept(
    serve: Serve,
) -> None:
    two_calls = ResearchSettings(passages_per_call=2, budget=Budget(model_calls=2))
    bench = Bench(Extractor, serve(lambda request: delayed(copy_all(request), 0.1)), settings=two_calls)
    with pytest.raises(BudgetReached):
        await bench.run(make_context(chunks=CHUNKS))
    assert quotes(bench) == [chunk.text for chunk in CHUNKS[:4]]


async def test_passages_are_not_read_twice_in_the_same_way(serve: Serve) -> None:
    bench = Bench(Extractor, serve(copy_all))
    await bench.run(make_context(chunks=CHUNKS, strategies=(ROWS,)))
    assert not await bench.activates(bench.context)
    assert await bench.activates(bench.context.model_copy(update={"strategies": ()}))
    assert await bench.activates(bench.context.model_copy(update={"record_fields": (UNITS,)}))
    assert await bench.activates(bench.context.model_copy(update={"chunks": (*CHUNKS, row(5))}))


async def test_passages_without_a_quote_count_as_read(serve: Serve) -> None:
    bench = Bench(Extractor, serve(always(items())))
    await bench.run(make_context(chunks=CHUNKS))
    assert not await bench.activates(bench.context)


async def test_reading_with_other_fields_replaces_the_records(serve: Serve) -> None:
    first = Bench(Extractor, serve(copy_rows))
    await first.run(make_context(chunks=CHUNKS, record_fields=(UNITS,)))
    price = RecordField(name="price", type="number", meaning="of a unit")
    again = Bench(Extractor, serve(always(items(1, record={"price": 7}))))
    await again.run(first.context.model_copy(update={"record_fields": (price,)}))
    assert [record.values for record in again.context.records] == [{"price": 7}]


async def test_reading_again_without_fields_keeps_the_records(serve: Serve) -> None:
    first = Bench(Extractor, serve(copy_rows))
    await first.run(make_context(chunks=CHUNKS, record_fields=(UNITS,)))
    again = Bench(Extractor, serve(copy_all))
    await again.run(first.context.model_copy(update={"record_fields": ()}))
    assert len(again.context.records) == 5


async def test_the_columns_of_a_list_are_no_fields_to_extract(serve: Serve) -> None:
    asked: list[Request] = []

    def respond(request: Request) -> str:
        asked.append(request)
        return copy_all(request)

    listed = {"record_fields": (UNITS,), "lists": (RecordList(step="each", fields=(UNITS,)),)}
    bench = Bench(Extractor, serve(respond))
    await bench.run(make_context(chunks=CHUNKS, **listed))
    assert (len(bench.context.evidence), bench.context.records) == (5, ())
    assert "units sold" not in asked[0].prompt


async def test_prompts_of_a_step_differ_only_in_their_passages(serve: Serve) -> None:
    asked: list[Request] = []

    def remember(request: Request) -> str:
        asked.append(request)
        return copy_all(request)

    bench = Bench(Extractor, serve(remember), settings=TWO_A_CALL)
    await bench.run(make_context(chunks=CHUNKS, strategies=(ROWS,)), instruction="Copy the rows.")
    assert len(asked) == 3
    assert len({request.messages[0]["content"] for request in asked}) == 1
    [head] = {request.messages[1]["content"].partition("=== ")[0] for request in asked}
    assert all(part in head for part in ("Copy the rows.", "each row", "What is it?"))


@pytest.mark.parametrize("reactions", [True, False])
async def test_a_sentence_beyond_its_group_is_to_be_read_again(serve: Serve, reactions: bool) -> None:
    settings = ResearchSettings(passages_per_call=2, reactions=reactions)
    bench = Bench(Extractor, serve(always(items(1, 5))), settings=settings)
    update = await bench.run(make_context(chunks=CHUNKS[:2]))
    [rejected] = bench.of_type("evidence_rejected")
    assert (rejected.quote, rejected.reason) == ("[5]", "There is no sentence 5; 2 were shown.")
    assert (rejected.agent, rejected.about) == ("Extractor", "it")
    assert rejected.chunk_ids == (tuple(chunk.id for chunk in CHUNKS[:2]) if reactions else ())
    assert rejected.final is not reactions
    assert ExtractorOutput.of(update) == ExtractorOutput(quotes=1, documents=("a.md",))


async def test_an_item_that_keeps_a_quote_is_not_read_again(serve: Serve) -> None:
    item = {"sentences": [1, 5], "shows": "it"}
    bench = Bench(Extractor, serve(always(json.dumps({"items": [item]}))))
    await bench.run(make_context(chunks=CHUNKS[:2]))
    assert [each.final for each in bench.of_type("evidence_rejected")] == [True]
    assert quotes(bench) == [CHUNKS[0].text]


async def test_a_record_belongs_to_its_row_and_not_to_the_heading(serve: Serve) -> None:
    table = make_chunk("| Country | Units |\n| --- | --- |\n| Austria | 812 |\n| Belgium | 318 |", kind=ChunkKind.TABLE)
    record = {"sentences": [1, 3], "shows": "", "record": {"units": 318}}
    bench = Bench(Extractor, serve(always(json.dumps({"items": [record]}))))
    await bench.run(make_context(chunks=(table,), record_fields=(UNITS,)))
    assert quotes(bench) == ["| Country | Units |", "| Belgium | 318 |"]
    [found] = bench.context.records
    assert table.source_text(found.start, found.end) == "| Belgium | 318 |"


async def test_a_field_may_have_the_name_of_a_pydantic_method(serve: Serve) -> None:
    names = ("copy", "json", "model_config", "model_name", "schema")
    fields = tuple(RecordField(name=name, type="text", meaning="m") for name in names)
    record = {name: name.upper() for name in names}
    bench = Bench(Extractor, serve(always(items(1, record=record))))
    await bench.run(make_context(chunks=CHUNKS[:1], record_fields=fields))
    assert [each.values for each in bench.context.records] == [record]


@given(
    st.lists(
        st.builds(
            RecordField,
            name=st.from_regex(r"[a-z][a-z0-9_]{0,39}", fullmatch=True),
            type=st.sampled_from(["text", "number", "date", "boolean"]),
            meaning=st.text(max_size=5),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda field: field.name,
    )
)
def test_records_have_the_names_of_any_fields(fields: list[RecordField]) -> None:
    record = {field.name: None for field in fields}
    text = items(1, record=record)
    parsed: Any = response_model(tuple(fields)).model_validate_json(text)
    assert json.loads(parsed.model_dump_json())["items"][0]["record"] == record
