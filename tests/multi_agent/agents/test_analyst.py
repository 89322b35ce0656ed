"""The Analyst: SQL by the model, its correction, and results with their evidence."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from base.tokens import estimate_tokens
from multi_agent.agents.analyst import Analyst, AnalystOutput
from multi_agent.errors import QueryRefused
from multi_agent.llm.settings import EndpointSettings
from multi_agent.records.sql import RecordDatabase
from multi_agent.settings.research import ResearchSettings
from multi_agent.values.context import ContextUpdate, ResearchContext
from support.kits import Bench
from support.replies import Request, always, in_turn
from support.tables import Values, fields, table_context
from support.waiting import wait_for

Serve = Callable[..., EndpointSettings]

RACE = fields(runner="text", category="text", time="text", prize="number")
ROWS: list[Values] = [
    {"runner": "Jonah", "category": "Men", "time": "2:02:08", "prize": 60000},
    {"runner": "Tariku", "category": "Men", "time": "2:02:31", "prize": "a bonus"},
    {"runner": "Ingrid", "category": "Women", "time": "2:20:10", "prize": None},
    {"runner": "Abel", "category": "Men", "time": "2:02:31", "prize": 9000.5},
]
FASTEST = (
    "SELECT record, runner, time FROM records WHERE category = 'Men' "
    "QUALIFY rank() OVER (ORDER BY CAST(time AS INTERVAL)) <= 2 ORDER BY time, runner"
)
MEN = "SELECT record FROM records WHERE category = 'Men'"


def races(**known: Any) -> ResearchContext:
    return table_context(RACE, {"races.csv": ROWS}, **known)


def analysis(*queries: tuple[str, str]) -> str:
    """A response with a calculation for each pair of ``sql`` and ``records_sql``."""
    calculations = [{"purpose": "it", "sql": sql, "records_sql": behind} for sql, behind in queries]
    return json.dumps({"reasoning": "Only men count.", "calculations": calculations})


async def test_evidence_of_shown_rows_comes_first(serve: Serve) -> None:
    bench = Bench(Analyst, serve(always(analysis((FASTEST, MEN)))))
    update = await bench.run(races())
    [computation] = bench.context.computations
    assert computation.columns == ("runner", "time")
    assert computation.rows == (("Jonah", "2:02:08"), ("Abel", "2:02:31"), ("Tariku", "2:02:31"))
    assert [item.number for item in computation.evidence] == [1, 4, 2]
    assert (computation.number, computation.sql, computation.truncated) == (1, FASTEST, False)
    given = AnalystOutput.of(update)
    assert (given.result, given.first) == ("Jonah, 2:02:08; Abel, 2:02:31; Tariku, 2:02:31", "Jonah")
    assert "Only men count. Computed over 4 records, 1 values that do not fit their type." in bench.reasoning


async def test_later_steps_get_a_single_figure(serve: Serve) -> None:
    bench = Bench(Analyst, serve(always(analysis(("SELECT sum(prize) AS euros FROM records", MEN)))))
    update = await bench.run(races())
    assert AnalystOutput.of(update) == AnalystOutput(result="69000.5", first="69000.5")
    assert AnalystOutput.of(ContextUpdate()) == AnalystOutput(result="", first="")


async def test_a_computation_lists_values_of_the_wrong_type(serve: Serve) -> None:
    count = ("SELECT count(*) FROM records", "SELECT record FROM records")
    bench = Bench(Analyst, serve(always(analysis(("SELECT sum(prize) FROM records", MEN), count))))
    await bench.run(races())
    with_prize, without = bench.context.computations
    assert with_prize.flaws == ("record 2 (races.csv): prize is 'a bonus', no number",)
    assert without.flaws == ()


async def test_each_query_is_published(serve: Serve) -> None:
    bench = Bench(Analyst, serve(in_turn(analysis(("SELECT nothing FROM records", MEN)), analysis((FASTEST, MEN)))))
    await bench.run(races())
    published = [(body.purpose, body.rows, bool(body.error)) for body in bench.of_type("computed")]
    records_query = "records behind: it"
    assert published == [("it", 0, True), (records_query, 3, False), ("it", 3, False), (records_query, 3, False)]


async def test_all_faults_are_returned_at_once(serve: Serve) -> None:
    prompts: list[str] = []
    wrong = analysis(
        ("SELECT runer FROM records", "DELETE FROM records"),
        (FASTEST, "SELECT runner FROM records"),
        ("SELECT record FROM records", MEN),
    )

    def answer(request: Request) -> str:
        prompts.append(request.prompt)
        return wrong if len(prompts) == 1 else analysis((FASTEST, MEN))

    bench = Bench(Analyst, serve(answer))
    await bench.run(races())
    assert len(bench.context.computations) == 1
    for fault in (
        'calculation 1, sql: DuckDB says: Binder Error: Referenced column "runer" not found',
        "calculation 1, records_sql: Give exactly one SELECT",
        "calculation 2, records_sql: it must give at least one row, in a column `record`",
        "calculation 3, sql: it gives nothing but the numbers of rows",
    ):
        assert fault in prompts[1]
    assert prompts[1].startswith(prompts[0])


async def test_queries_that_stay_invalid_fail_the_step(serve: Serve) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return analysis(("SELECT * FROM read_csv('/etc/passwd')", MEN))

    with pytest.raises(QueryRefused, match="'read_csv' is not available"):
        await Bench(Analyst, serve(answer)).run(races())
    assert len(asked) == 3


async def test_a_result_without_values_is_questioned_once(serve: Serve) -> None:
    empty = analysis(("SELECT runner FROM records WHERE category = 'men'", "SELECT record FROM records"))
    bench = Bench(Analyst, serve(always(empty)))
    await bench.run(races())
    assert bench.context.computations[0].rows == ()
    assert len(bench.of_type("computed")) == 4

    corrected = Bench(Analyst, serve(in_turn(empty, analysis((FASTEST, MEN)))))
    await corrected.run(races())
    assert len(corrected.context.computations[0].rows) == 3


async def test_the_model_sees_columns_flaws_and_duplicates(serve: Serve) -> None:
    prompts: list[str] = []

    def answer(request: Request) -> str:
        prompts.append(request.messages[1]["content"])
        return analysis((FASTEST, MEN))

    twice: list[Values] = [ROWS[0], *ROWS]
    bench = Bench(Analyst, serve(answer))
    await bench.run(table_context(RACE, {"old.md": twice[:1], "races.csv": twice[1:]}), instruction="Rank the men.")
    [prompt] = prompts
    for line in (
        "Your task: Rank the men.",
        "- category VARCHAR: the category ('Men' × 4, 'Women' × 1)",
        "- prize DECIMAL(18,1): the prize (9000.5 to 60000, 2 NULL)",
        "- document VARCHAR: document that it was read from ('old.md' × 1, 'races.csv' × 4)",
        "- prize_text VARCHAR",
        "- record 3 (races.csv): prize is 'a bonus', no number",
        "Records that hold the same values (1 groups): 1, 2",
        "1 | old.md | 1 | Jonah | Men | 2:02:08 | 60000 | NULL",
    ):
        assert line in prompt


async def test_few_of_hundreds_of_records_are_shown(serve: Serve) -> None:
    prompts: list[Request] = []

    def answer(request: Request) -> str:
        prompts.append(request)
        return analysis(("SELECT count(*), sum(prize) FROM records", "SELECT record FROM records"))

    rows: list[Values] = [
        {"runner": f"Runner {number}", "category": "Men", "time": "2:10:00", "prize": 0.1} for number in range(300)
    ]
    bench = Bench(Analyst, serve(answer))
    await bench.run(table_context(RACE, {"races.csv": rows}))
    [computation] = bench.context.computations
    assert computation.rows == ((300, 30),)
    assert len(computation.evidence) == 300
    [request] = prompts
    assert request.prompt.count("Runner ") == bench.settings.records_shown
    assert estimate_tokens(request.prompt) < 4000


async def test_reserved_names_are_shown_in_quotes(serve: Serve) -> None:
    sql = 'SELECT sum("order") AS total FROM records'
    prompts: list[str] = []

    def answer(request: Request) -> str:
        prompts.append(request.prompt)
        return analysis((sql, "SELECT record FROM records"))

    bench = Bench(Analyst, serve(answer))
    await bench.run(table_context(fields(order="number"), {"a.md": [{"order": 1}, {"order": 2}]}))
    assert '- "order" BIGINT: the order (1 to 2)' in prompts[0]
    assert bench.context.computations[0].rows == ((3,),)


async def test_it_runs_only_with_records_of_the_current_fields() -> None:
    bench = Bench(Analyst)
    assert await bench.activates(races())
    assert not await bench.activates(races().model_copy(update={"records": ()}))
    assert not await bench.activates(races().model_copy(update={"record_fields": fields(other="text")}))


async def test_cancellation_interrupts_the_query(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    started, run = threading.Event(), RecordDatabase._run

    def run_and_tell(*args: Any, **kwargs: Any) -> Any:
        started.set()
        return run(*args, **kwargs)

    monkeypatch.setattr(RecordDatabase, "_run", run_and_tell)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
    monkeypatch.setattr(ResearchSettings, "sql_seconds", 100_000)
    bench = Bench(Analyst, serve(always(analysis((endless, MEN)))))
    turn = asyncio.create_task(bench.run(races()))
    await wait_for(started.is_set)
    before = time.process_time()
    await wait_for(lambda: time.process_time() - before > 0.5)  # DuckDB has begun to compute
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    await asyncio.get_running_loop().shutdown_default_executor()  # waits for the query's thread, else without end
