"""How the API is described to programs (OpenAPI), where what FastAPI makes of the routes says less, or is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

_METHODS = ("get", "put", "post", "delete", "patch")


def describe(app: FastAPI) -> None:
    """Every operation in a sentence, the first one of its description; only problems that it can answer with."""
    before = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            for operation in operations(before()):
                operation["summary"] = _first_sentence(operation["description"])
                # FastAPI expects it of every route with parameters; those that can be wrong are documented as problems.
                if "HTTPValidationError" in str(operation["responses"].get("422")):
                    del operation["responses"]["422"]
        return before()

    app.openapi = described  # type: ignore[method-assign]


def operations(description: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Those of an OpenAPI description."""
    for path in description["paths"].values():
        yield from (operation for method, operation in path.items() if method in _METHODS)


def _first_sentence(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split()).split(". ")[0].removesuffix(".")
