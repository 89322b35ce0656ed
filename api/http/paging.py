"""The ``Link`` header of paginated lists."""

from typing import Any

from fastapi import Request, Response

PAGED: dict[int | str, dict[str, Any]] = {
    200: {"headers": {"Link": {"description": "The next page, if there is one.", "schema": {"type": "string"}}}}
}
"""Describes the header in a route's ``responses``."""


def link_next(request: Request, response: Response, **following: object) -> None:
    """Set the ``Link`` header to the URL of the next page, which has these query parameters."""
    url = request.url.include_query_params(**following)
    response.headers["Link"] = f'<{url.path}?{url.query}>; rel="next"'
