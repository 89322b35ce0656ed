"""Facts stated by a model are kept only if their lines show them."""

from __future__ import annotations

import pytest

from ingest.document import FactSource, ParsedDocument
from ingest.facts.stated import Line, StatedFact, check_facts, opening_lines
from ingest.readers.shared.document_builder import DocumentBuilder


def printed(name: str, value: str, line: str, language: str = "en") -> str | None:
    """Return the value as printed on the line, or None if the fact was rejected with a warning."""
    facts, warnings = check_facts([StatedFact(name, value, 1)], [Line(line, None)], language)
    assert len(facts) + len(warnings) == 1
    return facts[name].printed if facts else None


@pytest.mark.parametrize(
    ("value", "line", "expected"),
    [
        ("Borea Inc.", "BOREA INC. (the issuer)", "BOREA INC."),
        ("Inc. Borea", "Borea, Inc.", "Inc. Borea"),
        ("Borea Holding Inc.", "Borea Inc.", None),
        ("Borea", "Boreal Inc.", None),
        ("北極星", "北極星株式会社", "北極星"),
        ("—", "Borea Inc. —", None),
        ("", "Borea Inc.", None),
    ],
)  # fmt: skip
def test_the_words_of_a_value_must_be_on_its_line(value: str, line: str, expected: str | None) -> None:
    assert printed("issuer", value, line) == expected


@pytest.mark.parametrize(
    ("value", "line", "language", "expected"),
    [
        ("2023-07-01", "For the quarter ended July 1, 2023", "en", "July 1, 2023"),
        ("2023-09-30", "As of Sept. 30, 2023", "en", "Sept. 30, 2023"),
        ("2023-07-01", "Zeitraum bis 1. Juli 2023", "de", "1. Juli 2023"),
        ("2023-07-01", "July 1, 2023", "de", "July 1, 2023"),
        ("2023-07-01", "per 01.07.2023", "", "2023-07-01"),
        ("2023-07-07", "07/07/2023", "en", "07/07/2023"),
        ("2023-07-01", "2023年7月1日", "ja", "2023年7月1"),
        ("2023-07", "July 2023", "en", "2023-07"),
        ("2023", "Annual Report 2023", "en", "2023"),
        ("2023-07-01", "For the quarter ended July 2023", "en", None),
        ("2023-07-07", "7/2023", "en", None),
        ("2023-06-01", "July 1, 2023", "en", None),
        ("2023", "No. 120234", "en", None),
        ("2023-02-31", "February 31, 2023", "en", None),
        ("July 1, 2023", "July 1, 2023", "en", None),
    ],
)  # fmt: skip
def test_the_parts_of_a_date_must_be_on_its_line(value: str, line: str, language: str, expected: str | None) -> None:
    assert printed("period", value, line, language) == expected
    assert printed("date", value, line, language) == expected


@pytest.mark.parametrize(
    ("value", "line", "expected"),
    [
        ("EUR", "in EUR million", "EUR"), ("eur", "€m", "€"), ("USD", "rent of $1,200", "$"), ("USD", "US$ 5", "US$"),
        ("CAD", "$1,200", "$"), ("CAD", "US$ 5", None), ("JPY", "￥500", "¥"), ("ZAR", "R100", "R"),
        ("ZAR", "Report", None), ("EUR", "$1,200", None), ("$", "$1,200", None), ("ABC", "ABC 5", None),
    ],
)  # fmt: skip
def test_the_code_or_symbol_of_a_currency_must_be_on_its_line(value: str, line: str, expected: str | None) -> None:
    assert printed("currency", value, line) == expected


def test_a_kind_needs_a_line_but_may_use_other_words() -> None:
    agreement = [Line("Agreement between landlord and tenant", 2)]
    facts, warnings = check_facts([StatedFact("kind", " lease\ncontract ", 1)], agreement, "en")
    assert facts["kind"].model_dump() == {
        "value": "lease contract", "printed": "lease contract", "quote": "Agreement between landlord and tenant",
        "page": 2, "source": FactSource.MODEL,
    }  # fmt: skip
    assert warnings == ()
    for number in (0, 2, -1):
        facts, [warning] = check_facts([StatedFact("kind", "lease contract", number)], agreement, "en")
        assert not facts
        assert warning == (
            f"The kind 'lease contract' of the model is left out: the opening of the document has no line {number}."
        )
    assert printed("kind", "lease " * 30, "Agreement") is None


def test_the_first_confirmed_fact_is_kept() -> None:
    lines = [Line("Borea Inc.", 1), Line("Zephyr Ltd.", 1)]
    stated = [StatedFact("issuer", "Acme", 1), StatedFact("issuer", "Zephyr Ltd.", 2), StatedFact("issuer", "Borea", 1)]
    facts, warnings = check_facts(stated, lines, "en")
    assert (facts["issuer"].value, warnings) == ("Zephyr Ltd.", ())
    facts, warnings = check_facts([StatedFact("title", "Acme", 1), StatedFact("title", "Nadir", 2)], lines, "en")
    assert (facts, warnings) == (
        {}, ("The title 'Acme' of the model is left out: line 1 ('Borea Inc.') does not show it.",)
    )  # fmt: skip


def test_opening_lines_are_short_and_have_pages() -> None:
    builder = DocumentBuilder()
    builder.page(1)
    builder.prose("Borea Inc.")
    builder.page(2)
    builder.prose("All work and no play. " * 1_000)
    lines = opening_lines(builder.build(parser="test", mime_type="application/pdf"))
    assert lines[0] == Line("Borea Inc.", 1)
    assert {line.page for line in lines[1:]} == {2}
    assert max(len(line.text) for line in lines) <= 300
    assert 5_000 < sum(len(line.text) for line in lines) <= 6_000
    assert opening_lines(ParsedDocument(text=" \n", blocks=(), parser="test")) == []
    assert len(opening_lines(ParsedDocument(text="界" * 9_000, blocks=(), parser="test"))) == 6
