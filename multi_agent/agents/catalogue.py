"""The Catalogue, which answers questions about the collection itself by SQL over the list of its documents."""

import asyncio
import time
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field

from base.counts import count
from base.models import FrozenModel
from multi_agent.agent import AgentCard, StepAgent, StepOutput
from multi_agent.errors import QueryRefused
from multi_agent.prompt import Prompt
from multi_agent.records.catalogue import COLUMNS, DOCUMENTS, catalogue_columns
from multi_agent.records.sql import RecordDatabase
from multi_agent.settings.research import ResearchSettings
from multi_agent.values.context import Computation, ContextUpdate, ResearchContext
from multi_agent.values.events import QueryRan
from multi_agent.values.tasks import TaskData


def _require_runnable(sql: str) -> str:
    """Run the query over an empty table, so that a model that wrote an invalid one is asked again."""
    try:
        RecordDatabase(catalogue_columns(()), DOCUMENTS).query(sql, rows=1, seconds=ResearchSettings.sql_seconds)
    except QueryRefused as refusal:
        raise ValueError(str(refusal)) from None
    return sql


class CatalogueInputs(FrozenModel):
    # No docstring: the schema would show it.
    sql: Annotated[str, AfterValidator(_require_runnable)] = Field(
        min_length=1, description=f"one SELECT for DuckDB from {DOCUMENTS}({', '.join(COLUMNS)})"
    )


class CatalogueOutput(StepOutput):
    """The output of a query for later steps."""

    first: str = Field(description="the first value of the result, such as a name")

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        values = (str(value) for each in update.computations for row in each.rows for value in row if value is not None)
        return cls(first=next(values, ""))


class Catalogue(StepAgent):
    """Runs one query over the documents of the collection. Needs no model."""

    card: ClassVar[AgentCard] = AgentCard(
        name="Catalogue",
        description="Lists, counts and sorts the documents as such, by SQL over their catalogue.",
        writes=frozenset({"computations"}),
        instructed=False,
        inputs=CatalogueInputs,
        outputs=CatalogueOutput,
        searches=frozenset({"documents"}),
        lookup=Prompt.part("lookup_catalogue"),
    )

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        sql = CatalogueInputs.model_validate(task.inputs.model_dump()).sql
        started = time.monotonic()
        library = self._kit.library
        indexed, unread = await asyncio.to_thread(lambda: (library.catalogue(), library.unread()))
        found = [*indexed, *unread]
        database = await asyncio.to_thread(RecordDatabase, catalogue_columns(found), DOCUMENTS)
        settings = self._kit.settings
        result = await database.ask(sql, rows=settings.sql_rows, seconds=settings.sql_seconds)
        seconds = time.monotonic() - started
        lost = f", {len(unread):,} of them not read," if unread else ""
        source = f"the catalogue of {count(len(found), 'document')}{lost}{on_day(context)}"
        await self._kit.publish(QueryRan(purpose=source, sql=sql, rows=len(result.rows), seconds=seconds))
        self._reasoning = f"Asked {source}: {count(result.total, 'row')}."
        rows = f" ({count(result.total, 'row')})" if result.total != 1 else ""
        return ContextUpdate(
            computations=(
                Computation(
                    purpose=f"{context.question}{rows}",
                    sql=sql,
                    columns=result.columns,
                    rows=result.rows,
                    truncated=result.truncated,
                    evidence=(),
                    source=source,
                ),
            )
        )


def on_day(context: ResearchContext) -> str:
    """Return the day of the run for the source of a computation."""
    return f" on {context.today}" if context.today else ""
