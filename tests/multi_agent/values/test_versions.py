"""Versions of a document are found by names, sentences and dates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import pytest

from multi_agent.library import CatalogueEntry
from multi_agent.values.versions import find_versions, left_out, newest
from vectorstore.models import Chunk

COMMON = [f"Clause {number} stays as it is." for number in range(8)]


class Texts:
    """Documents with their sentences, and which of them were read."""

    def __init__(self) -> None:
        self.entries: list[CatalogueEntry] = []
        self.sentences: dict[str, list[str]] = {}
        self.read: list[str] = []

    def add(self, name: str, *own: str, day: str = "2024-01-01", **more: Any) -> None:
        entry = {"id": name, "chunks": 1, "changed": date.fromisoformat(day), **more}
        self.entries.append(CatalogueEntry(name=name, **entry))
        self.sentences[name] = [*COMMON, *own]

    def scan(self, ids: Sequence[str]) -> Iterable[Chunk]:
        self.read += ids
        for name in ids:
            text = " ".join(self.sentences[name])
            yield Chunk(
                id=name, document_id=name, document=name, name=name, version="1", index=0, text=text, start=0,
                end=len(text),
            )  # fmt: skip

    def older(self) -> dict[str, str]:
        kept, older = newest(self.entries, self.scan)
        assert {entry.name for entry in kept} | older.keys() == set(self.sentences)
        return older


@pytest.fixture
def texts() -> Texts:
    return Texts()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {"day": "2024-02-01"}),
        ({"metadata": {"modified_at": "2023-01-01T00:00:00Z"}}, {"metadata": {"modified_at": "2023-01-02T00:00:00Z"}}),
        ({"stated": date(2023, 1, 1), "day": "2025-01-01"}, {"stated": date(2023, 2, 1)}),
    ],
    ids=["file date", "date of the program", "stated date"],
)
def test_the_newest_version_stays(texts: Texts, first: dict[str, Any], second: dict[str, Any]) -> None:
    texts.add("contract draft.md", "The fee is 12 EUR.", **first)
    texts.add("contract final.md", "The fee is 14 EUR.", **second)
    texts.add("letter.md", day="2025-01-01")
    assert texts.older() == {"contract draft.md": "contract final.md"}
    assert "letter.md" not in texts.read, "no other document has its first word"


def test_numbers_of_names_count_more_than_file_dates(texts: Texts) -> None:
    for number, day in ((10, "2024-01-01"), (9, "2024-01-02"), (2, "2024-01-03")):
        texts.add(f"a/contract_v{number}.md", day=day)
    assert texts.older() == dict.fromkeys(("a/contract_v2.md", "a/contract_v9.md"), "a/contract_v10.md")
    [versions] = find_versions(texts.entries, texts.scan)
    assert [entry.name for _, entry in versions] == [f"a/contract_v{number}.md" for number in (2, 9, 10)]


def test_a_common_title_is_enough(texts: Texts) -> None:
    texts.add("old.pdf", title="Lease")
    texts.add("new.pdf", title="Lease", day="2024-03-01")
    assert texts.older() == {"old.pdf": "new.pdf"}


def test_copies_and_other_texts_and_years_are_no_older_versions(texts: Texts) -> None:
    texts.add("contract.md")
    texts.add("contract copy.md")
    texts.add("contract of Holm.md", *(f"Clause {number} is new." for number in range(8)), day="2025-01-01")
    texts.add("lease A.md", *(f"Rule {number} is new here." for number in range(5)))  # .62 of them are the same
    texts.add("lease B.md", *(f"Rule {number} is new there." for number in range(5)), day="2025-01-01")
    texts.add("report A.md", metadata={"period": "2023"})
    texts.add("report B.md", metadata={"period": "2024"}, day="2025-01-01")
    assert texts.older() == {}


def test_a_document_without_versions_is_none_of_them(texts: Texts) -> None:
    texts.add("old plan.md")
    texts.add("new plan.md")
    assert list(find_versions(texts.entries, texts.scan)) == []
    assert texts.read == [], "only the first word of a name counts"
    texts.add("new list.md", *(f"Clause {number} is new." for number in range(20)))
    assert list(find_versions(texts.entries, texts.scan)) == []


def test_older_versions_are_named_with_the_newest_and_many_are_counted() -> None:
    assert left_out({}) == ""
    assert (
        left_out({"a.md": "c.md", "b.md": "c.md"})
        == "Older versions left out: a.md (newest: c.md), b.md (newest: c.md)"
    )
    assert "and" not in left_out({f"{number}.md": "new.md" for number in range(12)})
    many = left_out({f"{number}.md": "new.md" for number in range(14)})
    assert many.endswith("11.md (newest: new.md) and 2 more")


def test_of_many_documents_of_one_name_only_those_with_a_rare_common_sentence_are_compared(texts: Texts) -> None:
    for number in range(300):
        own = [f"Sentence {number}.{line} is its own." for line in range(40)]
        texts.add(f"doc_{number}.md", *own)
        texts.add(f"doc_{number}_1.md", *own, f"And {number}.")
    assert texts.older() == {f"doc_{number}.md": f"doc_{number}_1.md" for number in range(300)}
