"""Runs SQL that a model wrote over one table, in an isolated in-memory DuckDB.

There are four layers of protection, each sufficient against most attacks. DuckDB's own parser must find one SELECT that
names only this table and the functions listed here. The database has no access to files, network and extensions, and
its configuration is locked. Every query runs in a read-only transaction. Time, memory and the size of results are
limited.

The list omits functions that make a text longer (the memory limit does not cover single values), that read the
environment, that are not deterministic, or that ignore an interrupt (edit distances).
Patterns must be constants for that reason.
"""

import asyncio
import json
import math
import threading
from collections.abc import Iterator, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any
from unicodedata import normalize

from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import QueryRefused
from multi_agent.records.table import Column
from vectorstore.models import Scalar

_MAX_QUERY = 8_000
_MAX_RESULT = 20_000
_MAX_MESSAGE = 400
_EXACT_DIGITS = 15  # digits of a DOUBLE; further digits are artefacts of its binary form

_CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,  # also blocks Python variables, which a query could otherwise read by name
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "temp_directory": "",
    "memory_limit": "256MB",
    "threads": 1,
}
_MOST_STARS, _MOST_TABLES, _MOST_COLUMNS = 4, 16, 200
"""Limits of a query, because the memory limit does not cover the buffers of its columns."""
_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
_FUNCTIONS = frozenset(
    """
    + - * / // % ^ ** ~~ !~~ ~~* !~~* ~ !~ && @ like_escape ilike_escape not_like_escape not_ilike_escape
    count count_star count_if countif sum sum_no_overflow fsum avg mean min max median mode product
    arg_max arg_min argmax argmin max_by min_by any_value arbitrary first last string_agg group_concat listagg
    bool_and bool_or stddev stddev_pop stddev_samp variance var_pop var_samp corr covar_pop covar_samp skewness kurtosis
    regr_slope regr_intercept regr_r2 regr_count quantile quantile_cont quantile_disc approx_count_distinct geomean
    grouping grouping_id row_number rank dense_rank rank_dense percent_rank cume_dist ntile lag lead first_value
    last_value nth_value
    abs round round_even ceil ceiling floor trunc sign sqrt cbrt power pow exp ln log log2 log10 mod fmod fdiv divide
    multiply add subtract greatest least pi isnan isfinite isinf gcd lcm even
    coalesce ifnull nullif if
    lower upper lcase ucase trim ltrim rtrim length len char_length character_length strlen substring substr left right
    split_part strip_accents nfc_normalize contains starts_with ends_with prefix suffix position strpos instr ascii
    regexp_matches regexp_full_match regexp_extract translate reverse
    year month day quarter week weekofyear isoyear dayofmonth dayofweek isodow dayofyear hour minute second millisecond
    decade century era monthname dayname date_part datepart date_trunc datetrunc date_diff datediff date_sub datesub
    date_add last_day make_date make_time make_timestamp epoch epoch_ms strptime try_strptime strftime to_years
    to_months to_weeks to_days to_hours to_minutes to_seconds to_milliseconds to_quarters normalized_interval
    """.split()  # noqa: SIM905
)
_PATTERNS = frozenset(name for name in _FUNCTIONS if "~" in name or "like" in name or "regexp" in name)


