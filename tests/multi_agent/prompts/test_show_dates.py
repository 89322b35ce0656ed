"""The line above a passage says how old its document is, and which versions it replaces."""

from __future__ import annotations

import time

import pytest

from multi_agent.prompts.show_dates import show_dates
from support.chunks import make_chunk
from vectorstore.models import FILE_DATE, Chunk, Scalar

FEE = "The yearly maintenance fee is {} EUR, payable in January of each year."


def of(name: str, text: str = "It is red.", title: str = "", **metadata: Scalar) -> Chunk:
    return make_chunk(text, document=f"/docs/{name}", title=title, metadata=metadata)


def dates(*chunks: Chunk) -> dict[str, str]:
    found = show_dates(chunks)
    return {chunk.name: found[chunk.document_id] for chunk in chunks}


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"date": "2024-05-20", "modified_at": "2025-01-01T00:00:00Z"}, "dated 2024-05-20"),
        ({"period": "2023"}, "for 2023"),
        ({"modified_at": "2024-05-20T10:00:00Z", "created_at": "2020-01-01"}, "saved 2024-05-20"),
        ({"created_at": "2024-05-20", "modified_at": "yesterday"}, "created 2024-05-20"),
        ({}, ""),
    ],
)
def test_the_words_say_which_date_it_is(metadata: dict[str, Scalar], shown: str) -> None:
    assert dates(of("a.md", **metadata)) == {"a.md": shown}


def test_a_date_that_all_files_share_is_the_day_of_their_copying() -> None:
    copied = {FILE_DATE: "2026-11-28"}
    assert dates(of("a.md", **copied), of("b.md", **copied)) == {"a.md": "", "b.md": ""}
    assert dates(of("a.md", **copied), of("b.md", **{FILE_DATE: "2024-05-20"})) == {
        "a.md": "file of 2026-11-28", "b.md": "file of 2024-05-20",
    }  # fmt: skip


def test_the_newest_version_names_those_that_it_replaces() -> None:
    versions = [
        of("contract_final.docx", FEE.format("14,250"), modified_at="2024-05-20"),
        of("contract_v1.docx", FEE.format("12,000"), modified_at="2024-01-10"),
        of("contract_v2.docx", FEE.format("13,500"), modified_at="2024-03-02"),
    ]
    assert dates(*versions) == {
        "contract_v1.docx": "saved 2024-01-10",
        "contract_v2.docx": "saved 2024-03-02, a newer version of contract_v1.docx",
        "contract_final.docx": "saved 2024-05-20, a newer version of contract_v1.docx and contract_v2.docx",
    }


def test_without_dates_the_numbers_of_the_names_decide() -> None:
    assert dates(of("price-10.md", FEE.format(5)), of("price-9.md", FEE.format(4))) == {
        "price-10.md": "a newer version of price-9.md", "price-9.md": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        of("lease_v2.md", FEE.format(4), modified_at="2024-05-20"),
        of("contract_v2.md", "The pump is green and old.", modified_at="2024-05-20"),
        of("contract_v2.md", FEE.format(5), modified_at="2024-05-20"),
        of("contract_v2.md", FEE.format(4), modified_at="2024-05-20", period="2024"),
        of("contract_final.md", FEE.format(4)),
    ],
    ids=["other name", "other text", "the same text", "other period", "unknown order"],
)
def test_other_documents_are_no_versions(other: Chunk) -> None:
    assert "version" not in " ".join(
        dates(of("contract_v1.md", FEE.format(5), modified_at="2024-01-10"), other).values()
    )


OLD, NEW = FEE.format("12,000"), FEE.format("13,500")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (of("Vertrag alt.docx", OLD, modified_at="2024-01-10"), of("Vertrag neu.docx", NEW, modified_at="2024-05-20")),
        (of("draft contract.md", OLD, date="2024-01-10"), of("signed contract.md", NEW, date="2024-05-20")),
        (of("2023 prices.csv", OLD), of("2024 prices.csv", NEW)),
        (of("a.eml", OLD, date="2024-01-10", title="Offer"), of("b.eml", NEW, date="2024-05-20", title="Offer")),
        (
            of("fees.md", OLD, date="2024-01-10", modified_at="2025-06-01"),
            of("fees-copy.md", NEW, date="2024-05-20", modified_at="2025-01-01"),
        ),
    ],
    ids=["words for the state", "other first word", "year in the name", "mails of one subject", "stated before saved"],
)
def test_versions_are_found_by_what_they_share(older: Chunk, newer: Chunk) -> None:
    shown = dates(newer, older)
    assert shown[newer.name].endswith(f"a newer version of {older.name}")
    assert "version" not in shown[older.name]


def test_minutes_and_amendments_are_no_versions() -> None:
    """They share a name and a formula, but what stands in each still holds."""
    present = "Present were the board, the auditor, the treasurer and the clerk on {}."
    minutes = [
        of("minutes_march.md", present.format("5 March"), date="2024-03-05"),
        of("minutes_march.md", "The fee was set. Nobody objected to it.", date="2024-03-05"),
        of("minutes_march.md", "The roof is repaired in summer by Kestrel.", date="2024-03-05"),
        of("minutes_june.md", present.format("4 June"), date="2024-06-04"),
        of("minutes_june.md", "A new clerk was elected for two years.", date="2024-06-04"),
        of("minutes_june.md", "The garden is open to members on Sundays.", date="2024-06-04"),
    ]
    amended = of("contract amendment.md", "In section 2, 12,000 is replaced by 13,500.", date="2024-06-04")
    shown = dates(*minutes, of("contract.md", OLD, date="2024-01-10"), amended)
    assert shown == {
        "minutes_march.md": "dated 2024-03-05", "minutes_june.md": "dated 2024-06-04",
        "contract.md": "dated 2024-01-10", "contract amendment.md": "dated 2024-06-04",
    }  # fmt: skip


def test_many_documents_are_compared_in_little_time() -> None:
    many = [of(f"note {number}.md", FEE.format(number)) for number in range(4000)]
    began = time.process_time()
    assert not any(dates(*many).values()), "a series has no versions"
    assert time.process_time() - began < 10, "compared two by two, they took a minute"
