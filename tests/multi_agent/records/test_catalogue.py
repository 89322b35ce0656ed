"""The documents of a collection as a table for SQL."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from multi_agent.agents.catalogue import CatalogueInputs
from multi_agent.library import CatalogueEntry
from multi_agent.records.catalogue import COLUMNS, DOCUMENTS, catalogue_columns
from multi_agent.records.sql import RecordDatabase

ENTRIES = (
    CatalogueEntry(
        name="2024/a.xlsx", id="1", title="Prices", chunks=3, type="xlsx", path="/srv/2024/a.xlsx",
        stated=date(2024, 3, 1), changed=date(2025, 1, 1), tags=("draft", "prices"), language="en",
        metadata={
            "authors": "E. Aalto", "sheets": 2, "rows": 40, "project": "O'rion, {7}", "room": ("1", "2"), "cost": 80.5,
        },
    ),
    CatalogueEntry(name="b.pdf", id="2", chunks=1, pages=7, type="pdf", changed=date(2025, 6, 1), path="/srv/b.pdf"),
    CatalogueEntry(
        name="c.bin", id="3", chunks=0, type="bin", state="failed", reason="no text", warnings=("half",), path="/c.bin"
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def database() -> RecordDatabase:
    return RecordDatabase(catalogue_columns(ENTRIES), DOCUMENTS)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT count(*) FROM documents", ((3,),)),
        ("SELECT name FROM documents WHERE type = 'pdf' AND pages > 5", (("b.pdf",),)),
        ("SELECT name FROM documents WHERE year(date) = 2024", (("2024/a.xlsx",),)),
        ("SELECT name, file_date FROM documents ORDER BY 2 DESC NULLS LAST LIMIT 1", (("b.pdf", "2025-06-01"),)),
        ("SELECT folder, author, sheets, rows, tags FROM documents WHERE sheets = 2",
         (("/srv/2024", "E. Aalto", 2, 40, "draft, prices"),)),
        ("SELECT state, warnings FROM documents WHERE state <> 'indexed'", (("failed", "no text; half"),)),
        ("SELECT metadata['project'], metadata['room'] FROM documents WHERE CAST(metadata['cost'] AS DOUBLE) > 80",
         (("O'rion, {7}", "1, 2"),)),
        ("SELECT name FROM documents WHERE metadata['nope'] IS NULL AND type = 'pdf'", (("b.pdf",),)),
        ("SELECT count(title), count(language), count(date) FROM documents", ((1, 1, 1),)),
    ],
)  # fmt: skip
def test_documents_are_rows(database: RecordDatabase, sql: str, rows: tuple[Any, ...]) -> None:
    assert database.query(sql, rows=10, seconds=5).rows == rows


def test_a_query_over_metadata_is_valid_in_every_collection() -> None:
    CatalogueInputs(sql="SELECT name FROM documents WHERE metadata['project'] ILIKE 'orion'")
    with pytest.raises(ValueError, match="project"):
        CatalogueInputs(sql="SELECT name FROM documents WHERE project = 'Orion'")


def test_column_names_need_no_quotes(database: RecordDatabase) -> None:
    assert not database.reserved & COLUMNS.keys()


def test_all_rows_are_counted(database: RecordDatabase) -> None:
    result = database.query("SELECT name FROM documents ORDER BY name; -- all", rows=1, seconds=5)
    assert (result.rows, result.total, result.truncated) == ((("2024/a.xlsx",),), 3, True)
