"""Searches the web through a SearXNG instance, or through ddgs, which asks public search engines.

Only this module imports ddgs. The setting ``tools.web_search`` selects the engine.
"""

from __future__ import annotations

import asyncio
import math
from typing import Annotated, Any, Literal

import httpx
from pydantic import AliasChoices, BaseModel, Field, ValidationError

from base.models import FrozenModel
from multi_agent.errors import ToolError
from multi_agent.settings.tools import ToolSettings
from vectorstore.settings import without_password

MOST_RESULTS = 20
SearchKind = Literal["general", "news", "science", "it", "social media"]
Since = Literal["", "day", "week", "month", "year"]

_SITES: dict[SearchKind, tuple[str, ...]] = {
    "science": ("arxiv.org", "doi.org", "pubmed.ncbi.nlm.nih.gov", "semanticscholar.org"),
    "it": ("github.com", "stackoverflow.com", "readthedocs.io"),
    "social media": ("reddit.com", "stackexchange.com", "news.ycombinator.com"),
}
"""Sites to search for these kinds, which the engines of ddgs do not support."""
_NOTHING_FOUND = "No results found"


class WebSearchInput(FrozenModel):
    """What is to be searched for, and where."""

    query: str = Field(min_length=1, max_length=500, description="a few words, as one types them into a search engine")
    kind: SearchKind = Field(
        default="general", description="where to look; 'social media' are forums and posts of people"
    )
    since: Since = Field(default="", description="only what is not older than this; empty for any age")
    language: str = Field(default="", pattern=r"^([a-z]{2}(-[A-Z]{2})?)?$", description="such as 'en' or 'de-AT'")
    limit: int = Field(default=8, ge=1, le=MOST_RESULTS, description="results at most")


class FoundPage(BaseModel):
    """A result of a search."""

    url: str = Field(validation_alias=AliasChoices("url", "href"))
    title: str = ""
    excerpt: Annotated[str | None, Field(validation_alias=AliasChoices("content", "body"))] = ""
    date: Annotated[str | None, Field(validation_alias=AliasChoices("publishedDate", "date"))] = None

    @property
    def shown(self) -> str:
        """The result as text for the model."""
        date = f" ({self.date})" if self.date else ""
        return "\n".join(part for part in (f"{self.title}{date}", self.url, self.excerpt or "") if part)


class _Results(BaseModel):
    results: list[FoundPage]


async def search_web(given: WebSearchInput, settings: ToolSettings) -> list[FoundPage]:
    """Return at most ``given.limit`` results. Raises ToolError if the engine fails."""
    search = _search_ddgs if settings.search_engine == "ddgs" else _search_searxng
    return (await search(given, settings))[: given.limit]


async def _search_searxng(given: WebSearchInput, settings: ToolSettings) -> list[FoundPage]:
    params = {"q": given.query, "format": "json", "categories": given.kind}
    params |= {"time_range": given.since} if given.since else {}
    params |= {"language": given.language} if given.language else {}
    url = str(settings.web_search_url)
    engine = f"{without_password(url)} (`tools.web_search_url`)"
    try:
        async with httpx.AsyncClient(timeout=settings.timeout_s, follow_redirects=True) as client:
            headers = settings.bearer(settings.web_search_key)
            response = await client.get(url, params=params, headers=headers)
            response.raise_for_status()
        return _Results.model_validate_json(response.content).results
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ToolError(f"The search engine at {engine} fails: {without_password(str(error))}") from error
    except ValidationError as error:
        raise ToolError(
            f"{engine} does not answer as SearXNG does, with JSON; switch the format `json` on in its settings."
        ) from error


async def _search_ddgs(given: WebSearchInput, settings: ToolSettings) -> list[FoundPage]:
    found = await asyncio.to_thread(_ask_ddgs, given, settings)
    return [FoundPage.model_validate(each) for each in found]


def _ask_ddgs(given: WebSearchInput, settings: ToolSettings) -> list[dict[str, Any]]:
    from ddgs.ddgs import DDGS
    from ddgs.exceptions import DDGSException

    category = "news" if given.kind == "news" else "text"
    options: dict[str, Any] = {"region": _region(given.language), "max_results": given.limit}
    options |= {"timelimit": given.since[0]} if given.since else {}
    options |= {"backend": ",".join(_engines(category, settings))} if settings.web_search_engines else {}
    ddgs = DDGS(timeout=max(1, math.floor(settings.timeout_s / 2)))
    try:
        return (ddgs.news if category == "news" else ddgs.text)(_with_sites(given), **options)
    except DDGSException as error:
        if _NOTHING_FOUND in str(error):
            return []
        raise ToolError(f'No search engine answers (`tools.web_search = "ddgs"`): {error}') from error


def _engines(category: str, settings: ToolSettings) -> tuple[str, ...]:
    """Return the chosen engines of this category. Raises ToolError if there are none, as ddgs would use all others."""
    from ddgs.engines import ENGINES

    chosen = tuple(name for name in settings.web_search_engines if name in ENGINES[category])
    if not chosen:
        raise ToolError(
            f"None of {', '.join(settings.web_search_engines)} (`tools.web_search_engines`) searches for {category}; "
            f"there are {', '.join(sorted(ENGINES[category]))}."
        )
    return chosen


def _region(language: str) -> str:
    """Return a region of ddgs, such as ``at-de`` for ``de-AT``."""
    if not language or language == "en":
        return "us-en"
    code, _, country = language.lower().partition("-")
    return f"{country or code}-{code}"


def _with_sites(given: WebSearchInput) -> str:
    sites = " OR ".join(f"site:{site}" for site in _SITES.get(given.kind, ()))
    return f"{given.query} ({sites})" if sites and "site:" not in given.query else given.query
