"""The OpenAPI description of the service, where FastAPI's generated one is incomplete or wrong."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI

from api.http.errors import problem_responses
from api.problems import FailedRun, Problem

ABOUT = """Cited, checked and explained answers from your own documents.

Ask questions with `POST /v1/research`. Follow a run with `GET /v1/runs/{run_id}/events`. Every error response is a
problem (`application/problem+json`) that describes the error and what to do."""
_SECURITY = {
    "key": {
        "type": "http", "scheme": "bearer", "description": "A key of `POST /v1/keys`. Not needed on localhost.",
    },
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same key in another header."},
}  # fmt: skip
_METHODS = ("get", "put", "post", "delete", "patch")


def customize_openapi(app: FastAPI) -> None:
    """Extend the description that FastAPI generates. It is generated on the first request and cached."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _extend(generate())
        return generate()

    app.openapi = openapi  # type: ignore[method-assign]


def operations(description: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the operations of an OpenAPI description."""
    for path in description["paths"].values():
        yield from (operation for method, operation in path.items() if method in _METHODS)


def _extend(description: dict[str, Any]) -> None:
    components = description["components"]
    components["securitySchemes"] = _SECURITY
    description["security"] = [{}, *({name: []} for name in _SECURITY)]
    for operation in operations(description):
        operation["summary"] = _first_sentence(operation["description"])
        # FastAPI adds this to every route with parameters. Routes that can reject input document a problem instead.
        if "HTTPValidationError" in str(operation["responses"].get("422")):
            del operation["responses"]["422"]
        if "requestBody" in operation:
            operation["responses"].setdefault("413", problem_responses(413)[413])
    schemas = components["schemas"]
    schemas["Problem"] = Problem.model_json_schema()
    failed = FailedRun.model_json_schema(ref_template="#/components/schemas/{model}")
    failed.pop("$defs")  # of the answer, which routes describe
    schemas["FailedRun"] = failed
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)


def _first_sentence(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split()).split(". ")[0].removesuffix(".")
