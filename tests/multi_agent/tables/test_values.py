"""Columns as people write them, and values of cells."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from multi_agent.errors import TableError
from multi_agent.tables.typed_values import has_date, has_number, may_have_number, read_value
from multi_agent.tables.values import Column, ColumnType


@pytest.mark.parametrize(
    ("written", "name", "question", "kind"),
    [
        ("Issuer", "Issuer", "Issuer", ColumnType.TEXT),
        ("Revenue in million:number", "Revenue in million", "Revenue in million", ColumnType.NUMBER),
        ("Auditor=Who audits: which firm?", "Auditor", "Who audits: which firm?", ColumnType.TEXT),
        ("Signed=When was it signed?:date", "Signed", "When was it signed?", ColumnType.DATE),
        ("Risk:choice(low | high)", "Risk", "Risk", ColumnType.CHOICE),
    ],
)
def test_a_column_is_a_name_with_a_question_and_a_type(written: str, name: str, question: str, kind: str) -> None:
    column = Column.parse(written)
    assert (column.name, column.question, column.type) == (name, question, kind)


def test_a_type_can_have_a_unit_or_choices() -> None:
    assert Column.parse("Revenue:number(EUR million)").unit == "EUR million"
    assert Column.parse("Risk:choice(low | high)").choices == ("low", "high")
    with pytest.raises(TableError, match="There is no type 'numbr'"):
        Column.parse("Revenue:numbr")
    for wrong in ("Risk:choice", "Issuer:text(EUR)", ":number"):
        with pytest.raises(ValidationError):
            Column.parse(wrong)


@pytest.mark.parametrize(
    ("column", "texts", "value"),
    [
        ("x:number", ["94836.5"], 94836.5),
        ("x:number", ["1,234,567"], 1234567),
        ("x:date", ["28 September 2024"], "2024-09-28"),
        ("x:date", ["2024-09"], "2024-09"),
        ("x:yes_no", ["No."], False),
        ("x:choice(Low|High)", ["high"], "High"),
        ("x:list", ["a", "b", "a"], ("a", "b")),
        ("x", ["a"], "a"),
    ],
)
def test_a_value_has_the_type_of_its_column(column: str, texts: list[str], value: object) -> None:
    assert read_value(Column.parse(column), texts) == value


@pytest.mark.parametrize(
    ("column", "text"), [("x:number", "about 5"), ("x:number", "1,234"), ("x:date", "03/04/2024"), ("x:yes_no", "both")]
)
def test_a_value_that_does_not_fit_or_is_ambiguous_is_rejected(column: str, text: str) -> None:
    with pytest.raises(TableError):
        read_value(Column.parse(column), [text])


def test_a_number_is_found_in_the_scale_of_its_column() -> None:
    million, plain = Column.parse("Income:number(USD million)"), Column.parse("Income:number")
    assert has_number(14700, million, ["It was $14.7 billion."])
    assert not has_number(14700, plain, ["It was $14.7 billion."])
    assert may_have_number(14700, ["It was 14.7, in billions."])
    assert not may_have_number(14800, ["It was 14.7, in billions."])
    assert has_number(-5, plain, ["a loss of (5)"])


@pytest.mark.parametrize(
    ("value", "quote", "found"),
    [
        ("2024-09-28", "ended September 28, 2024", True),
        ("2024-09-28", "ended 28.09.2024", True),
        ("2024-09-30", "ended September 28, 2024", False),
        ("2023-05", "Edition 05/2023", True),
        ("2023-06", "Edition 05/2023", False),
        ("2023", "Edition 2023", True),
    ],
)
def test_a_date_is_found_in_its_quote(value: str, quote: str, *, found: bool) -> None:
    assert has_date(value, [quote], "en") is found
