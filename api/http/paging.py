"""The ``Link`` header of lists that are sent page by page."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

PAGED: dict[int | str, dict[str, Any]] = {
    200: {"headers": {"Link": {"description": "The next page, if there is one.", "schema": {"type": "string"}}}}
}
"""Describes the header in a route's ``responses``."""


def link_next(request: Request, response: Response, **following: object) -> None:
    """Name the next page: the requested address with these query parameters."""
    url = request.url.include_query_params(**following)
    response.headers["Link"] = f'<{url.path}?{url.query}>; rel="next"'
