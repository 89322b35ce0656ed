"""The ForumResearcher, which searches forums, reads threads and answers with quotes from them."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field

from base.models import FrozenModel
from multi_agent.agent import AgentCard
from multi_agent.agents.reader import Reader, ReaderInputs, ReaderOutput
from multi_agent.agents.tool_findings import find_with_tools
from multi_agent.errors import ToolError
from multi_agent.grounding.written_answer import describe_answer
from multi_agent.prompts.show_task import show_task, show_today
from multi_agent.toolbox.granted_tool import LimitedTool, NarrowedTool, OfferedTool
from multi_agent.toolbox.web import WebSearchInput
from multi_agent.values.context import ContextUpdate, ResearchContext
from multi_agent.values.tasks import TaskData

Platform = Literal["reddit", "stackexchange", "stackoverflow", "hackernews", "lemmy"]

_SITES: Mapping[Platform, str] = {
    "reddit": "reddit.com",
    "stackexchange": "stackexchange.com",
    "stackoverflow": "stackoverflow.com",
    "hackernews": "news.ycombinator.com",
    "lemmy": "lemmy.world",
}


class ForumResearcherInputs(FrozenModel):
    """What the planner gives the ForumResearcher."""

    question: str = Field(min_length=1, description="the one question to answer, complete in itself")
    platforms: tuple[Platform, ...] = Field(default=(), description="forums to search; [] for all")
    max_posts: int = Field(default=20, ge=1, le=100, description="threads and posts to read at most")
    time_range: Literal["day", "week", "month", "year"] = Field(
        default="year", description="only what was written within this time"
    )


class ForumQuery(FrozenModel):
    """What is to be searched for in forums."""

    query: str = Field(min_length=1, max_length=300, description="a few words, as people write them")


class ForumResearcher(Reader):
    """Searches and reads only the platforms and the period of its task, and limits the number of threads read."""

    card: ClassVar[AgentCard] = AgentCard(
        name="ForumResearcher",
        description="Searches forums, reads what people write there and answers one question with quotes. For "
        "experiences and opinions, not for facts that an official page states.",
        capabilities=("forum search", "reading threads", "answering"),
        writes=frozenset({"chunks", "evidence", "findings"}),
        instructed=False,
        inputs=ForumResearcherInputs,
        asked=lambda question: ForumResearcherInputs(question=question),
        outputs=ReaderOutput,
        tools=("web_search", "read_web_page"),
        enabled=False,
    )

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        inputs = ForumResearcherInputs.model_validate(task.inputs.model_dump())
        offered = await self._kit.tools()
        offered = replace(offered, tools=tuple(_narrow(tool, inputs) for tool in offered.tools))
        messages = self._kit.require_prompt().render(
            today=show_today(context),
            task=show_task(context, inputs.question, task.instruction),
            platforms=", ".join(inputs.platforms) or "all that the search engine knows",
            time=inputs.time_range,
            most=inputs.max_posts,
        )
        asked = ReaderInputs(question=inputs.question, queries=())
        update = await find_with_tools(self, self._kit, offered, messages, task, asked)
        self._reasoning = describe_answer(inputs.question, update.findings[0].synthesis)
        return update


def _narrow(tool: OfferedTool, inputs: ForumResearcherInputs) -> OfferedTool:
    if tool.card.name == "web_search":
        return NarrowedTool(tool, ForumQuery, partial(_widen, inputs))
    if tool.card.name == "read_web_page":
        limited = LimitedTool(tool, inputs.max_posts, lambda page: page.url)
        return NarrowedTool(limited, tool.card.inputs, partial(on_platforms, inputs.platforms))
    return tool


def on_platforms(platforms: Sequence[Platform], page: Any) -> Any:
    """Return the page. Raises ToolError if it is on none of the platforms. Without platforms, any page may be read."""
    host, sites = "", [_SITES[each] for each in platforms]
    with suppress(ValueError):  # a model may write an address that is none
        host = urlsplit(page.url).hostname or ""
    if sites and not any(host == site or host.endswith(f".{site}") for site in sites):
        raise ToolError(f"{page.url} is not on {' or '.join(sites)}, the only sites that this task allows.")
    return page


def _widen(inputs: ForumResearcherInputs, given: ForumQuery) -> WebSearchInput:
    sites = " OR ".join(f"site:{_SITES[each]}" for each in inputs.platforms)
    query = f"{given.query} ({sites})" if len(inputs.platforms) > 1 else f"{given.query} {sites}".strip()
    return WebSearchInput(query=query, kind="social media", since=inputs.time_range)
