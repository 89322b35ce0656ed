"""SQL that a model wrote computes over the records, and can do nothing else, whatever it tries."""

from __future__ import annotations

import threading
from pathlib import Path

import duckdb
import numpy as np
import pytest

from multi_agent.errors import QueryRefused
from multi_agent.records import sql as computing
from multi_agent.records.sql import RecordDatabase, Result
from multi_agent.records.table import build_table
from support.tables import fields, table_context
from vectorstore.models import Scalar

RACES: list[dict[str, Scalar | None]] = [
    {"runner": "Jonah", "time": "2:02:08", "prize": 60000.1, "day": "2024-09-15", "record_set": False},
    {"runner": "Tariku", "time": "2:02:31", "prize": 0.2, "day": "2024-04-21", "record_set": True},
    {"runner": "Abel", "time": "2:10:00", "prize": None, "day": "2024-04-21", "record_set": False},
    {"runner": "Jonah", "time": "2:04:00", "prize": 9000, "day": "2024-10-13", "record_set": False},
]
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"
RACE = fields(runner="text", time="text", prize="number", day="date", record_set="boolean")


@pytest.fixture(scope="module")
def database() -> RecordDatabase:
    return RecordDatabase(build_table(table_context(RACE, {"races.csv": RACES})).columns)


def ask(database: RecordDatabase, sql: str, *, rows: int = 10, seconds: float = 60) -> Result:
    return database.query(sql, rows=rows, seconds=seconds)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT count(*) FROM records", ((4,),)),
        ("SELECT sum(prize) FROM records", ((69000.3,),)),
        ("SELECT 0.1::DOUBLE + 0.2::DOUBLE", ((0.3,),)),
        ("SELECT avg(prize) FROM records", ((23000.1,),)),
        ("SELECT runner FROM records ORDER BY CAST(time AS INTERVAL) LIMIT 2", (("Jonah",), ("Tariku",))),
        ("SELECT runner FROM records QUALIFY rank() OVER (ORDER BY day) = 1 ORDER BY 1", (("Abel",), ("Tariku",))),
        ("SELECT max(time::INTERVAL) - min(time::INTERVAL) FROM records", (("0:07:52",),)),
        ("SELECT avg(time::INTERVAL) * 20 FROM records", (("41:33:15",),)),
        ("SELECT day FROM records WHERE month(day) > 9", (("2024-10-13",),)),
        ("SELECT bool_or(record_set), count(*) - count(prize) FROM records", ((True, 1),)),
        ("WITH best AS (SELECT max(prize) AS p FROM records) SELECT runner FROM records, best WHERE prize = p",
         (("Jonah",),)),
        ("SELECT runner, sum(prize) FROM records GROUP BY ALL HAVING sum(prize) > 1", (("Jonah", 69000.1),)),
        ("SELECT string_agg(DISTINCT upper(runner), ', ' ORDER BY upper(runner)) FROM records",
         (("ABEL, JONAH, TARIKU",),)),
        ("SELECT count(*) FROM (SELECT DISTINCT runner, day FROM records)", ((4,),)),
        ("SELECT CASE WHEN max(prize) > 1 THEN 'yes' ELSE 'no' END FROM records", (("yes",),)),
        ("SELECT runner FROM records WHERE runner = 'Nobody'", ()),
        ("SELECT count(*) FROM records WHERE runner LIKE 'Jo%' AND time SIMILAR TO '2:0.*'", ((2,),)),
        ("SELECT TRY_CAST(translate('€ 1.200', '€ .', '') AS INTEGER)", ((1200,),)),
        ("SELECT document, page, record FROM records WHERE record = 4", (("races.csv", 1, 4),)),
    ],
)  # fmt: skip
def test_what_people_ask_of_tables_is_computed(
    database: RecordDatabase, sql: str, rows: tuple[tuple[Scalar | None, ...], ...]
) -> None:
    assert ask(database, sql).rows == rows


def test_forms_of_accents_make_no_difference() -> None:
    names = [{"name": "Mu\u0308ller"}, {"name": "M\u00fcller"}, {"name": "Muller"}]
    table = build_table(table_context(fields(name="text"), {"a.csv": names}))
    for written in ("M\u00fcller", "Mu\u0308ller"):
        sql = f"SELECT count(*), count(DISTINCT name) FROM records WHERE name = '{written}'"
        assert ask(RecordDatabase(table.columns), sql).rows == ((2, 1),)


