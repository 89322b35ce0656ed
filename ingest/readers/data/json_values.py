"""Parses JSON, JSON lines, and JSON with comments or without quotes around its keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ingest.decoding import Warn, without_escapes
from ingest.readers.data.values import Record, Value
from ingest.readers.data.yaml_values import yaml_values

_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')|//(?P<line>[^\n]*)|/\*(?P<block>(?:[^*]|\*(?!/))*+)(?:\*/)?"""
)
_NAMED = 5  # lines that a warning names


def json_value(text: str) -> Value:
    """Parse one JSON value. Raises ValueError or RecursionError."""
    value: Value = json.loads(
        text,
        strict=False,
        parse_int=str,
        parse_float=str,
        parse_constant=str,
        object_pairs_hook=lambda fields: Record(tuple(fields)),
    )
    return value


def json_values(text: str, warn: Warn) -> list[Value]:
    """Parse a JSON file: one value, a value per line, or a value with comments. Raises ValueError."""
    try:
        return [json_value(text)]
    except ValueError:
        for parse in (json_lines, _commented):
            try:
                return parse(text, warn)
            except ValueError:
                continue
        raise


def json_lines(text: str, warn: Warn) -> list[Value]:
    """Parse JSON lines. Invalid ones are text after the others, as a warning says. Raises ValueError if most are."""
    values: list[Value] = []
    invalid: dict[int, str] = {}
    for number, line in enumerate(text.strip("\n").split("\n"), 1):
        try:
            values += [json_value(line.strip("\x1e\r "))] if line.strip() else []
        except (ValueError, RecursionError):
            invalid[number] = line
    if len(invalid) >= len(values):
        raise ValueError("its lines are not valid JSON")
    if invalid:
        numbers = [str(number) for number in invalid]
        more = f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else ""
        warn(f"Not valid JSON, read as text: line {', '.join(numbers[:_NAMED])}{more}.")
    return [values[0] if len(values) == 1 else values, *invalid.values()]


def _commented(text: str, warn: Warn) -> list[Value]:
    """Parse as YAML, of which JSON is a part. It has comments, trailing commas and keys without quotes."""
    source = _TOKEN.sub(lambda token: "".join(_as_yaml(token)), text)
    if not re.match(r"(?:\s|#[^\n]*\n)*[{\[]", source):
        raise ValueError("it is no object or array")
    return yaml_values(source, warn)


def _as_yaml(token: re.Match[str]) -> Iterator[str]:
    if token["string"] is not None:
        string = without_escapes(token["string"])
        inner = string[1:-1].replace("\\'", "'").replace('\\"', '"').replace('"', '\\"')
        yield f'"{inner}"' if string[0] == "'" else string
    elif token["line"] is not None:
        yield f" #{token['line']}"
    else:
        yield from (f" #{line.strip().removeprefix('*')}\n" for line in token["block"].split("\n") if line.strip("* "))
