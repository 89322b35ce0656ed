"""Write the models of ``candor_client`` from the OpenAPI description of the service.

make client

Responses become models of pydantic (``models.py``), requests become typed dictionaries (``options.py``). ``client.py``
is ``aio.py`` without waiting.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from api.bootstrap import Candor
from api.http.app import make_app
from api.settings import Settings

ROOT = Path(__file__).parent.parent
CLIENT = ROOT / "candor_client"
RESPONSES = (
    "Answer", "CollectionInfo", "DescribedEvent", "DocumentRecord", "Grid", "Job", "Problem", "RemovedSource",
    "ScoredPassage", "SourceRecord",
)  # fmt: skip
OPTIONS = {
    "FillRequest": ("at",),
    "NewSource": ("address",),
    "ResearchRequest": ("question", "collection", "wait", "stream"),
    "SearchRequest": ("query", "collection"),
    "TableRequest": ("name", "collection", "columns"),
}
"""Requests whose fields are options of methods, with the fields that the methods set themselves."""
ARGUMENTS = ("Column",)
_LEFT_OUT = {
    "examples", "exclusiveMaximum", "exclusiveMinimum", "maxItems", "maxLength", "maximum", "minItems", "minLength",
    "minimum", "pattern", "patternProperties", "title",
}  # fmt: skip
"""Keywords about limits, which the service checks, and titles."""
_GENERATOR = (
    "--input-file-type=openapi", "--target-python-version=3.11", "--enum-field-as-literal=all",
    "--use-schema-description", "--use-field-description", "--use-single-line-docstring", "--use-standard-collections",
    "--use-union-operator", "--use-double-quotes", "--disable-timestamp", "--formatters", "builtin",
)  # fmt: skip
_MODELS = (
    "--output-model-type=pydantic_v2.BaseModel", "--strict-nullable", "--use-one-literal-as-default",
    "--collapse-root-models",
)  # fmt: skip
_DICTIONARIES = ("--output-model-type=typing.TypedDict", "--no-use-closed-typed-dict")
_SYNCHRONOUS = {
    r"\basync (?=def|for|with)|\bawait ": "",
    r"\b(__)?a(?=(enter|exit|iter)__|(iter_bytes|read|close)\b)": r"\1",
    r"\bAsync(?=Candor|Client|Iterator|Run)|\basync(?=contextmanager)": "",
    r"\basyncio\b": "time",
    r"for event in (.*):\n +yield event": r"yield from \1",
    r"`make client` writes .*": 'Written by docs/build_client.py from ``aio.py``."""',
}
"""Patterns of asynchronous code, with their replacements."""


def responses() -> dict[str, Any]:
    """Return the schemas of the responses that the client reads."""
    found = _with_parts(_schemas(), RESPONSES)
    for schema in found.values():
        for name, field in schema.get("properties", {}).items():
            if field.get("type") == "object" and name not in schema.get("required", ()):
                field.setdefault("default", {})  # made for each object, which the description does not say
    return found


def options() -> dict[str, Any]:
    """Return the schemas of the options that the client sends."""
    schemas = _schemas()
    for name, given in OPTIONS.items():
        properties = {field: value for field, value in schemas[name]["properties"].items() if field not in given}
        schemas[name] = {**schemas[name], "properties": properties, "required": []}
    return _with_parts(schemas, (*OPTIONS, *ARGUMENTS))


def client() -> str:
    """Return the client to call."""
    code = (CLIENT / "aio.py").read_text(encoding="utf-8")
    for pattern, replacement in _SYNCHRONOUS.items():
        code = re.sub(pattern, replacement, code)
    formatted = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", str(CLIENT / "client.py"), "-"]
    return subprocess.run(formatted, input=code, capture_output=True, text=True, check=True).stdout


def _schemas() -> dict[str, Any]:
    description = make_app(Candor(Settings(home=Path("only described")))).openapi()
    schemas: dict[str, Any] = _plain(description["components"]["schemas"], inside=False)
    return schemas


def _plain(schema: Any, *, inside: bool) -> Any:
    """Return a schema without limits, which may have fields that it does not name.

    ``inside`` is whether the keys are keywords, and not names of fields or schemas.
    """
    if isinstance(schema, list):
        return [_plain(each, inside=True) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if patterns := inside and schema.get("patternProperties"):
        schema = {**schema, "additionalProperties": next(iter(patterns.values()))}
    return {
        key: _plain(value, inside=not (inside and key in ("properties", "mapping")))
        for key, value in schema.items()
        if not inside or not (key in _LEFT_OUT or (key == "additionalProperties" and value is False))
    }


def _with_parts(schemas: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the named schemas and those that they refer to, by name."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += re.findall(r'#/components/schemas/([^"]+)', json.dumps(schemas[name]))
    return {name: schemas[name] for name in sorted(found)}


def write(generator: str, schemas: dict[str, Any], output: Path, *arguments: str) -> None:
    """Let the generator write a module."""
    info = {"title": "Candor", "version": "1"}
    document = {"openapi": "3.1.0", "info": info, "paths": {}, "components": {"schemas": schemas}}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "openapi.json"
        source.write_text(json.dumps(document))
        subprocess.run([generator, "--input", source, "--output", output, *_GENERATOR, *arguments], check=True)
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", output], check=True)


def main(generator: str) -> None:
    """Write the three modules."""
    write(generator, responses(), CLIENT / "models.py", *_MODELS)
    write(generator, options(), CLIENT / "options.py", *_DICTIONARIES)
    (CLIENT / "client.py").write_text(client(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
