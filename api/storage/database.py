"""Opens the SQL database: SQLite in WAL mode in the home folder, or Postgres by URL."""

from typing import Any

import sqlalchemy as sql

from api.errors import SettingsError, UsageError
from api.settings import Settings
from api.storage.home import DATABASE, create_home
from api.storage.upgrade import upgrade_schema

_REMEDY = "Check that its disk has room and is writable, or that its server runs."
_TOO_MANY = (
    "Each process needs up to `service.database_connections` (8 by default), and a service is two processes. Raise "
    "`max_connections` of Postgres, or stop processes."
)
_BUSY_TIMEOUT_MS = 60_000  # upgrades of the schema take seconds on a busy machine


class DatabaseFailed(sql.exc.SQLAlchemyError):
    """The database cannot be used, for example because its disk is full. ``orig`` is the driver's error."""

    orig: BaseException | None = None


def open_database(settings: Settings) -> sql.Engine:
    """Open the database and upgrade its schema to the newest version.

    Raises HomeError if the home folder cannot be used or the database was written by a newer Candor, SettingsError for
    an invalid URL, SQLAlchemyError if the database cannot be reached.
    """
    engine = _create_engine(settings)
    try:
        upgrade_schema(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def is_away(error: BaseException | None) -> bool:
    """Return whether an error says that Postgres cannot be reached now, or that it has ended the connection."""
    while error is not None:
        if isinstance(error, sql.exc.DBAPIError | DatabaseFailed):
            state = getattr(error.orig, "sqlstate", "")  # None: no answer; SQLite's errors have none
            return state is None or state.startswith(("08", "57P"))
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
        engine = sql.create_engine(sql.URL.create("sqlite", database=str(create_home(settings.home) / DATABASE)))
        sql.event.listen(engine, "connect", _configure_sqlite)
        sql.event.listen(engine, "handle_error", _reject_long_pattern)
    sql.event.listen(engine, "handle_error", _describe_failure)
    return engine


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
    reason = str(context.original_exception).strip()
    too_many = "too many clients" in reason or "remaining connection slots" in reason  # no SQLSTATE before the login
    failed = DatabaseFailed(f"The database failed: {reason}. {_TOO_MANY if too_many else _REMEDY}")
    failed.orig = context.original_exception
    return failed