def test_a_result_is_cut_at_the_row_limit_and_says_so(database: RecordDatabase) -> None:
    assert not ask(database, "SELECT record FROM records", rows=4).truncated
    cut = ask(database, "SELECT record FROM records ORDER BY record", rows=3)
    assert (cut.rows, cut.truncated) == (((1,), (2,), (3,)), True)


def test_it_is_told_which_columns_were_read(database: RecordDatabase) -> None:
    assert ask(database, "SELECT Runner FROM records r WHERE r.prize > 1").reads == {"runner", "prize"}
    assert "time" in ask(database, "SELECT * FROM records").reads


SECRET = "the words of a file that no query may see"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.csv"
    path.write_text(SECRET)
    return path


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{path}')",
        "SELECT * FROM read_text('{path}')",
        "SELECT * FROM read_blob('{path}')",
        "SELECT * FROM '{path}'",
        'SELECT * FROM "{path}"',
        'SELECT * FROM (WITH "{path}" AS (SELECT 1) SELECT 1), "{path}"',
        "SELECT * FROM glob('{path}')",
        "SELECT * FROM query('SELECT 1')",
        "SELECT * FROM query_table('{path}')",
        "COPY records TO '{path}'",
        "COPY records FROM '{path}'",
        "EXPORT DATABASE '{path}'",
        "ATTACH '{path}' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM read_csv('https://example.org/x.csv')",
        "SELECT getenv('HOME')",
        "SELECT current_setting('secret_directory')",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM duckdb_secrets()",
        "CREATE SECRET (TYPE s3)",
        "SELECT * FROM duckdb_functions()",
        "SELECT * FROM information_schema.tables",
        "SELECT * FROM pragma_database_list",
        "PRAGMA database_list",
        "CALL pragma_version()",
        "SET memory_limit = '100GB'",
        "RESET memory_limit",
        "SELECT * FROM enable_logging()",
        "SELECT write_log('x')",
        "SELECT * FROM arrow_scan(1, 2, 3)",
        "SELECT * FROM json_execute_serialized_sql('x')",
        "CREATE TABLE other AS SELECT 1",
        "INSERT INTO records (record) VALUES (9)",
        "UPDATE records SET runner = 'me'",
        "DELETE FROM records",
        "DROP TABLE records",
        "WITH new AS (INSERT INTO records (record) VALUES (9) RETURNING *) SELECT * FROM new",
        "SELECT 1; DROP TABLE records",
        "SELECT 1; SELECT 2",
        "EXPLAIN ANALYZE SELECT 1",
        "PREPARE p AS SELECT 1",
        "BEGIN",
        "",
        "-- nothing",
        "SELECT ?",
        "SELECT now()",
        "SELECT random()",
        "SELECT pg_sleep(60)",
    ],
)
def test_other_statements_than_queries_are_rejected(database: RecordDatabase, sql: str, secret: Path) -> None:
    with pytest.raises(QueryRefused) as refusal:
        ask(database, sql.format(path=secret))
    assert SECRET not in str(refusal.value)
    assert secret.read_text() == SECRET
    assert ask(database, "SELECT count(*) FROM records").rows == ((4,),)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{path}')",
        "SELECT * FROM '{path}'",
        "SELECT * FROM glob('{path}')",
        "SELECT * FROM read_csv('https://example.org/x.csv')",
        "SELECT * FROM enable_logging()",
        "WITH new AS (INSERT INTO records (record) VALUES (9) RETURNING *) SELECT * FROM new",
    ],
)
def test_the_database_rejects_what_the_parser_might_accept(
    database: RecordDatabase, sql: str, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(computing, "_require_allowed", lambda *_: None)
    with pytest.raises(QueryRefused, match=r"DuckDB says: .*(disabled|does not exist|locked|read-only)"):
        ask(database, sql.format(path=secret))


@pytest.mark.parametrize("sql", ["SELECT * FROM leaked", "SELECT * FROM (WITH leaked AS (SELECT 1) SELECT 1), leaked"])
def test_python_variables_are_not_tables(database: RecordDatabase, sql: str) -> None:
    leaked = {"x": np.array([42])}  # which DuckDB reads by the name of the variable, if it may
    assert duckdb.sql("SELECT x FROM leaked").fetchall() == [(42,)]
    with pytest.raises(QueryRefused, match="leaked"):
        ask(database, sql)
    assert len(leaked) == 1


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        (ENDLESS, "stopped after"),
        ("SELECT count(*) FROM records a, records b, records c, records d, records e, records f, records g, records h,"
         " records i, records j, records k, records l, records m, records n, records o, records p", "stopped after"),
        ("SELECT count(*) FROM range(1000000000000) a, range(1000000000000) b", "'range' is not available"),
        ("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT string_agg(x, ',') FROM n",
         "stopped after|too much memory"),
        ("SELECT repeat('x', 4000000000)", "'repeat' is not available"),
        ("SELECT lpad('x', 2000000000, 'x')", "'lpad' is not available"),
        ("SELECT format('{:>2000000000}', 1)", "'format' is not available"),
        ("SELECT levenshtein(runner, runner) FROM records", "'levenshtein' is not available"),
        ("SELECT jaro_winkler_similarity(runner, runner) FROM records", "is not available"),
        ("SELECT s || s FROM (SELECT runner AS s FROM records)", "columns of their own"),
        ("SELECT " + "NOT " * 900 + "true", "nested too deeply"),
        ("SELECT " + "(" * 3000 + "1" + ")" * 3000, "depth"),
        ("SELECT 1" + " + 1" * 3000, "characters"),
        ("SELECT " + ",".join(["runner"] * 300) + " FROM records", "may have 200 columns"),
        ("SELECT count(*) FROM (SELECT DISTINCT " + ",".join(["day"] * 300) + " FROM records)", "have 200 columns"),
        ("SELECT " + ",".join(["*"] * 30) + " FROM records", r"may have 4 \*"),
        ("SELECT count(*) FROM records a, records b WHERE a.runner LIKE b.runner", "must be a constant"),
        ("SELECT regexp_extract(runner, time) FROM records", "must be a constant"),
        ("SELECT count(*) FROM records WHERE runner SIMILAR TO time", "must be a constant"),
    ],
)  # fmt: skip
def test_expensive_queries_are_stopped(database: RecordDatabase, sql: str, why: str) -> None:
    with pytest.raises(QueryRefused, match=why):
        ask(database, sql, seconds=0.5)
    assert ask(database, "SELECT count(*) FROM records").rows == ((4,),)


