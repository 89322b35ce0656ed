"""Searches the web through a SearXNG instance or a compatible endpoint."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import httpx
from pydantic import BaseModel, Field, ValidationError

from multi_agent.errors import ToolError
from multi_agent.tool import ToolCard, ToolKit, ToolResult
from multi_agent.toolbox.settings import ToolSettings
from vectorstore.models import FrozenModel

_MAX_RESULTS = 20


class WebSearchInput(FrozenModel):
    """What is to be searched for, and where."""

    query: str = Field(min_length=1, max_length=500, description="a few words, as one types them into a search engine")
    kind: Literal["general", "news", "science", "it", "social media"] = Field(
        default="general", description="where to look; 'social media' are forums and posts of people"
    )
    since: Literal["", "day", "week", "month", "year"] = Field(
        default="", description="only what is not older than this; empty for any age"
    )
    language: str = Field(default="", pattern=r"^([a-z]{2}(-[A-Z]{2})?)?$", description="such as 'en' or 'de-AT'")
    limit: int = Field(default=8, ge=1, le=_MAX_RESULTS, description="results at most")


class _Result(BaseModel):
    url: str
    title: str = ""
    content: str | None = ""
    published: Annotated[str | None, Field(alias="publishedDate")] = None


class _Results(BaseModel):
    results: list[_Result]


def _no_engine(settings: ToolSettings) -> str:
    if settings.web_search_url:
        return ""
    return "No search engine is set: name a SearXNG endpoint with `tools.web_search_url`."


class WebSearch:
    """Sends the search to the endpoint of the settings, which may be on localhost."""

    card: ClassVar[ToolCard] = ToolCard(
        name="web_search",
        description="Searches the web, or forums and posts, and gives addresses with what they are about. Read a page "
        "before you rely on it.",
        inputs=WebSearchInput,
        source="web",
        lacks=_no_engine,
    )

    def __init__(self, kit: ToolKit) -> None:
        self._settings = kit.settings

    async def __call__(self, given: WebSearchInput) -> ToolResult:
        found = (await self._search(given))[: given.limit]
        if not found:
            return ToolResult(text="Nothing was found.")
        return ToolResult(text="\n\n".join(map(_shown, found)))

    async def _search(self, given: WebSearchInput) -> list[_Result]:
        params = {"q": given.query, "format": "json", "categories": given.kind}
        params |= {"time_range": given.since} if given.since else {}
        params |= {"language": given.language} if given.language else {}
        url = str(self._settings.web_search_url)
        try:
            async with httpx.AsyncClient(timeout=self._settings.timeout_s, follow_redirects=True) as client:
                headers = self._settings.bearer(self._settings.web_search_key)
                response = await client.get(url, params=params, headers=headers)
                response.raise_for_status()
            return _Results.model_validate_json(response.content).results
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ToolError(f"The search engine at {url} (`tools.web_search_url`) fails: {error}") from error
        except ValidationError as error:
            raise ToolError(
                f"{url} (`tools.web_search_url`) does not answer as SearXNG does, with JSON; switch the format `json` "
                "on in its settings."
            ) from error


def _shown(result: _Result) -> str:
    date = f" ({result.published})" if result.published else ""
    return "\n".join(part for part in (f"{result.title}{date}", result.url, result.content or "") if part)
