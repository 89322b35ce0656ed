"""The JSON schemas of response types, and their outlines for the prompt: a JSON object with types and comments.

    { // A pump.
      "kind": "heat pump" | "well pump", // how it works
      "parts": string[] // optional; at least 1; its parts
    }

The outline contains all fields in order with their types, choices and descriptions. It omits everything that varies
between calls of one kind, such as ``maximum`` and choices of numbers, so that all prompts begin with the same text.
The endpoint enforces these limits with the full schema.

The outline has quoted names and no trailing comma, because models without constrained decoding copy its form.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from multi_agent.llm.endpoint import JsonSchema

_INDENT = "  "
_REF = "#/$defs/"


def outline_schema(schema: JsonSchema) -> str:
    """Return the outline of an object's JSON schema, with named parts below it."""
    definitions = schema.get("$defs", {})
    named = _named(schema, definitions)
    outline = _Outline(definitions, named)
    parts = [f"{name} is:\n{outline.render(definitions[name], '')}" for name in named]
    return "\n".join([outline.render(schema, ""), *parts])


def _named(schema: JsonSchema, definitions: Mapping[str, JsonSchema]) -> tuple[str, ...]:
    """Return the names of the objects that several places refer to, or that contain themselves."""
    uses = Counter(_references(schema))
    return tuple(name for name, count in uses.items() if count > 1 and "properties" in definitions[name])


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference.removeprefix(_REF)
        yield from (name for value in schema.values() for name in _references(value))
    elif isinstance(schema, list):
        yield from (name for value in schema for name in _references(value))


class _Outline:
    """Renders the parts of one schema. Objects in ``named`` are rendered as their name."""

    def __init__(self, definitions: Mapping[str, JsonSchema], named: Sequence[str]) -> None:
        self._definitions, self._named = definitions, named

    def render(self, schema: JsonSchema, indent: str) -> str:
        """Return the type of a value. The lines after the first begin with ``indent``."""
        if (name := schema.get("$ref", "").removeprefix(_REF)) in self._named:
            return str(name)
        schema = self._resolve(schema)
        if variants := schema.get("anyOf") or schema.get("oneOf"):
            return self._union([self._resolve(each) for each in variants], variants, indent)
        if "const" in schema or "enum" in schema:
            return _choices(schema)
        match schema.get("type"):
            case "object" if "properties" in schema:
                return self._object(self._fields([schema]), indent, schema.get("description", ""))
            case "object":
                values = schema.get("additionalProperties")
                return f"Record<string, {self.render(values, indent) if isinstance(values, dict) else 'any'}>"
            case "array" if "prefixItems" in schema:
                return f"[{', '.join(self.render(each, indent) for each in schema['prefixItems'])}]"
            case "array":
                items = self.render(schema.get("items", {}), indent)
                return f"({items})[]" if " | " in items and not items.startswith("{") else f"{items}[]"
            case None:
                return "any"
            case kind:
                return str(kind)

    def _resolve(self, schema: JsonSchema) -> JsonSchema:
        """Return the definition that a reference names, merged with the keywords and description at the reference."""
        while "$ref" in schema:
            definition = self._definitions[schema["$ref"].removeprefix(_REF)]
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            description = _join(*(each.get("description", "") for each in (rest, definition)))
            schema = {**definition, **rest, "description": description}
        return schema

    def _union(self, variants: list[JsonSchema], references: list[JsonSchema], indent: str) -> str:
        objects = [each for each in variants if "properties" in each]
        if len(objects) > 1 and len(objects) == len(variants) and _tag(objects):
            comment = "; ".join(dict.fromkeys(filter(None, (each.get("description", "") for each in objects))))
            return self._object(self._fields(objects), indent, comment)
        return " | ".join(dict.fromkeys(self.render(each, indent) for each in references))

    def _fields(self, variants: list[JsonSchema]) -> Iterator[tuple[str, JsonSchema, str]]:
        """Yield the fields of an object as name, schema and comment.

        The variants of a union are merged. The comment of a field that only some variants have names these variants.
        """
        tag = _tag(variants)
        for name in dict.fromkeys(name for each in variants for name in each["properties"]):
            having = [each for each in variants if name in each["properties"]]
            if name == tag:
                first = having[0]["properties"][name]
                values = [value for each in having for value in _values(each["properties"][name])]
                yield name, {**first, "const": values[0], "enum": values}, ""
                continue
            for forms in _group([(each["properties"][name], each) for each in having]):
                owners = [each for _, each in forms]
                optional = "" if all(name in each.get("required", ()) for each in owners) else "optional"
                only = "" if len(owners) == len(variants) else f"only with {tag} {_alternatives(owners, tag)}"
                yield name, forms[0][0], _join(only, optional)

    def _object(self, fields: Iterator[tuple[str, JsonSchema, str]], indent: str, comment: str) -> str:
        inner = indent + _INDENT
        lines = [f"{{ // {_line(comment)}" if comment else "{"]
        shown = list(fields)
        for number, (name, schema, note) in enumerate(shown, start=1):
            lines += self._field(name, schema, note, inner, "," if number < len(shown) else "")
        return "\n".join([*lines, f"{indent}}}"])

    def _field(self, name: str, schema: JsonSchema, note: str, indent: str, comma: str) -> Iterator[str]:
        """Yield the lines of a field, with its comment at the end of the first one."""
        first, *rest = self.render(schema, indent).split("\n")
        head, _, inner = first.partition(" // ")
        own = _line(schema.get("description", ""))
        comment = _join(note, _limits(schema), inner if inner.startswith(own) else _join(own, inner))
        end = "" if rest else comma
        yield f"{indent}{json.dumps(name, ensure_ascii=False)}: {head}{end}" + (f" // {comment}" if comment else "")
        yield from rest[:-1]
        if rest:
            yield f"{rest[-1]}{comma}"


