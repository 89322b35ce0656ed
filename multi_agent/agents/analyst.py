"""The Analyst, which computes with the extracted records. The model writes SQL, and DuckDB executes it."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from base.counts import count
from multi_agent.agent import AgentCard, StepAgent, StepOutput
from multi_agent.errors import QueryRefused
from multi_agent.prompts.show_passages import bullets, pick_evenly
from multi_agent.records.sql import RecordDatabase, Result
from multi_agent.records.table import ORIGIN, Column, RecordTable, build_table, current_records
from multi_agent.values.context import Computation, ContextUpdate, ResearchContext
from multi_agent.values.events import QueryRan
from multi_agent.values.tasks import TaskData
from vectorstore.models import Scalar

_RECORD = "record"
_VALUES_LISTED = 12  # values of a text column; longer lists cost tokens without a benefit
_FLAWS_SHOWN = 10
_DUPLICATES_SHOWN = 5
_LONGEST_CELL = 80


class Calculation(BaseModel):
    """One query of the model's response, and the records behind it."""

    model_config = ConfigDict(extra="forbid")

    purpose: str = Field(min_length=1, description="what is computed, in a few words, with its unit")
    sql: str = Field(min_length=1, description="one SELECT over the table records that gives the result")
    records_sql: str = Field(
        min_length=1, description="one SELECT that gives the column `record` of all rows that the result is made from"
    )


class Analysis(BaseModel):
    """The model's response."""

    model_config = ConfigDict(extra="forbid")

    reasoning: str = Field(description="which rows count for the question, which do not, and how the result follows")
    calculations: list[Calculation] = Field(min_length=1, max_length=4)


class AnalystOutput(StepOutput):
    """The output of a computation for later steps."""

    result: str = Field(description="the figure or value that was computed; of several, the rows in short")
    first: str = Field(description="the first value of the first row alone, such as the name on top of a ranking")

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        rows = [[_text(value) for value in row] for each in update.computations[:1] for row in each.rows]
        return cls(result="; ".join(", ".join(row) for row in rows), first=rows[0][0] if rows else "")


class Analyst(StepAgent):
    """Ranks, counts, adds up and compares records. The model may correct invalid queries."""

    card: ClassVar[AgentCard] = AgentCard(
        name="Analyst",
        description="Computes with the records that the Extractor read, by SQL: ranks, counts, adds up, averages and "
        "compares them.",
        capabilities=("ranking", "counting", "sums and averages", "comparing figures"),
        requires=frozenset({"records", "record_fields"}),
        reads=frozenset({"evidence", "chunks", "lists"}),
        writes=frozenset({"computations"}),
        outputs=AnalystOutput,
    )

    async def should_activate(self, context: ResearchContext) -> bool:
        return bool(current_records(context))

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        table = await asyncio.to_thread(build_table, context)
        database = await asyncio.to_thread(RecordDatabase, table.columns)
        prompt = self._kit.require_prompt()
        messages = prompt.render(
            question=context.question,
            intent=context.understanding.intent,
            requirements=bullets(context.understanding.requirements),
            instruction=task.instruction,
            table=_show_table(table, database.reserved, self._kit.settings.records_shown),
        )
        faults: list[str] = []
        for attempt in range(self._kit.settings.sql_retries + 1):
            response = (await self._kit.llm.complete(messages, Analysis)).value
            outcomes = [await self._calculate(each, table, database) for each in response.calculations]
            faults = list(_faults(outcomes, first=attempt == 0))
            if not faults:
                self._reasoning = f"{response.reasoning} {_summary(table)}"
                return ContextUpdate(computations=tuple(each for each in outcomes if isinstance(each, Computation)))
            messages += prompt.again(response.model_dump_json(), faults=bullets(faults))
        raise QueryRefused(
            f"The model wrote no usable SQL in {count(self._kit.settings.sql_retries + 1, 'attempt')}: "
            f"{' '.join(faults)} Use a more capable model."
        )

    async def _calculate(
        self, calculation: Calculation, table: RecordTable, database: RecordDatabase
    ) -> Computation | list[str]:
        """Return the result with its evidence, or all faults of the two queries."""
        purpose, limit = calculation.purpose, self._kit.settings.sql_rows
        result = await self._query(database, purpose, calculation.sql, limit)
        behind = await self._query(database, f"records behind: {purpose}", calculation.records_sql, len(table))
        if isinstance(result, Result) and isinstance(behind, Result):
            return _computation(calculation, result, behind, table)
        answers = {"sql": result, "records_sql": behind}
        return [f"{name}: {answer}" for name, answer in answers.items() if isinstance(answer, str)]

    async def _query(self, database: RecordDatabase, purpose: str, sql: str, rows: int) -> Result | str:
        """Run a query and publish it. Return the result, or the fault."""
        started = time.monotonic()
        answer: Result | str
        try:
            answer = await database.ask(sql, rows=rows, seconds=self._kit.settings.sql_seconds)
        except QueryRefused as refusal:
            answer = str(refusal)
        count, error = (len(answer.rows), "") if isinstance(answer, Result) else (0, answer)
        seconds = time.monotonic() - started
        await self._kit.publish(QueryRan(purpose=purpose, sql=sql, rows=count, seconds=seconds, error=error))
        return answer


def _text(value: Scalar | None) -> str:
    return "" if value is None else str(value)


