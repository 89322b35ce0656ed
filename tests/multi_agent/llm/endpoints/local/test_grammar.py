"""Grammars of JSON schemas, translated to regular expressions and matched against texts."""

from __future__ import annotations

import json
import re
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from multi_agent.llm.endpoints.local.grammar import grammar_of

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|[a-zA-Z][a-zA-Z0-9]*|\{[0-9,]+\}|\S')
_DEPTH = 12


def allows(schema: dict[str, object], text: str) -> bool:
    rules = dict(line.split(" ::= ", 1) for line in grammar_of(schema).splitlines() if line)

    def translate(rule: str, depth: int) -> str:
        if depth > _DEPTH:
            return "(?!)"
        return "".join(part(token, depth) for token in _TOKEN.findall(rules[rule]))

    def part(token: str, depth: int) -> str:
        if token.startswith('"'):
            return f"(?:{re.escape(json.loads(token))})"
        return f"(?:{translate(token, depth + 1)})" if token[0].isalpha() else token

    # Rules for arbitrary values refer to themselves.
    rules |= {"value": "string | number", "object": '"{}"'}
    return bool(re.fullmatch(translate("root", 0), text))


class Part(BaseModel):
    kind: Literal["wall", "roof"]
    size: int = Field(ge=1, le=12)
    weight: float | None


class House(BaseModel):
    name: str
    part: Part
    rooms: list[str] = Field(min_length=1, max_length=2)
    note: str = ""
    owner: str | None = None
    pair: tuple[int, str] = (1, "a")
    prices: dict[str, float] = {}
    sold: bool


HOUSE = {
    "name": "Zum „Löwen\" \\ ☀",
    "part": {"kind": "roof", "size": 12, "weight": -1.5e10},
    "rooms": ["hall"],
    "note": "",
    "owner": None,
    "pair": [3, "b"],
    "prices": {"2024": 3.5},
    "sold": False,
}  # fmt: skip
SCHEMA = House.model_json_schema()


def test_a_complete_object_is_allowed() -> None:
    assert allows(SCHEMA, json.dumps(HOUSE))
    assert allows(SCHEMA, json.dumps(HOUSE, ensure_ascii=False))


@pytest.mark.parametrize("left_out", [("note",), ("owner", "pair"), ("note", "owner", "pair", "prices")], ids=str)
def test_optional_properties_may_be_left_out(left_out: tuple[str, ...]) -> None:
    assert allows(SCHEMA, json.dumps({name: value for name, value in HOUSE.items() if name not in left_out}))


@pytest.mark.parametrize(
    "change",
    [
        {"sold": "no"},
        {"rooms": []},
        {"rooms": ["a", "b", "c"]},
        {"part": {"kind": "door", "size": 1, "weight": None}},
        {"part": {"kind": "wall", "size": 13, "weight": None}},
        {"part": {"kind": "wall", "size": 1}},
        {"extra": 1},
        {"pair": [1]},
    ],
    ids=str,
)
def test_what_the_schema_forbids_cannot_be_written(change: dict[str, object]) -> None:
    assert not allows(SCHEMA, json.dumps(HOUSE | change))


def test_there_is_no_free_white_space() -> None:
    assert not allows(SCHEMA, json.dumps(HOUSE, indent=1))
    assert not allows(SCHEMA, json.dumps(HOUSE) + "\n")
    assert not allows({"type": "string"}, '"two\nlines"')


def test_strings_keep_their_length() -> None:
    schema = {"type": "string", "minLength": 2, "maxLength": 3}
    assert [allows(schema, json.dumps("x" * length)) for length in range(1, 5)] == [False, True, True, False]


def test_all_properties_may_be_optional() -> None:
    class Options(BaseModel):
        a: Annotated[int, Field(ge=1, le=2)] = 1
        b: str = ""

    schema = Options.model_json_schema()
    assert all(allows(schema, text) for text in ("{}", '{"a": 1}', '{"b": "x"}', '{"a": 2, "b": ""}'))
    assert not any(allows(schema, text) for text in ('{"b": "x", "a": 1}', '{"a": 1, }', '{"a": 3}'))


class Tree(BaseModel):
    children: list[Tree]


def test_a_type_may_refer_to_itself() -> None:
    assert "rule0" in grammar_of(Tree.model_json_schema())
