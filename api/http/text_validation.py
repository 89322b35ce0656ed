"""What may stand in a text that is sent here, whatever it is sent for.

Not the character U+0000, which Postgres keeps in no text; and no half of a surrogate pair, which JSON can name and
UTF-8 cannot hold, so that it could neither be stored nor told of.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.requests import HTTPConnection
from starlette.exceptions import HTTPException

_ILLEGIBLE = re.compile("[\0\ud800-\udfff]")
_MESSAGE = "A text cannot hold the character U+0000 or half of a surrogate pair"

Place = tuple[str | int, ...]


async def require_legible(connection: HTTPConnection) -> None:
    """A dependency of every route. Raises RequestValidationError, which names the places; HTTPException (404) for an
    address that nothing can have."""
    if any(_ILLEGIBLE.search(str(part)) for part in connection.path_params.values()):
        raise HTTPException(HTTPStatus.NOT_FOUND, "Nothing has an address with the character U+0000 in it.")
    sent: list[tuple[Place, Any]] = [(("query", name), value) for name, value in connection.query_params.multi_items()]
    if isinstance(connection, Request) and connection.scope["route"].body_field is not None:
        sent.append((("body",), await _parsed(connection)))
    faults = [
        {"type": "illegible_text", "loc": place, "msg": _MESSAGE}
        for within, value in sent for place in _illegible(value, within)
    ]  # fmt: skip
    if faults:
        raise RequestValidationError(faults)


async def _parsed(request: Request) -> Any:
    """The body, which the route has read already; None if it is no JSON, which the route tells."""
    try:
        return json.loads(await request.body())
    except ValueError:
        return None


def _illegible(value: Any, place: Place) -> Iterator[Place]:
    """Where in a value of JSON such texts stand; of a name, where that stands which it is in."""
    waiting = [(place, value)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str) and _ILLEGIBLE.search(value):
            yield place
        elif isinstance(value, list):
            waiting += [((*place, number), each) for number, each in enumerate(value)]
        elif isinstance(value, dict):
            for name, each in value.items():
                waiting.append((place, name) if _ILLEGIBLE.search(name) else ((*place, name), each))
