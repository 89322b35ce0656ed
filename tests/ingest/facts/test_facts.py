"""Rules find facts of a document only if its text confirms them."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from ingest.document import FactSource, ParsedDocument
from ingest.facts.facts import find_facts
from ingest.readers.shared.document_builder import DocumentBuilder

COVER = [
    "QUARTERLY REPORT",
    "For the period ended July 1, 2023",
    "BOREA INC.\n(name of the issuer)",
    "Filed July 21, 2023",
]
LATER = ["Net sales of Borea Inc. as of July 1, 2023 were $1,200, and $900 as of June 25, 2022."] * 6


def document(
    cover: Sequence[str], later: Sequence[str] = (), *, title: str = "", language: str = "en"
) -> ParsedDocument:
    """Return a document with a cover, two pages of contents, and later pages with one paragraph each."""
    builder = DocumentBuilder()
    for number in range(1, 4 + len(later)):
        builder.page(number)
        for text in cover if number == 1 else later[number - 4 : number - 3] if number > 3 else ["Contents"]:
            builder.prose(text)
    return builder.build(parser="test", mime_type="application/pdf", title=title, metadata={"language": language})


def value(name: str, found: ParsedDocument) -> str:
    facts = find_facts(found)
    return facts[name].value if name in facts else ""


def test_a_report_states_issuer_period_and_currency() -> None:
    facts = find_facts(document(COVER, LATER))
    assert {name: fact.value for name, fact in facts.items()} == {
        "issuer": "Borea Inc.", "period": "2023-07-01", "currency": "$"
    }  # fmt: skip
    assert facts["period"].printed == "July 1, 2023"
    assert facts["period"].quote == "For the period ended July 1, 2023"
    assert (facts["period"].page, facts["period"].source) == (1, FactSource.RULE)
    assert facts["issuer"].printed == facts["issuer"].quote == "BOREA INC."


# Title


@pytest.mark.parametrize(
    ("title", "is_fact"),
    [
        ("Quarterly Report", True), ("quarterly report: Borea, Inc", True),
        ("Microsoft Word - R1", False), ("EDGAR PDF", False), ("0000320193-22-000070", False), ("report.docx", False),
        ("2023", False), ("", False),
    ],
)  # fmt: skip
def test_a_title_is_a_fact_if_the_first_pages_have_its_words(title: str, is_fact: bool) -> None:
    assert value("title", document(COVER, LATER, title=title)) == (title if is_fact else "")


def test_a_title_without_spaces_is_found_within_a_line() -> None:
    assert value("title", document(["年度报告2023年"], title="年度报告", language="zh")) == "年度报告"


# Period


@pytest.mark.parametrize(
    ("language", "printed", "date"),
    [
        ("en", "1 July 2023", "2023-07-01"), ("en", "Sept. 30, 2023", "2023-09-30"),
        ("en", "Sep. 30, 2023", "2023-09-30"),
        ("en", "2023-07-01", "2023-07-01"), ("de", "31. Dezember 2023", "2023-12-31"),
        ("de", "31.12.2023", "2023-12-31"),
        ("es", "1 de julio de 2023", "2023-07-01"), ("fr", "1er juillet 2023", "2023-07-01"),
        ("ru", "31 декабря 2023", "2023-12-31"), ("zh", "截至2023年12月31日", "2023-12-31"),
        ("hu", "2023. december 31.", "2023-12-31"),
        ("en", "01/02/2023", ""), ("en", "12/31/2023", "2023-12-31"), ("en", "2023-07-01T10:00", ""),
        ("en", "February 30, 2023", ""), ("xx", "1 July 2023", ""),
    ],
)  # fmt: skip
def test_dates_are_read_in_the_language_of_the_document(language: str, printed: str, date: str) -> None:
    report = document([f"Report {printed}"], [f"On {printed}."] * 6, language=language)
    assert value("period", report) == date


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("Filed July 21, 2023", LATER),  # the date on the first pages does not recur
        ("July 1, 2023 and June 25, 2022", LATER),  # two dates are equally frequent
        ("July 1, 2023", ["July 1, 2023"] * 3),  # the date is too rare
        ("July 1, 2023", [*["July 1, 2023"] * 6, *["May 1, 2021"] * 9]),  # another date is more frequent
    ],
)
def test_a_date_is_not_the_period_unless_it_is_the_most_frequent(first: str, later: list[str]) -> None:
    assert value("period", document([first], later)) == ""


# Issuer


@pytest.mark.parametrize(
    ("cover", "later", "issuer"),
    [
        (["Deutsche Borea AG"], ["Die Deutsche Borea AG wächst. Für die Deutsche Borea AG."] * 3, "Deutsche Borea AG"),
        (["Borea plc"], ["Borea plc grows."] * 3, "Borea plc"),
        (["Borea & Sons Holdings S.A."], ["Borea & Sons Holdings S.A. grows."] * 3, "Borea & Sons Holdings S.A."),
        (["THE COMPANY"], ["The Company sells the pumps of the company."] * 9, ""),
        (["SITUATION AT 1 MAY"], ["Situation at 1 May. Here at last, at home."] * 9, ""),
        (["Bowling Green, KY"], ["Bowling Green, KY"] * 12, ""),
        (["Borea Inc.", "Zephyr Ltd."], ["Borea Inc. and Zephyr Ltd. cooperate."] * 9, ""),
        (["Borea Inc.", "Zephyr Ltd."], [*["Borea Inc. grows."] * 9, "Zephyr Ltd. does not."], "Borea Inc."),
        (["An agent for Borea Inc. is new."], ["Borea Inc. was asked."] * 3, ""),  # an article about the company
        (["Annual report of Borea Inc. for 2023"], ["Borea Inc. grows."] * 12, "Borea Inc."),
        (["Borea"], ["Borea grows."] * 12, ""),
        # Another name ends with the same words.
        (
            ["First Borea Partners, Inc."],
            [*["First Borea Partners, Inc. buys the shares of Zephyr Partners, Inc. from it."] * 6],
            "First Borea Partners, Inc.",
        ),
        (["Bank of Borea Corp"], ["The Bank of Borea Corp grows.\nBank of Borea Corp"] * 9, "Bank of Borea Corp"),
        # Only the whole name is a proper name.
        (
            ["CREATIVE MEDIA & COMMUNITY TRUST CORPORATION"],
            ["We create media and trust a creative community at Creative Media & Community Trust Corporation!"] * 6,
            "Creative Media & Community Trust Corporation",
        ),
    ],
)  # fmt: skip
def test_the_issuer_is_the_most_frequent_organisation(cover: list[str], later: list[str], issuer: str) -> None:
    assert value("issuer", document(cover, later)) == issuer


@pytest.mark.parametrize(
    ("everywhere", "issuer"), [("Borea grows with its pumps.", "Borea Inc."), ("The company grows with its pumps.", "")]
)
def test_the_issuer_is_named_all_over_a_long_document(everywhere: str, issuer: str) -> None:
    pages = [f"{everywhere} {'The river lies beside the hill in the north. ' * 30}"] * 20
    assert value("issuer", document(["Borea Inc."], [*pages, *["Borea Inc. is the auditor."] * 12])) == issuer


# Date


@pytest.mark.parametrize(
    ("cover", "created", "date"),
    [
        (["From: Ada\nDate: Tue, 3 Oct 2023 10:00:00 +0200"], "Tue, 3 Oct 2023 10:00:00 +0200", "2023-10-03"),
        (["Sent 2023-10-03T23:30:00+02:00"], "2023-10-03T23:30:00+02:00", "2023-10-03"),
        (["Filed on October 3, 2023, and amended on October 9, 2023"], "2023-10-03T08:00:00Z", "2023-10-03"),
        (["Filed on October 3, 2023"], "2020-01-01T08:00:00Z", ""),  # the date of a template
        (["A report", "3 October 2023"], "", "2023-10-03"),
        (["A report\nBerlin, 3 October 2023"], "not a date", "2023-10-03"),
        (["A report\nBerlin, 3 October 2023"], "Tue, 3 Oct 2023 10:00:00 +99999999999999999", "2023-10-03"),
        (["Published: October 3, 2023"], "", "2023-10-03"),
        (["The shares were sold on\nOctober 3, 2023."], "", ""),
        (["3 October 2023", "9 October 2023"], "", ""),
    ],
)
def test_the_date_is_that_of_the_properties_or_of_a_line(cover: list[str], created: str, date: str) -> None:
    found = document(cover)
    for where in ("metadata", "fields"):  # as readers return properties
        stated = found.model_copy(update={where: {**getattr(found, where), "created_at": created}})
        assert value("date", stated) == date


def test_the_date_that_a_document_gives_itself_comes_first() -> None:
    found = document(["A report", "3 October 2023"]).model_copy(update={"fields": {"date": "2024-05"}})
    assert value("date", found) == "2024-05"


# Currency


@pytest.mark.parametrize(
    ("amount", "currency"),
    [
        ("€ 1,200", "EUR"), ("1.200 €", "EUR"), ("£1.2m", "GBP"), ("$1,200", "$"), ("US$ 1,200", "USD"),
        ("CHF 1,028.6m", "CHF"), ("1 200,50 SEK", "SEK"), ("₹ 500", "INR"), ("£'000 12 £5", "GBP"),
        ("TOP 10", ""), ("the 5 best", ""), ("$g(t)$ and $y$ and $2z$", ""),
    ],
)  # fmt: skip
def test_the_currency_is_the_one_of_most_amounts(amount: str, currency: str) -> None:
    assert value("currency", document(["Report"], [f"It has {amount} here."] * 6)) == currency


@pytest.mark.parametrize(
    "text", ["1" * 200_000, "111," * 50_000, "A B C Inc. " * 20_000, "2023 " * 5_000, "$" * 200_000]
)
def test_pathological_texts_do_not_slow_down_the_rules(text: str) -> None:
    started = time.process_time()
    find_facts(ParsedDocument(text=text, blocks=(), parser="test", metadata={"language": "en"}))
    assert time.process_time() - started < 3


def test_equally_frequent_currencies_give_no_fact() -> None:
    assert value("currency", document(["Report"], ["It has € 1,200.", "It has $ 1,300."] * 4)) == ""
