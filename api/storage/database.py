"""Opening the SQL database: SQLite in WAL mode in the home folder, or Postgres by URL."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sql

from api.errors import HomeError, SettingsError
from api.settings import Settings

FILE = "candor.db"
_BUSY_TIMEOUT_MS = 10_000


def open_database(settings: Settings) -> sql.Engine:
    """The engine. Raises HomeError if the home folder cannot be used, SettingsError for a wrong URL."""
    if settings.database_url is not None:
        try:
            return sql.create_engine(settings.database_url.get_secret_value(), pool_pre_ping=True)
        except (sql.exc.ArgumentError, sql.exc.NoSuchModuleError, ModuleNotFoundError) as error:
            raise SettingsError(f"CANDOR_DATABASE_URL cannot be used: {error}.") from error
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HomeError(f"The home folder {str(settings.home)!r} cannot be made ({error.strerror}); name another "
                        "with --home or CANDOR_HOME.") from error  # fmt: skip
    engine = sql.create_engine(f"sqlite:///{settings.home / FILE}")
    sql.event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _: object) -> None:
    """Readers beside one writer, waiting for locks; a commit survives a crash of the process."""
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", f"busy_timeout={_BUSY_TIMEOUT_MS}", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