def _tag(variants: Sequence[JsonSchema]) -> str:
    """Return the field whose choices distinguish the variants of a union. Empty for a single variant."""
    if len(variants) < 2:
        return ""
    for name in variants[0]["properties"]:
        values = [_values(each["properties"].get(name, {})) for each in variants]
        if all(values) and len({value for each in values for value in each}) == sum(map(len, values)):
            return str(name)
    return ""


def _values(schema: JsonSchema) -> list[Any]:
    return [schema["const"]] if "const" in schema else schema.get("enum", [])


def _group(forms: list[tuple[JsonSchema, JsonSchema]]) -> list[list[tuple[JsonSchema, JsonSchema]]]:
    """Return pairs of a field's schema and its variant, in lists of equal schemas."""
    groups: dict[str, list[tuple[JsonSchema, JsonSchema]]] = {}
    for form in forms:
        groups.setdefault(json.dumps(form[0], sort_keys=True), []).append(form)
    return list(groups.values())


def _alternatives(variants: Sequence[JsonSchema], tag: str) -> str:
    return _or(value for each in variants for value in _values(each["properties"][tag]))


def _choices(schema: JsonSchema) -> str:
    values = schema.get("enum") or [schema["const"]]
    numbers = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
    return "integer" if numbers else _or(values)


def _or(values: Iterable[Any]) -> str:
    return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)


def _limits(schema: JsonSchema) -> str:
    least = f"at least {schema['minItems']}" if schema.get("minItems") and "items" in schema else ""
    return _join(least, f"matches {schema['pattern']}" if "pattern" in schema else "")


def _join(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _line(text: str) -> str:
    return " ".join(text.split())


@lru_cache(maxsize=512)
def schema_of(response_model: type[BaseModel]) -> JsonSchema:
    """Return the schema of ``response_model``. Callers share it and must not change it."""
    return response_model.model_json_schema()


@lru_cache(maxsize=512)
def outline_of(response_model: type[BaseModel]) -> str:
    """Return the outline of ``response_model`` for a prompt."""
    return outline_schema(schema_of(response_model))
