"""Records become a typed table: what does not fit is kept as text and told, and nothing is lost or counted twice."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multi_agent.records.sql import RecordDatabase
from multi_agent.records.table import RecordTable, build_table
from multi_agent.values.context import Record
from support.tables import fields, table_context
from vectorstore.models import Scalar


def column(table: RecordTable, name: str) -> tuple[str | None, ...]:
    return next(each.values for each in table.columns if each.name == name)


def kinds(table: RecordTable) -> dict[str, str]:
    return {each.name: each.type for each in table.columns}


def typed(kind: str, *values: Scalar | None) -> RecordTable:
    """The table of one field ``x`` of that type, a record for each value."""
    return build_table(table_context(fields(x=kind), {"a.md": [{"x": value} for value in values]}))


def test_every_record_is_a_row_with_its_source() -> None:
    table = build_table(
        table_context(fields(x="text"), {"b.md": [{"x": "one"}], "c.pdf": [{"x": "two"}, {"x": "three"}]})
    )
    assert column(table, "record") == ("1", "2", "3")
    assert column(table, "document") == ("b.md", "c.pdf", "c.pdf")
    assert column(table, "page") == ("1", "1", "1")
    assert [item.quote for item in table.evidence] == ["- one", "- two", "- three"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((1, 2, None), "BIGINT"),
        ((1.5, 2), "DECIMAL(18,1)"),
        ((0.1, 0.25), "DECIMAL(18,2)"),
        ((123456789012345678901,), "DECIMAL(21,0)"),
        ((1e300, 1.5), "DOUBLE"),
        ((1e-40,), "DOUBLE"),
        ((None,), "BIGINT"),
    ],
)
def test_numbers_have_the_narrowest_type_that_holds_them_exactly(values: tuple[Scalar | None, ...], kind: str) -> None:
    assert kinds(typed("number", *values))["x"] == kind


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("number", "a dozen", "no number"),
        ("number", "1,234", "which can be read as 1.234 or as 1234"),
        ("number", True, "no number"),
        ("number", "12 %", "no number"),
        ("date", "03/04/2024", "which can be read as 2024-03-04 or as 2024-04-03"),
        ("date", "March 2024", "no full date"),
        ("boolean", "perhaps", "neither true nor false"),
    ],
)
def test_a_misfit_value_is_null_kept_as_text_and_reported(kind: str, value: Scalar, reason: str) -> None:
    table = typed(kind, value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    assert (column(table, "x"), column(table, "x_text")) == ((None,), (text,))
    assert [str(flaw) for flaw in table.flaws] == [f"record 1 (a.md): x is {text!r}, {reason}"]


def test_unambiguous_values_are_converted() -> None:
    table = build_table(
        table_context(
            fields(paid="date", amount="number", open="boolean"),
            {"a.md": [{"paid": "15 September 2024", "amount": "1.234,50", "open": "no"}]},
        )
    )
    assert [column(table, name) for name in ("paid", "amount", "open")] == [("2024-09-15",), ("1234.50",), ("false",)]
    assert table.flaws == ()
    assert "amount_text" not in kinds(table)


def test_a_field_may_have_the_name_of_a_built_in_column() -> None:
    rows: list[dict[str, Scalar | None]] = [{"page": 7, "page_value": 8, "x": "?", "x_text": "why"}]
    table = build_table(
        table_context(fields(page="number", page_value="number", x="number", x_text="text"), {"a": rows})
    )
    names = [each.name for each in table.columns]
    assert names == [
        "record", "document", "page", "page_value", "page_value_value", "x", "x_text", "x_text_value"
    ]  # fmt: skip
    assert column(table, "x_text") == ("why",)
    assert column(table, "x_text_value") == ("?",)


def test_records_of_earlier_fields_are_left_out_and_counted() -> None:
    context = table_context(fields(x="number"), {"a.md": [{"x": 1}, {"x": 2}]})
    older = context.records[1].model_copy(update={"values": {"y": 2}})
    table = build_table(context.model_copy(update={"records": (context.records[0], older)}))
    assert (len(table), table.left_out) == (1, 1)


def test_a_row_shared_by_two_passages_appears_once() -> None:
    """The heading rows of a split table stand in each of its passages; the evidence is numbered once."""
    context = table_context(fields(x="number"), {"a.md": [{"x": 1}]})
    [chunk], [record] = context.chunks, context.records
    later = chunk.model_copy(update={"id": "another passage of the same document"})
    twice = (record, Record(values=record.values, chunk_id=later.id, start=record.start, end=record.end))
    assert len(build_table(context.model_copy(update={"chunks": (chunk, later), "records": twice}))) == 1


def test_two_records_of_one_quote_are_two() -> None:
    context = table_context(fields(x="number"), {"a.md": [{"x": 1}]})
    other = context.records[0].model_copy(update={"values": {"x": 2}})
    table = build_table(context.model_copy(update={"records": (other, *context.records)}))
    assert column(table, "x") == ("1", "2")


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=20)


@given(st.lists(VALUES, min_size=1, max_size=6), st.sampled_from(["text", "number", "date", "boolean"]))
def test_every_value_is_in_the_table_typed_or_as_text(values: list[Scalar | None], kind: str) -> None:
    table = build_table(table_context(fields(x=kind), {f"{at}.md": [{"x": value}] for at, value in enumerate(values)}))
    flawed = {flaw.record for flaw in table.flaws}
    for number, (value, there) in enumerate(zip(values, column(table, "x"), strict=True), start=1):
        assert (there is None) == (value is None or number in flawed)
    assert all(column(table, f"{flaw.column}_text")[flaw.record - 1] == flaw.value for flaw in table.flaws)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1, max_size=20))
def test_a_sum_of_amounts_is_exact(amounts: list[Decimal]) -> None:
    table = typed("number", *(float(amount) for amount in amounts))
    result = RecordDatabase(table.columns).query("SELECT sum(x) FROM records", rows=1, seconds=5)
    assert result.rows == ((float(sum(amounts)),),)
