"""Repairs faults in a model's response if the repair is certain, and describes each repair in a sentence.

Faults of the syntax are text or a Markdown fence around the JSON object, trailing commas, and line breaks inside a
text. Faults of the shape, compared with the JSON schema, are unknown fields, numbers as texts and texts as numbers, a
single value for a list and a list of one for a value, null for a field with a default, and choices in another case.

A repair never adds content. An incomplete response, or a text with several valid objects, stays invalid. A valid
response is returned unchanged. Libraries such as ``json-repair`` complete truncated JSON and guess missing quotation
marks, which is not certain.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from base.http import excerpt
from multi_agent.llm.endpoint import JsonSchema
from multi_agent.llm.responses.schema import schema_of

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_OBJECT_START = re.compile(r'\{\s*["}]')
_REF = "#/$defs/"


class Repaired(NamedTuple):
    """A response after its repair."""

    text: str
    """The JSON to validate. Unchanged if nothing was repaired."""
    repairs: tuple[str, ...] = ()
    """Descriptions of the repairs. Empty unless the text is valid now."""
    valid: bool = False
    before: str = ""
    """The text before the JSON object, if it was removed."""


class _Object(NamedTuple):
    """A JSON object in a text."""

    start: int
    end: int
    value: Any
    repairs: tuple[str, ...]


def repair(text: str, response_model: type[BaseModel]) -> Repaired:
    """Return the response as JSON that is valid for ``response_model``, if certain repairs make it valid.

    Otherwise the result is invalid. Its text contains the possible repairs, so that validating it reports only other
    faults.
    """
    if _is_valid(text, response_model):
        return Repaired(text, valid=True)
    try:
        fitted = [_repair_object(text, each, response_model) for each in _find_objects(text)]
    except RecursionError:  # a thousand lists inside each other
        return Repaired(text)
    valid = {each.text: each for each in reversed(fitted) if each.valid}  # equal objects count as one
    if len(valid) == 1:
        return next(iter(valid.values()))
    return fitted[0] if len(fitted) == 1 else Repaired(text)


def _repair_object(text: str, found: _Object, response_model: type[BaseModel]) -> Repaired:
    value, repairs = _Fitter(schema_of(response_model)).fit_response(found.value)
    fitted = json.dumps(value, ensure_ascii=False)
    if not _is_valid(fitted, response_model):
        return Repaired(fitted)
    around = _describe_around(text[: found.start].strip(), text[found.end :].strip())
    return Repaired(fitted, (*around, *found.repairs, *repairs), valid=True, before=text[: found.start].strip())


def _is_valid(text: str, response_model: type[BaseModel]) -> bool:
    try:
        response_model.model_validate_json(text)
    except ValidationError:
        return False
    return True


def _describe_around(before: str, after: str) -> Iterator[str]:
    if before.startswith("```") and len(before.split()) == 1 and after == "```":
        yield "removed the Markdown fence around the JSON object"
        return
    if before:
        yield f"removed the text before the JSON object: {excerpt(before)}"
    if after:
        yield f"removed the text after the JSON object: {excerpt(after)}"


def _find_objects(text: str) -> list[_Object]:
    """Return the outermost JSON objects in a text. Return none if one of them is incomplete.

    Ignores an incomplete last object that repeats an earlier one, because the model was stopped while it repeated its
    response.
    """
    found: list[_Object] = []
    at = text.find("{")
    while at >= 0:
        end = _end_of_object(text, at)
        parsed = _parse(text[at:end]) if end else None
        if end and parsed:
            found.append(_Object(at, end, *parsed))
            at = text.find("{", end)
            continue
        if _OBJECT_START.match(text, at):
            again = any(text[each.start : each.end].startswith(text[at:].strip()) for each in found)
            return found if again else []
        at = text.find("{", at + 1)
    return found


def _end_of_object(text: str, start: int) -> int:
    """Return the position after the closing brace, or 0 if there is none."""
    if not _OBJECT_START.match(text, start):
        return 0
    depth = 0
    for token in _TOKENS.finditer(text, start):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
            if not depth:
                return token.end()
    return 0


def _parse(text: str) -> tuple[Any, tuple[str, ...]] | None:
    """Return the value of a JSON text and its repairs, or None if it is not JSON."""
    without_commas = _TRAILING_COMMA.sub(lambda match: match[1] or "", text)
    commas = ("removed trailing commas",) if without_commas != text else ()
    try:
        return _load(without_commas, strict=True), commas
    except ValueError:
        pass
    try:
        return _load(without_commas, strict=False), (*commas, "escaped the control characters inside a text")
    except ValueError:
        return None


class _Decimal(float):
    """A number that keeps its digits, so that 9.50 becomes the text "9.50"."""

    digits: str

    def __new__(cls, digits: str) -> "_Decimal":
        number = super().__new__(cls, digits)
        number.digits = digits
        return number


def _load(text: str, *, strict: bool) -> Any:
    return json.loads(text, strict=strict, parse_float=_Decimal, parse_constant=_reject)


def _reject(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_Fit = tuple[Any, tuple[str, ...]]


class _Fitter:
    """Changes a value so that it matches a JSON schema. Methods return the value and a sentence for each change."""

    def __init__(self, schema: JsonSchema) -> None:
        self._schema = schema
        self._definitions = schema.get("$defs", {})

    def fit_response(self, value: Any) -> _Fit:
        """Fit the whole response. Removes an enclosing object whose only field is the response."""
        if len(value) == 1:
            (name, inner), *_ = value.items()
            if name not in self._schema.get("properties", {}) and isinstance(inner, dict):
                fitted, repairs = self.fit(inner, self._schema, "")
                return fitted, (f"took the response out of the field {name!r}", *repairs)
        return self.fit(value, self._schema, "")

    def fit(self, value: Any, schema: JsonSchema, where: str) -> _Fit:
        schema = self._resolve(schema)
        if variants := schema.get("anyOf") or schema.get("oneOf"):
            return self._fit_union(value, variants, where)
        kind = schema.get("type")
        if kind not in ("array", None) and isinstance(value, list) and len(value) == 1:
            fitted, repairs = self.fit(value[0], schema, where)
            return fitted, (_at(where, "took the only item of a list"), *repairs)
        if "const" in schema or "enum" in schema:
            return _fit_choice(value, schema.get("enum") or [schema["const"]], where)
        if kind in ("object", "array") and isinstance(value, str) and (parsed := _parse_inner(value)) is not None:
            fitted, repairs = self.fit(parsed, schema, where)
            return fitted, (_at(where, "read the JSON inside a text"), *repairs)
        if kind == "object" and isinstance(value, dict):
            return self._fit_object(value, schema, where)
        if kind == "array":
            return self._fit_list(value, schema, where)
        return _fit_scalar(value, kind, where)

    def _resolve(self, schema: JsonSchema) -> JsonSchema:
        while "$ref" in schema:
            schema = self._definitions[schema["$ref"].removeprefix(_REF)]
        return schema

    def _fit_union(self, value: Any, variants: list[JsonSchema], where: str) -> _Fit:
        """Fit the variant that needs the fewest changes. The value stays unchanged if no variant or several fit."""
        if any(self._accepts(value, each) for each in variants):
            return value, ()
        fits = [self.fit(value, each, where) for each in variants]
        fitting = [fit for fit, variant in zip(fits, variants, strict=True) if self._accepts(fit[0], variant)]
        fewest = min((len(repairs) for _, repairs in fitting), default=0)
        best = [fit for fit in fitting if len(fit[1]) == fewest]
        return best[0] if len(best) == 1 else (value, ())

    def _accepts(self, value: Any, schema: JsonSchema) -> bool:
        from jsonschema import Draft202012Validator

        return bool(Draft202012Validator({**schema, "$defs": self._definitions}).is_valid(value))

    def _fit_object(self, value: dict[str, Any], schema: JsonSchema, where: str) -> _Fit:
        known = schema.get("properties")
        values = schema.get("additionalProperties")
        if known is None:
            if not isinstance(values, dict):
                return value, ()
            return _collect((name, self.fit(each, values, _inside(where, name))) for name, each in value.items())
        names = {name: _find_name(name, value, known) for name in value}
        repairs: list[str] = []
        fitted: dict[str, Any] = {}
        for name, each in value.items():
            field = names[name]
            if field is None:
                if values is False:
                    repairs.append(_at(where, f"dropped the unknown field {name!r}"))
                else:
                    fitted[name] = each
                continue
            if field != name:
                repairs.append(_at(where, f"read the field {name!r} as {field!r}"))
            if each is None and field not in schema.get("required", ()) and not self._accepts(None, known[field]):
                repairs.append(_at(_inside(where, field), "left out null, so that the default applies"))
                continue
            fitted[field], more = self.fit(each, known[field], _inside(where, field))
            repairs += more
        return fitted, tuple(repairs)

    def _fit_list(self, value: Any, schema: JsonSchema, where: str) -> _Fit:
        items = schema.get("items", {})
        if isinstance(value, list):
            fits = [self.fit(each, items, _inside(where, index)) for index, each in enumerate(value)]
            return [each for each, _ in fits], tuple(sentence for _, repairs in fits for sentence in repairs)
        if value is None or "items" not in schema:
            return value, ()
        if value == "" and not schema.get("minItems"):
            return [], (_at(where, "read an empty text as an empty list"),)
        fitted, repairs = self.fit(value, items, where)
        return [fitted], (_at(where, "put a single value into a list"), *repairs)


def _fit_choice(value: Any, choices: list[Any], where: str) -> _Fit:
    """Return the choice that equals the value, ignoring case, white space, hyphens and the type of a number."""
    if value in choices:
        return value, ()
    same = [choice for choice in choices if _fold(choice) == _fold(value)]
    if len(same) != 1 or value is None:
        return value, ()
    return same[0], (_at(where, f"read {_show(value)} as {_show(same[0])}"),)


def _fit_scalar(value: Any, kind: Any, where: str) -> _Fit:
    fitted: Any = value
    if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        fitted = value.digits if isinstance(value, _Decimal) else str(value)
    elif kind in ("integer", "number", "boolean") and isinstance(value, str):
        fitted = _scalar_in(value, kind)
    elif kind == "integer" and isinstance(value, float) and value.is_integer():
        fitted = int(value)
    if fitted is value:
        return value, ()
    return fitted, (_at(where, f"read {_show(value)} as {_show(fitted)}"),)


def _scalar_in(text: str, kind: str) -> Any:
    """Return the text as a number or boolean if it is one, otherwise the text."""
    try:
        value = _load(text.strip().lower() if kind == "boolean" else text.strip(), strict=True)
    except ValueError:
        return text
    if kind == "boolean":
        return value if isinstance(value, bool) else text
    if isinstance(value, bool) or not isinstance(value, int | float) or (kind == "integer" and value % 1):
        return text
    return int(value) if kind == "integer" else value


def _parse_inner(text: str) -> Any:
    """Return the object or list in a JSON text, or None if the text is neither."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    parsed = _parse(text)
    return parsed[0] if parsed else None


def _find_name(name: str, value: dict[str, Any], known: JsonSchema) -> str | None:
    """Return the known field with this name, or the only absent one whose name differs in case or a plural s."""
    if name in known:
        return name
    alike = [each for each in known if each not in value and _fold(each).rstrip("s") == _fold(name).rstrip("s")]
    rivals = [each for each in value if each not in known and _fold(each).rstrip("s") == _fold(name).rstrip("s")]
    return alike[0] if len(alike) == len(rivals) == 1 else None


def _collect(fits: Iterator[tuple[str, _Fit]]) -> _Fit:
    collected = list(fits)
    repairs = tuple(sentence for _, (_, sentences) in collected for sentence in sentences)
    return {name: value for name, (value, _) in collected}, repairs


def _fold(value: Any) -> str:
    return re.sub(r"[\s_-]+", "_", str(value).strip().casefold())


def _inside(where: str, name: str | int) -> str:
    return f"{where}.{name}" if where else str(name)


def _at(where: str, what: str) -> str:
    return f"{where}: {what}" if where else what


def _show(value: Any) -> str:
    return excerpt(value.digits if isinstance(value, _Decimal) else json.dumps(value, ensure_ascii=False))