def test_growing_rows_meet_the_memory_limit(database: RecordDatabase) -> None:
    doubling = (
        "WITH RECURSIVE r(s) AS (SELECT string_agg(runner, ',') FROM records UNION ALL SELECT "
        "(SELECT string_agg(t.s, ',') FROM (SELECT r.s UNION ALL SELECT r.s) t) FROM r) SELECT max(length(s)) FROM r"
    )
    with pytest.raises(QueryRefused, match="too much memory"):
        ask(database, doubling, seconds=600)


def test_a_query_is_ended_from_another_thread(database: RecordDatabase) -> None:
    ended = threading.Event()

    def interrupt() -> None:
        while not ended.wait(0.2):
            database.interrupt()

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    with pytest.raises(QueryRefused, match="stopped"):
        ask(database, ENDLESS, seconds=100_000)
    ended.set()
    interrupting.join()


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT runer FROM records", 'Candidate bindings: "runner"'),
        ("SELECT a FROM races", "There is no table 'races': read from records"),
        ("SELECT FROM", "syntax error"),
        ("SELECT CAST(runner AS INTEGER) FROM records", "Could not convert string 'Jonah'"),
        ("SELECT count(DISTINCT (runner, day)) FROM records", "SELECT DISTINCT them in a subquery"),
        ("SELECT 1; SELECT 2", "exactly one SELECT"),
    ],
)
def test_a_refusal_says_what_to_change(database: RecordDatabase, sql: str, hint: str) -> None:
    with pytest.raises(QueryRefused) as refusal:
        ask(database, sql)
    assert hint in str(refusal.value)


def test_texts_too_long_to_read_on_are_refused() -> None:
    rows: list[dict[str, Scalar | None]] = [{"x": f"{number} " + "word " * 100} for number in range(60)]
    database = RecordDatabase(build_table(table_context(fields(x="text"), {"a.md": rows})).columns)
    with pytest.raises(QueryRefused, match="Give fewer rows or columns"):
        ask(database, "SELECT x FROM records", rows=100)


def test_names_that_sql_reserves_are_known(database: RecordDatabase) -> None:
    assert {"order", "group", "end"} <= database.reserved
    assert "runner" not in database.reserved
