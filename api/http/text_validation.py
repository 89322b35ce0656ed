"""Rejects JSON bodies without a JSON header, and parameters and JSON bodies with text that cannot be stored.

Postgres cannot store U+0000 in text. UTF-8 cannot encode half of a surrogate pair, but JSON can contain one.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.params import Form
from fastapi.requests import HTTPConnection
from starlette.exceptions import HTTPException

_INVALID = re.compile("[\0\ud800-\udfff]")
_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])|\xed[\xa0-\xbf]")
"""A pattern that matches every JSON body with an invalid text."""
_MESSAGE = "A text cannot contain the character U+0000 or half of a surrogate pair"

Location = tuple[str | int, ...]


async def require_json_header(connection: HTTPConnection) -> None:
    """Check the header of a JSON body. A dependency of every route. Raises RequestValidationError."""
    body = connection.scope["route"].body_field if isinstance(connection, Request) else None
    if not isinstance(connection, Request) or body is None or isinstance(body.field_info, Form):
        return
    given = connection.headers.get("content-type", "")
    kind = given.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json") or not await connection.body():
        return
    sent = f"says {given!r}" if given else "is missing"
    message = f"The header {sent}, so the body is not read as JSON. Send `Content-Type: application/json`"
    raise RequestValidationError([{"type": "json_header", "loc": ("header", "Content-Type"), "msg": message}])


async def require_valid_text(connection: HTTPConnection) -> None:
    """Check the path, the query and the JSON body of a request. A dependency of every route.

    Raises RequestValidationError with the location of each invalid text, HTTPException (404) for the path.
    """
    if any(_INVALID.search(str(part)) for part in connection.path_params.values()):
        raise HTTPException(HTTPStatus.NOT_FOUND, "A path cannot contain the character U+0000.")
    sent: list[tuple[Location, Any]] = [
        (("query", name), value) for name, value in connection.query_params.multi_items()
    ]
    if isinstance(connection, Request) and connection.scope["route"].body_field:
        with suppress(ValueError):  # FastAPI reports a body that is not JSON
            sent += [(("body",), await connection.json())] if _SUSPECT.search(await connection.body()) else []
    faults = [
        {"type": "invalid_text", "loc": location, "msg": _MESSAGE}
        for within, value in sent for location in _invalid_texts(value, within)
    ]  # fmt: skip
    if faults:
        raise RequestValidationError(faults)


def _invalid_texts(value: Any, location: Location) -> Iterator[Location]:
    """Yield the locations of invalid texts in a JSON value. The location of a key is that of its object."""
    waiting = [(location, value)]
    while waiting:
        location, value = waiting.pop()
        if isinstance(value, str) and _INVALID.search(value):
            yield location
        elif isinstance(value, list):
            waiting += [((*location, number), each) for number, each in enumerate(value)]
        elif isinstance(value, dict):
            for name, each in value.items():
                waiting.append((location, name) if _INVALID.search(name) else ((*location, name), each))
