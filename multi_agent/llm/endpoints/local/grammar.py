"""A JSON schema as a grammar that allows no free white space.

The libraries' own grammars allow white space between all tokens of JSON, and small models then write nothing else
until the output limit. The grammar is in the subset of EBNF that xgrammar and llama.cpp (GBNF) share. It covers the
schemas that pydantic writes: objects with required and optional properties in their order, arrays with bounds, fixed
tuples, enums, constants, references, alternatives, short lengths of strings, small ranges of integers. It does not
enforce ``pattern``, ``format`` and ``uniqueItems``; validation of the response does.
"""

import json
from typing import Any

from multi_agent.llm.endpoint import JsonSchema

_COMMON = r"""
char ::= [^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F] [0-9a-fA-F])
string ::= "\"" char* "\""
integer ::= "-"? ("0" | [1-9] [0-9]{0,14})
number ::= integer ("." [0-9]{1,9})? ([eE] [-+]? [0-9]{1,3})?
value ::= string | number | "true" | "false" | "null" | "[" (value (", " value)*)? "]" | object
object ::= "{" (string ": " value (", " string ": " value)*)? "}"
"""
_KINDS = {"boolean": '("true" | "false")', "null": '"null"', "number": "number"}
_LONGEST_RANGE = 64  # integers of a range that are listed one by one
_LONGEST_STRING = (
    32  # characters; with a bound of 160, OpenVINO GenAI took 0.83 s of CPU time per token instead of 0.28
)


def grammar_of(schema: JsonSchema) -> str:
    """Return the grammar. Raises KeyError for a reference to a missing definition."""
    rules = _Rules(schema.get("$defs", {}))
    root = rules.expression(schema)
    lines = [f"root ::= {root}", *(f"{name} ::= {body}" for name, body in rules.bodies.items())]
    return "\n".join(lines) + _COMMON


class _Rules:
    """Writes expressions, and names those that are used more than once or by reference."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self.bodies: dict[str, str] = {}
        self._definitions = definitions
        self._referenced: dict[str, str] = {}

    def expression(self, schema: Any) -> str:
        """Return an expression for any schema. An empty one, or ``true``, allows every value."""
        if not isinstance(schema, dict):
            return "value"
        if "$ref" in schema:
            return self._reference(schema["$ref"].rpartition("/")[2])
        for alternatives in (schema.get("anyOf"), schema.get("oneOf"), schema.get("allOf")):
            if alternatives:
                return _one_of([self.expression(each) for each in alternatives])
        if "const" in schema:
            return _literal(json.dumps(schema["const"], ensure_ascii=False))
        if "enum" in schema:
            return _one_of([_literal(json.dumps(each, ensure_ascii=False)) for each in schema["enum"]])
        return self._of_type(schema, schema.get("type"))

    def _of_type(self, schema: JsonSchema, kind: Any) -> str:
        if isinstance(kind, list):
            return _one_of([self._of_type(schema, each) for each in kind])
        match kind:
            case "object":
                return self._object(schema)
            case "array":
                return self._array(schema)
            case "string":
                return _string(schema)
            case "integer":
                return _integer(schema)
        return _KINDS.get(str(kind), "value")

    def _reference(self, name: str) -> str:
        if name not in self._referenced:
            rule = self._referenced[name] = self._name("")  # before its body, which may refer to itself
            self.bodies[rule] = self.expression(self._definitions[name])
        return self._referenced[name]

    def _object(self, schema: JsonSchema) -> str:
        properties, required = schema.get("properties", {}), schema.get("required", ())
        if not properties:
            extra = schema.get("additionalProperties", True)
            entries = self._list(f'string ": " {self.expression(extra)}', 0, None if extra else 0)
            return f'"{{" {entries} "}}"'
        # From the last property to the first: what may follow it, if nothing (`first`) or something was written before.
        first = later = '""'
        for name, value in reversed(properties.items()):
            member = self._name(f"{_literal(json.dumps(name, ensure_ascii=False) + ': ')} {self.expression(value)}")
            written, added = f"{member} {later}", f'", " {member} {later}'
            if name in required:
                first, later = written, added
            else:
                first, later = self._name(f"{written} | {first}"), self._name(f"{added} | {later}")
        return f'"{{" {first} "}}"'

    def _array(self, schema: JsonSchema) -> str:
        if "prefixItems" in schema:
            items = ' ", " '.join(self.expression(each) for each in schema["prefixItems"])
            return f'"[" {items} "]"'
        item = self.expression(schema.get("items", True))
        return f'"[" {self._list(item, schema.get("minItems", 0), schema.get("maxItems"))} "]"'

    def _list(self, item: str, least: int, most: int | None) -> str:
        """Return the expression for ``least`` to ``most`` items, separated by commas."""
        if most == 0:
            return '""'
        name = self._name(item)
        upper = "" if most is None else most - 1
        more = f'{name} (", " {name}){{{max(0, least - 1)},{upper}}}' if most != 1 else name
        return more if least else f"({more})?"

    def _name(self, body: str) -> str:
        name = f"rule{len(self.bodies)}"
        self.bodies[name] = body
        return name


def _string(schema: JsonSchema) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if most is None or most > _LONGEST_STRING:
        return "string" if not least else '"\\"" char+ "\\""'
    return f'"\\"" char{{{min(least, most)},{most}}} "\\""'


def _integer(schema: JsonSchema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None or most is None or most - least >= _LONGEST_RANGE:
        return "integer"
    return _one_of([f'"{number}"' for number in range(int(least), int(most) + 1)])


def _one_of(expressions: list[str]) -> str:
    return f"({' | '.join(expressions)})"


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
