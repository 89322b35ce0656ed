"""Upgrades the schema of the SQL database to the newest version with Alembic."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sql
from sqlalchemy.schema import CreateColumn

from api.errors import HomeError
from api.storage.release import release_space
from base.database import METADATA

log = logging.getLogger(__name__)

VERSIONS = Path(__file__).parent / "migrations" / "versions"
_VERSION_TABLE = "alembic_version"
_ADVISORY_LOCK = 0x736368656D61  # "schema" in ASCII
_alembic_lock = threading.Lock()  # Alembic keeps the current migration in module globals


def upgrade_schema(engine: sql.Engine, import_stores: Callable[[], None]) -> None:
    """Upgrade the schema to the newest version. If it is current, this takes a single query.

    ``import_stores`` imports all modules that declare tables, which is needed only for an upgrade.
    Concurrent callers, also in other processes, wait for each other. Raises HomeError if the database was written by a
    newer Candor, SQLAlchemyError if it cannot be reached.
    """
    newest = newest_version()
    with engine.connect() as connection:
        if _known_version(connection) == newest:
            return
    import_stores()
    with _alembic_lock, _exclusive(engine) as connection:
        if _known_version(connection) == newest:
            return
        _run_migrations(connection)
    try:
        release_space(engine)
    except sql.exc.OperationalError as error:  # the upgrade itself has succeeded
        log.warning("The database file was not shrunk (%s). `candor runs prune` tries again.", error.orig)


def newest_version() -> str:
    """Return the newest schema version that this Candor knows."""
    return max(path.name.partition("_")[0] for path in VERSIONS.glob("[0-9]*.py"))


def complete_schema(connection: sql.Connection) -> None:
    """Create the tables, columns and indexes that the stores declare and the database lacks.

    A column that is added to a table with rows needs a server default, or accepts NULL.
    """
    inspector = sql.inspect(connection)
    existing = set(inspector.get_table_names())
    METADATA.create_all(connection)
    for table in METADATA.sorted_tables:
        if table.name not in existing:
            continue
        columns = {column["name"] for column in inspector.get_columns(table.name)}
        indexes = {index["name"] for index in inspector.get_indexes(table.name)}
        for column in table.columns:
            if column.name not in columns:
                definition = CreateColumn(column).compile(dialect=connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {definition}")
        for index in table.indexes:
            if index.name not in indexes:
                index.create(connection)


def _known_version(connection: sql.Connection) -> str | None:
    """Return the schema version; None for a new database, or one written before Candor used Alembic."""
    if not sql.inspect(connection).has_table(_VERSION_TABLE):
        return None
    version: str | None = connection.scalar(sql.text(f"SELECT version_num FROM {_VERSION_TABLE}"))
    if version and version > newest_version():
        raise HomeError(
            f"The database was written by a newer Candor: its schema version is {version!r}, and this version of "
            f"Candor supports up to {newest_version()!r}. Upgrade Candor."
        )
    return version


@contextmanager
def _exclusive(engine: sql.Engine) -> Iterator[sql.Connection]:
    """Open a transaction in which no other process can upgrade the schema."""
    if engine.dialect.name == "postgresql":
        with engine.begin() as connection:
            connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
            yield connection
        return
    # Python's sqlite3 starts no transaction before DDL statements, so this starts it itself.
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.exec_driver_sql("ROLLBACK")
            raise
        connection.exec_driver_sql("COMMIT")


def _run_migrations(connection: sql.Connection) -> None:
    from alembic import command
    from alembic.config import Config

    version = _known_version(connection)
    if version and not any(VERSIONS.glob(f"{version}_*.py")):  # the first file upgrades all earlier versions
        connection.execute(sql.text(f"DELETE FROM {_VERSION_TABLE}"))
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "api.storage:migrations")
    command.upgrade(config, "head")
