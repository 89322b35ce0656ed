"""The WebResearcher, which searches the web, reads pages and answers with quotes from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from base.models import FrozenModel
from multi_agent.agent import AgentCard
from multi_agent.agents.reader import Reader, ReaderInputs, ReaderOutput
from multi_agent.agents.tool_findings import find_with_tools
from multi_agent.grounding.written_answer import describe_answer
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from multi_agent.prompts.show_task import show_task, show_today
from multi_agent.toolbox.granted_tool import LimitedTool, NarrowedTool, OfferedTool
from multi_agent.toolbox.web import SearchKind, Since, WebSearchInput
from multi_agent.values.context import ContextUpdate, ResearchContext
from multi_agent.values.tasks import TaskData

SourceType = Literal["academic", "news", "official", "general"]

_KINDS: Mapping[SourceType, SearchKind] = {
    "academic": "science",
    "news": "news",
    "official": "general",
    "general": "general",
}
_MEANINGS: Mapping[SourceType, str] = {
    "academic": "academic: papers and their abstracts",
    "news": "news: reports of newspapers and agencies",
    "official": "official: pages of authorities, institutions and makers about themselves",
    "general": "general: any other page",
}


class WebResearcherInputs(FrozenModel):
    """What the planner gives the WebResearcher."""

    question: str = Field(min_length=1, description="the one question to answer, complete in itself")
    related_queries: tuple[str, ...] = Field(
        default=(), max_length=8, description="what to search the web for; [] to leave that to the agent"
    )
    source_types: tuple[SourceType, ...] = Field(
        default=("academic", "news", "official", "general"), min_length=1, description="which pages to look for"
    )
    max_sources: int = Field(default=10, ge=1, le=50, description="pages to read at most")


class WebResearcher(Reader):
    """Searches only the source types of its task, and limits the number of pages read."""

    card: ClassVar[AgentCard] = AgentCard(
        name="WebResearcher",
        description="Searches the web, reads pages and answers one question with quotes from them. For what the web "
        "knows and the person's documents do not.",
        capabilities=("web search", "reading web pages", "answering"),
        writes=frozenset({"chunks", "evidence", "findings"}),
        instructed=False,
        inputs=WebResearcherInputs,
        asked=lambda question: WebResearcherInputs(question=question),
        outputs=ReaderOutput,
        tools=("web_search", "read_web_page"),
        enabled=False,
    )

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        inputs = WebResearcherInputs.model_validate(task.inputs.model_dump())
        offered = await self._kit.tools()
        offered = replace(offered, tools=tuple(_narrow(tool, inputs) for tool in offered.tools))
        queries = inputs.related_queries
        messages = self._kit.require_prompt().render(
            today=show_today(context),
            task=show_task(context, inputs.question, task.instruction),
            types=bullets([_MEANINGS[each] for each in inputs.source_types]),
            queries=f"\n\n{Prompt.part('suggested_searches', queries=bullets(queries))}" if queries else "",
            most=inputs.max_sources,
        )
        asked = ReaderInputs(question=inputs.question, queries=queries)
        update = await find_with_tools(self, self._kit, offered, messages, task, asked)
        self._reasoning = describe_answer(inputs.question, update.findings[0].synthesis)
        return update


def _narrow(tool: OfferedTool, inputs: WebResearcherInputs) -> OfferedTool:
    if tool.card.name == "web_search":
        return NarrowedTool(tool, web_query(inputs.source_types), _widen)
    if tool.card.name == "read_web_page":
        return LimitedTool(tool, inputs.max_sources, lambda page: page.url)
    return tool


@lru_cache(maxsize=32)
def web_query(types: tuple[SourceType, ...]) -> type[BaseModel]:
    """Return the input type of a search for pages of these types."""
    choice: Any = Literal[types]
    return create_model(
        "WebQuery",
        __config__=ConfigDict(extra="forbid", frozen=True),
        query=(str, Field(min_length=1, max_length=500, description="a few words, as one types them into a search "
                          "engine")),
        source_type=(choice, Field(description="which pages to look for")),
        since=(Since, Field(default="", description="only what is not older than this; empty for any age")),
    )  # fmt: skip


def _widen(given: Any) -> WebSearchInput:
    return WebSearchInput(query=given.query, kind=_KINDS[given.source_type], since=given.since)