def _computation(
    calculation: Calculation, result: Result, behind: Result, table: RecordTable
) -> Computation | list[str]:
    """Build the computation without its column ``record``. Evidence of the rows in the result comes first."""
    named, own = _row_numbers(behind, len(table)), _row_numbers(result, len(table))
    if not named:
        return ["records_sql: it must give at least one row, in a column `record` that holds numbers of rows."]
    if own and len(result.columns) == 1:
        return ["sql: it gives nothing but the numbers of rows. Give the values that were asked for."]
    shown = [at for at, name in enumerate(result.columns) if not (own and name == _RECORD)]
    behind_rows = ((table.evidence[number - 1], *table.further[number - 1]) for number in (*own, *named))
    evidence = [item for quotes in behind_rows for item in quotes]
    return Computation(
        purpose=calculation.purpose,
        sql=calculation.sql,
        columns=tuple(result.columns[at] for at in shown),
        rows=tuple(tuple(row[at] for at in shown) for row in result.rows),
        truncated=result.truncated,
        evidence=tuple({item.place: item for item in evidence}.values()),
        flaws=tuple(str(flaw) for flaw in table.flaws if flaw.column in result.reads | behind.reads),
    )


def _row_numbers(result: Result, count: int) -> list[int]:
    """Return the row numbers in the column ``record``. Empty if it is missing or has other values."""
    if _RECORD not in result.columns:
        return []
    at = result.columns.index(_RECORD)
    numbers = [value for row in result.rows if type(value := row[at]) is int and 1 <= value <= count]
    return numbers if len(numbers) == len(result.rows) else []


def _faults(outcomes: Sequence[Computation | list[str]], *, first: bool) -> Iterator[str]:
    """Yield the faults that the model has to correct. A result without values is a fault only the first time."""
    for number, outcome in enumerate(outcomes, start=1):
        if isinstance(outcome, list):
            yield from (f"calculation {number}, {fault}" for fault in outcome)
        elif first and not any(value is not None for row in outcome.rows for value in row):
            yield (
                f"calculation {number}, sql: it gives no value. Compare its conditions with the values that there "
                "are. If this is the right result, answer the same again."
            )


def _summary(table: RecordTable) -> str:
    left_out = f", {table.left_out} others left out as they have other fields" if table.left_out else ""
    flaws = f", {len(table.flaws)} values that do not fit their type" if table.flaws else ""
    return f"Computed over {count(len(table), 'record')}{left_out}{flaws}."


def _show_table(table: RecordTable, reserved: frozenset[str], most: int) -> str:
    """Describe the table for the model: columns, flaws, duplicates and sample rows."""
    columns = "\n".join(_show_column(column, reserved) for column in table.columns)
    numbers = pick_evenly(range(len(table)), most)
    head = " | ".join(column.name for column in table.columns)
    rows = "\n".join(" | ".join(_cell(column.values[at]) for column in table.columns) for at in numbers)
    shown = "All rows" if len(table) <= most else f"{most} of the {len(table)} rows"
    return f"Columns:\n{columns}\n{_show_flaws(table)}{_show_duplicates(table)}\n{shown}:\n{head}\n{rows}"


def _show_column(column: Column, reserved: frozenset[str]) -> str:
    name = f'"{column.name}"' if column.name in reserved else column.name
    there = [value for value in column.values if value is not None]
    nulls = f", {len(column.values) - len(there)} NULL" if len(there) < len(column.values) else ""
    return f"- {name} {column.type}: {column.meaning} ({_range(column.type, there)}{nulls})"


def _range(kind: str, values: Sequence[str]) -> str:
    """Describe the values of a column briefly, for writing conditions."""
    different = Counter(values)
    if kind in ("VARCHAR", "BOOLEAN"):
        if len(different) > _VALUES_LISTED:
            return f"{len(different)} different texts"
        return ", ".join(f"{_literal(value)} × {count}" for value, count in sorted(different.items())) or "no value"
    if not different:
        return "no value"
    ordered = sorted(different, key=str if kind == "DATE" else Decimal)
    return f"{ordered[0]} to {ordered[-1]}"


def _show_flaws(table: RecordTable) -> str:
    if not table.flaws:
        return ""
    more = f"\n- and {len(table.flaws) - _FLAWS_SHOWN} more" if len(table.flaws) > _FLAWS_SHOWN else ""
    return f"\nValues that do not fit:\n{bullets([str(flaw) for flaw in table.flaws[:_FLAWS_SHOWN]])}{more}\n"


def _show_duplicates(table: RecordTable) -> str:
    """List records with equal values."""
    alike: defaultdict[tuple[str | None, ...], list[int]] = defaultdict(list)
    fields = [column.values for column in table.columns if column.name not in ORIGIN]
    for number, values in enumerate(zip(*fields, strict=True), start=1):
        alike[values].append(number)
    groups = [numbers for numbers in alike.values() if len(numbers) > 1]
    if not groups:
        return ""
    named = "; ".join(", ".join(map(str, numbers)) for numbers in groups[:_DUPLICATES_SHOWN])
    more = f"; and {len(groups) - _DUPLICATES_SHOWN} more groups" if len(groups) > _DUPLICATES_SHOWN else ""
    return f"\nRecords that hold the same values ({len(groups)} groups): {named}{more}\n"


def _literal(value: str) -> str:
    return "'" + _shortened(value).replace("'", "''") + "'"


def _cell(value: str | None) -> str:
    return "NULL" if value is None else _shortened(" ".join(value.split()))


def _shortened(value: str) -> str:
    return value if len(value) <= _LONGEST_CELL else value[:_LONGEST_CELL] + "…"
