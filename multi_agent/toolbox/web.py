"""Fetches web pages and files for a model, within the limits of the settings of tools."""

from __future__ import annotations

from typing import Any

from base import web
from base.web import Fetched
from multi_agent.errors import ToolError
from multi_agent.settings.tools import ToolSettings


async def fetch(url: str, settings: ToolSettings, max_bytes: int, params: dict[str, Any] | None = None) -> Fetched:
    """Return a page or file of at most ``max_bytes`` bytes. Raises ToolError with the reason if it cannot."""
    try:
        return await web.fetch(
            url,
            max_bytes=max_bytes,
            timeout_s=settings.timeout_s,
            allow_private=settings.allow_private_addresses,
            setting="tools.allow_private_addresses",
            params=params,
        )
    except web.WebError as error:
        raise ToolError(str(error)) from error
