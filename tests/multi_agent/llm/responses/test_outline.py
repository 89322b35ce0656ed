"""The outline of a response in the prompt."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, create_model

from multi_agent.llm.responses.schema import outline_of
from multi_agent.llm.responses.typed import with_schema
from multi_agent.model import Message


class Quote(BaseModel):
    """Words of a passage."""

    passage: int = Field(ge=1, le=12, description="number of the passage")
    words: str


class Claim(BaseModel):
    """One sentence."""

    text: str = Field(min_length=1)
    quotes: list[Quote] = Field(min_length=1, description="the quotes that state it")


class Answer(BaseModel):
    """An answer with its claims."""

    model_config = ConfigDict(title="Something else")

    sufficient: bool = Field(description="whether it answers\n    the question")
    layout: Literal["prose", "list"] = "prose"
    sure: float | None = None
    range: tuple[int, int]
    names: dict[str, list[str]]
    claims: list[Claim]


def test_fields_have_types_choices_and_descriptions_in_order() -> None:
    assert (
        outline_of(Answer)
        == """\
{ // An answer with its claims.
  "sufficient": boolean, // whether it answers the question
  "layout": "prose" | "list", // optional
  "sure": number | null, // optional
  "range": [integer, integer],
  "names": Record<string, string[]>,
  "claims": { // One sentence.
    "text": string,
    "quotes": { // at least 1; the quotes that state it; Words of a passage.
      "passage": integer, // number of the passage
      "words": string
    }[]
  }[]
}"""
    )


def test_a_part_with_several_uses_is_named() -> None:
    class Comparison(BaseModel):
        first: Quote = Field(description="the older one")
        second: Quote

    assert (
        outline_of(Comparison)
        == """\
{
  "first": Quote, // the older one
  "second": Quote
}
Quote is:
{ // Words of a passage.
  "passage": integer, // number of the passage
  "words": string
}"""
    )


class Node(BaseModel):
    name: str
    children: list[Node]


def test_a_part_that_contains_itself_is_named() -> None:
    class Tree(BaseModel):
        root: Node
        size: int

    assert '"root": Node,' in outline_of(Tree)
    assert '"children": Node[]' in outline_of(Tree)


class Search(BaseModel):
    tool: Literal["search"] = Field(description="the tool")
    query: str
    why: str = Field(description="what it is for")


class Fetch(BaseModel):
    tool: Literal["fetch", "load"] = Field(description="the tool")
    url: str = Field(description="address")
    why: str = Field(description="what it is for")


@pytest.mark.parametrize("call", [Search | Fetch, Annotated[Search | Fetch, Field(discriminator="tool")]])
def test_variants_of_a_union_are_merged(call: type) -> None:
    outline = outline_of(create_model("Turn", calls=(list[call], Field(description="calls"))))  # type: ignore[valid-type]
    assert (
        outline
        == """\
{
  "calls": { // calls
    "tool": "search" | "fetch" | "load", // the tool
    "query": string, // only with tool "search"
    "why": string, // what it is for
    "url": string // only with tool "fetch" | "load"; address
  }[]
}"""
    )


def test_other_unions_list_their_types() -> None:
    class Cell(BaseModel):
        values: list[int | str]
        choices: list[Literal["a", "b"]]
        more: int | str | Quote

    lines = outline_of(Cell).splitlines()
    assert lines[1:4] == [
        '  "values": (integer | string)[],',
        '  "choices": ("a" | "b")[],',
        '  "more": integer | string | { // Words of a passage.',
    ]


def test_limits_and_numbers_that_vary_are_left_out() -> None:
    def shape(passages: int) -> type[BaseModel]:
        number = (int, Field(ge=1, le=passages))
        evidence = Literal[tuple(range(1, passages))]  # type: ignore[valid-type]
        return create_model("Shape", passage=number, evidence=(list[evidence], Field(max_length=passages)))

    assert outline_of(shape(3)) == outline_of(shape(40)) == '{\n  "passage": integer,\n  "evidence": integer[]\n}'


def test_the_outline_follows_the_system_message() -> None:
    system, user = with_schema([Message.system("You compare."), Message.user("Which one?")], Quote)
    assert system.content.startswith("You compare.\n\nAnswer with one JSON object and nothing else, in this form:\n{")
    assert user == Message.user("Which one?")
    assert with_schema([user], Quote)[0].role == "system"
