"""Opens the SQL database: SQLite in WAL mode in the home folder, or Postgres by URL."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import sqlalchemy as sql
from sqlalchemy.dialects import sqlite

from api.errors import SettingsError, UsageError
from api.settings import Settings
from api.storage.home import DATABASE, create_home
from api.storage.upgrade import upgrade_schema
from base.database import DamagedValue

_REMEDY = "Check that its disk has room and is writable, or that its server runs."
_TOO_MANY = (
    "Each process needs up to `service.database_connections` (8 by default), and a service is two processes. Raise "
    "`max_connections` of Postgres, or stop processes."
)
_LOGIN = "Check the user, the password and the name of the database in CANDOR_DATABASE_URL."
_BUSY_TIMEOUT_MS = 60_000  # upgrades of the schema take seconds on a busy machine


class DatabaseFailed(sql.exc.SQLAlchemyError):
    """The database cannot be used, for example because its disk is full. ``orig`` is the driver's error."""

    orig: BaseException | None = None


def open_database(settings: Settings, import_stores: Callable[[], None]) -> sql.Engine:
    """Open the database and upgrade its schema to the newest version, as ``upgrade_schema`` does.

    Raises HomeError if the home folder cannot be used or the database was written by a newer Candor, SettingsError for
    an invalid URL, SQLAlchemyError if the database cannot be reached.
    """
    engine = _create_engine(settings)
    try:
        upgrade_schema(engine, import_stores)
    except BaseException:
        engine.dispose()
        raise
    return engine


def is_away(error: BaseException | None) -> bool:
    """Return whether an error says that Postgres cannot be reached now, or that it has ended the connection."""
    while error is not None:
        if isinstance(error, sql.exc.DBAPIError | DatabaseFailed):
            state = getattr(error.orig, "sqlstate", "")  # None: no connection; SQLite's errors have none
            return not _is_login_refused(error.orig) if state is None else state.startswith(("08", "57P"))
        error = error.__cause__
    return False


def _create_engine(settings: Settings) -> sql.Engine:
    if settings.database_url is not None:
        try:
            url, (size, _) = settings.database_url.get_secret_value(), settings.service.database_pools
            engine = sql.create_engine(url, pool_pre_ping=True, pool_size=size, max_overflow=0)
        except (sql.exc.ArgumentError, sql.exc.NoSuchModuleError, ModuleNotFoundError) as error:
            raise SettingsError(f"Invalid CANDOR_DATABASE_URL: {error}.") from error
    else:
        file = sql.URL.create("sqlite", database=str(create_home(settings.home) / DATABASE))
        engine = sql.create_engine(file, json_deserializer=partial(_read, json.loads))
        engine.dialect.colspecs = {**engine.dialect.colspecs, sql.DateTime: _Date}
        sql.event.listen(engine, "connect", _configure_sqlite)
        sql.event.listen(engine, "handle_error", _reject_long_pattern)
    sql.event.listen(engine, "handle_error", _describe_failure)
    return engine


def _read(parse: Callable[[str], Any], text: str) -> Any:
    """Return the value of a column. Raises DamagedValue."""
    try:
        return parse(text)
    except (TypeError, ValueError) as error:
        raise DamagedValue(
            f"A row of the database is damaged ({error}). Restore a backup (`candor restore`)."
        ) from error


class _Date(sqlite.DATETIME):
    def result_processor(self, dialect: sql.Dialect, coltype: object) -> Callable[[str], Any]:
        return partial(_read, super().result_processor(dialect, coltype) or str)


def _configure_sqlite(connection: Any, _: object) -> None:
    """Let readers run next to one writer, wait for locks, and keep commits after a crash of the process.

    A new file can be shrunk in small steps (``release_space``). This must be set before the file has content.
    """
    cursor = connection.cursor()
    for pragma in (
        f"busy_timeout={_BUSY_TIMEOUT_MS}",
        "auto_vacuum=INCREMENTAL",
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _reject_long_pattern(context: sql.engine.ExceptionContext) -> None:
    """Raise UsageError for a search text that is too long. Otherwise it would be reported as a database error."""
    if "pattern too complex" in str(context.original_exception):
        raise UsageError("An id, name or text to search for is too long. Send fewer than 20,000 characters.")


def _describe_failure(context: sql.engine.ExceptionContext) -> DatabaseFailed | None:
    """Replace an error of the database, but not of a statement, by one for users. SQLAlchemy's quotes the statement."""
    if not isinstance(context.sqlalchemy_exception, sql.exc.OperationalError) or context.is_pre_ping:
        return None  # after a failed ping, the pool connects again
    cause = context.original_exception
    remedy = _TOO_MANY if _is_full(cause) else _LOGIN if _is_login_refused(cause) else _REMEDY
    failed = DatabaseFailed(f"The database failed: {str(cause).strip()}. {remedy}")
    failed.orig = cause
    return failed


def _is_full(error: BaseException | None) -> bool:
    """Return whether Postgres has no connection left. The error of a connection that failed has no SQLSTATE."""
    return "too many clients" in str(error) or "remaining connection slots" in str(error)


def _is_login_refused(error: BaseException | None) -> bool:
    """Return whether Postgres rejected the user or the password. While it starts or stops, it asks for none."""
    attempt = getattr(error, "pgconn", None)
    return attempt is not None and (attempt.needs_password or attempt.used_password) and not _is_full(error)