class Result(FrozenModel):
    """The result of a query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Scalar | None, ...], ...]
    total: int = Field(description="number of all rows, of which ``rows`` are the first")
    reads: frozenset[str] = Field(description="columns of the table in the query")

    @property
    def truncated(self) -> bool:
        """Whether rows were left out."""
        return self.total > len(self.rows)


class RecordDatabase:
    """A database with one table. Runs one query at a time. Its memory is freed with the object."""

    def __init__(self, columns: Sequence[Column], table: str = "records") -> None:
        import duckdb

        self._connection = duckdb.connect(":memory:", config=_CONFIGURATION)
        self._columns = frozenset(column.name for column in columns)
        self._table = table
        self._fill(columns)
        found = self._connection.execute(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
        ).fetchall()
        self.reserved = frozenset(word for (word,) in found)
        """Reserved words, which need double quotes as names in SQL."""
        self._connection.execute("SET lock_configuration = true")

    def _fill(self, columns: Sequence[Column]) -> None:
        kinds = ", ".join(f'"{column.name}" {column.type}' for column in columns)
        values = ", ".join(f"CAST(unnest(CAST(? AS VARCHAR[])) AS {column.type})" for column in columns)
        self._connection.execute(f"CREATE TABLE {self._table} ({kinds})")
        # Text from macOS can store ü as two characters; models write one character.
        rows = [[value and normalize("NFC", value) for value in column.values] for column in columns]
        self._connection.execute(f"INSERT INTO {self._table} SELECT {values}", rows)

    def query(self, sql: str, *, rows: int, seconds: float) -> Result:
        """Run a query and return at most ``rows`` rows. Raises QueryRefused with a message for the model."""
        import duckdb

        timer = threading.Timer(seconds, self.interrupt)
        timer.start()
        try:
            composed = normalize("NFC", sql)
            return self._run(composed, rows, reads=self._validate(composed))
        except duckdb.InterruptException:
            raise QueryRefused(f"The query was stopped after {seconds:g} s. Let it do less.") from None
        except duckdb.OutOfMemoryException:
            raise QueryRefused("The query needs too much memory. Let it join less, or give fewer rows.") from None
        except (duckdb.Error, OverflowError, ValueError) as error:
            raise QueryRefused(f"DuckDB says: {str(error).strip()[:_MAX_MESSAGE]}") from None
        finally:
            timer.cancel()
            timer.join()  # otherwise it could interrupt a later query

    async def ask(self, sql: str, *, rows: int, seconds: float) -> Result:
        """Run a query in a thread. Raises like ``query``."""
        try:
            return await asyncio.to_thread(self.query, sql, rows=rows, seconds=seconds)
        except asyncio.CancelledError:
            self.interrupt()  # cancellation does not stop its thread
            raise

    def interrupt(self) -> None:
        """Stop the running query. Can be called from any thread."""
        self._connection.interrupt()

    def _run(self, sql: str, limit: int, reads: frozenset[str]) -> Result:
        self._connection.execute("BEGIN TRANSACTION READ ONLY")
        try:
            cursor = self._connection.execute(sql)
            columns = tuple(name for name, *_ in cursor.description or ())
            found = cursor.fetchmany(limit + 1)
            total = len(found) if len(found) <= limit else self._count(sql)
        finally:
            self._connection.execute("ROLLBACK")
        rows = tuple(tuple(_to_scalar(value) for value in row) for row in found[:limit])
        _require_small(rows)
        return Result(columns=columns, rows=rows, total=total, reads=reads)

    def _count(self, sql: str) -> int:
        """Return the number of all rows of a valid query."""
        plain = "SELECT json_deserialize_sql(json_serialize_sql(?))"  # without comments and semicolon
        [[inner]] = self._connection.execute(plain, [sql]).fetchall()
        [[number]] = self._connection.execute(f"SELECT count(*) FROM ({inner})").fetchall()
        return int(number)

    def _validate(self, sql: str) -> frozenset[str]:
        """Return the columns that a valid query names. Raises QueryRefused for an invalid one."""
        import duckdb

        if len(sql) > _MAX_QUERY:
            raise QueryRefused(f"The query has {len(sql)} characters; {_MAX_QUERY} are allowed.")
        statements = self._connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            kinds = ", ".join(statement.type.name for statement in statements) or "nothing"
            raise QueryRefused(f"Give exactly one SELECT, or WITH … SELECT, and nothing else; this is {kinds}.")
        nodes = list(_nodes(self._parse(sql)))
        _require_allowed(nodes, self._table)
        named = {node["column_names"][-1].lower() for node in nodes if node.get("class") == "COLUMN_REF"}
        return self._columns if any(node.get("class") == "STAR" for node in nodes) else self._columns & named

    def _parse(self, sql: str) -> Any:
        parsed = self._connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
        try:
            tree = json.loads(parsed[0]) if parsed else {"error": True}
        except RecursionError:
            raise QueryRefused("The query is nested too deeply.") from None
        if tree["error"]:
            raise QueryRefused(f"This form of query cannot be run: {tree.get('error_message', 'it cannot be parsed')}")
        return tree


def _require_allowed(nodes: Sequence[dict[str, Any]], table: str) -> None:
    """Raise QueryRefused with all errors, unless the query only reads this table through allowed functions."""
    named = {table, *(node["key"].lower() for node in nodes if "key" in node and "value" in node)}
    errors = []
    for node in nodes:
        kind, function = node.get("type", ""), node.get("function_name", "")
        if str(kind).endswith("_NODE") and kind not in _NODES:
            errors.append(f"It may only read: {kind} is not allowed.")
        if kind == "BASE_TABLE" and (node["schema_name"] or node["table_name"].lower() not in named):
            path = ".".join(filter(None, (node["catalog_name"], node["schema_name"], node["table_name"])))
            errors.append(f"There is no table {path!r}: read from {table}, or from what WITH names.")
        if function.lower() in _PATTERNS and not _has_fixed_pattern(node):
            errors.append(f"The pattern of {function!r} must be a constant. To find text of a column, use contains.")
        if max(len(node.get(part) or ()) for part in ("select_list", "group_expressions")) > _MOST_COLUMNS:
            errors.append(f"It may have {_MOST_COLUMNS} columns.")
        if function and function.lower() not in _FUNCTIONS:
            errors.append(
                f"The function {function!r} is not available. {_ALTERNATIVES.get(function.lower(), '')}".rstrip()
            )
    for each, key, most in (("STAR", "class", _MOST_STARS), ("BASE_TABLE", "type", _MOST_TABLES)):
        if sum(node.get(key) == each for node in nodes) > most:
            errors.append(f"It may have {most} {'*' if each == 'STAR' else 'tables'}.")
    if errors:
        raise QueryRefused(" ".join(dict.fromkeys(errors)))


def _has_fixed_pattern(function: dict[str, Any]) -> bool:
    """Return whether the pattern is a constant. DuckDB compiles others for each row, and no interrupt stops that."""
    given = function.get("arguments") or function.get("children") or ()  # the name depends on the version of DuckDB
    return all(each.get("expression", each).get("class") == "CONSTANT" for each in given[1:2])


_ALTERNATIVES = {
    "||": "Give the parts as columns of their own.",
    "concat": "Give the parts as columns of their own.",
    "replace": "To remove characters, use translate(text, 'characters', '').",
    "row": "Take the columns one by one, or SELECT DISTINCT them in a subquery.",
    "list": "Use string_agg, or give a row for each.",
}


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of the parsed query."""
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)


def _to_scalar(value: Any) -> Scalar | None:
    """Convert a value of DuckDB. Decimals become the printed number, and types other than scalars become text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and math.isfinite(value):
        rounded = float(f"{value:.{_EXACT_DIGITS}g}")
        return int(rounded) if rounded.is_integer() and abs(rounded) < 10**_EXACT_DIGITS else rounded
    if isinstance(value, date | time):
        return value.isoformat()
    return _format_duration(value) if isinstance(value, timedelta) else str(value)


def _format_duration(span: timedelta) -> str:
    """Format a duration as hours, minutes and seconds, for example 26:03:10."""
    seconds, fraction = divmod(abs(span), timedelta(seconds=1))
    sign = "-" if span < timedelta(0) else ""
    parts = f"{fraction.microseconds:06}".rstrip("0")
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}{'.' + parts if parts else ''}"


def _require_small(rows: Sequence[Sequence[Scalar | None]]) -> None:
    length = sum(len(value) for row in rows for value in row if isinstance(value, str))
    if length > _MAX_RESULT:
        raise QueryRefused(
            f"The texts of the result have {length} characters, more than the {_MAX_RESULT} that can be read on. "
            "Give fewer rows or columns."
        )
