"""From table rows to a computed answer with its query and quotes."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from multi_agent.catalog.registry import BUILT_IN, AgentRegistry
from multi_agent.llm.models import Models, build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.memory.plans import PlanMemory
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.settings.research import ResearchSettings
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.toolbox import Toolbox
from multi_agent.values.answer import Answer, Status
from support.chunks import make_chunk
from support.kits import library_of
from support.panel import (
    EXTRACTION,
    PATTERNS,
    PLANNER,
    READING,
    SYNTHESIS,
    Panel,
    Role,
    planned,
    reading,
    step,
    synthesis,
)
from support.replies import Request
from vectorstore.embedding.embedder import Embedder

Serve = Callable[..., EndpointSettings]
Research = Callable[[str, dict[str, Role]], Awaitable[Answer]]

ANALYSIS = "Analysis"
ATLAS = "Helsinki is the capital of Finland."
SALES = "country,pumps\nDenmark,365\nFinland,688\nNorway,421\nSweden,597"
FIELDS = [
    {"name": "country", "type": "text", "meaning": "where it was sold"},
    {"name": "pumps", "type": "number", "meaning": "heat pumps delivered"},
]
TOTAL = {
    "purpose": "pumps delivered in all",
    "sql": "SELECT sum(pumps) AS pumps FROM records",
    "records_sql": "SELECT record FROM records",
}
LARGEST = {
    "purpose": "largest country",
    "sql": "SELECT country, pumps, record FROM records QUALIFY rank() OVER (ORDER BY pumps DESC) = 1",
    "records_sql": "SELECT record FROM records",
}


def always(response: object) -> Role:
    return lambda _: json.dumps(response)


def name_fields(_: Request) -> str:
    strategy = {"description": "rows", "take": "each row", "leave_out": "", "examples": []}
    return json.dumps({"strategies": [strategy], "record_fields": FIELDS, "reasoning": "Rows are added up."})


def copy_rows(request: Request) -> str:
    rows = re.findall(r"^\[\d+\] (([A-Z]\w+),(\d+))$", request.messages[1]["content"], re.MULTILINE)
    items = [
        {"passage": 1, "quote": line, "shows": "a row", "record": {"country": country, "pumps": int(pumps)}}
        for line, country, pumps in rows
    ]
    return json.dumps({"items": items})


def plan_to_compute(*further: dict[str, object]) -> dict[str, object]:
    scan = {"method": "scan", "documents": ["sales.csv"], "queries": []}
    return planned(
        step("find", "Retriever", inputs=scan),
        step("look", "DataInspector"),
        step("patterns", "PatternGenerator"),
        step("extract", "Extractor"),
        step("compute", "Analyst"),
        *further,
        step("answer", "Synthesizer"),
    )


@pytest.fixture
def research(
    serve: Serve,
    embedder: Embedder,
    trace: Trace,
    plans: PlanMemory,
    make_tools: Callable[..., Toolbox],
    tmp_path: Path,
) -> Iterator[Research]:
    """``await research(question, roles)`` over sales and an atlas; rows become records of these fields."""
    chunks = [make_chunk(SALES, document="/docs/sales.csv"), make_chunk(ATLAS, document="/docs/atlas.md")]
    with library_of(chunks, embedder, tmp_path / "collections") as library:

        def ask(question: str, roles: dict[str, Role]) -> Awaitable[Answer]:
            panel = Panel(roles={PATTERNS: name_fields, EXTRACTION: copy_rows, **roles})
            registry = AgentRegistry.discover((BUILT_IN,))
            models, settings = Models(build_llm(serve(panel))), ResearchSettings()
            return Orchestrator(models, library, registry, trace, plans, settings, make_tools()).research(question)

        yield ask


async def test_a_sum_is_cited_with_its_query_and_rows(research: Research, trace: Trace) -> None:
    claim = {"text": "2,071 pumps were delivered.", "evidence": [], "computations": [1]}
    answer = await research(
        "How many pumps in all?",
        {
            PLANNER: always(plan_to_compute()),
            ANALYSIS: always({"reasoning": "All rows count.", "calculations": [TOTAL]}),
            SYNTHESIS: always(synthesis([claim], sufficient=True, short="2,071 pumps")),
        },
    )
    assert (answer.status, answer.short) == (Status.ANSWERED, "2,071 pumps")
    assert answer.answer == "2,071 pumps were delivered. [C1]"
    [computed] = answer.computations
    assert (computed.sql, computed.rows) == (TOTAL["sql"], ((2071,),))
    assert [(quote.number, quote.quote) for quote in computed.evidence] == list(enumerate(SALES.splitlines()[1:], 1))
    computed = [event.body for event in trace.events(answer.run_id) if event.body.type == "computed"]
    assert [body.sql for body in computed] == [TOTAL["sql"], TOTAL["records_sql"]]


async def test_a_later_step_searches_for_a_computed_value(research: Research) -> None:
    asked: list[str] = []

    def read(request: Request) -> str:
        asked.append(request.prompt)
        quote = {"passage": "atlas.md", "quote": ATLAS}
        return json.dumps(synthesis([{"text": "Helsinki.", "quotes": [quote]}], sufficient=True, short="Helsinki"))

    claim = {"text": "Helsinki, of Finland.", "evidence": [1], "computations": [1]}
    answer = await research(
        "What is the capital of the country with the most pumps?",
        {
            PLANNER: always(plan_to_compute(reading("hop", "What is the capital of @{outputs.compute.first}?"))),
            ANALYSIS: always({"reasoning": "All rows count.", "calculations": [LARGEST]}),
            READING: read,
            SYNTHESIS: always(synthesis([claim], sufficient=True, short="Helsinki")),
        },
    )
    assert "What is the capital of Finland?" in asked[0]
    assert answer.answer == "Helsinki, of Finland. [1][C1]"
    assert answer.evidence[0].quote == ATLAS
