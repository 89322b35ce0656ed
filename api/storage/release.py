"""Returns the space of deleted rows to the disk. Postgres does so by itself."""

import sqlalchemy as sql

_INCREMENTAL = 2
_PAGES = 1000


def release_space(engine: sql.Engine, *, rewrite: bool = False) -> None:
    """Shrink the SQLite file by its free pages, in short transactions, so that other writers hardly wait.

    ``rewrite`` writes the file anew, which needs as much free disk, and leaves nothing of deleted rows. So is once a
    file from before Candor used incremental vacuuming.
    """
    if engine.dialect.name != "sqlite":
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if rewrite or connection.exec_driver_sql("PRAGMA auto_vacuum").scalar() != _INCREMENTAL:
            connection.exec_driver_sql("VACUUM")
        before, free = -1, _free_pages(connection)
        while free not in (0, before):
            _vacuum(connection)
            before, free = free, _free_pages(connection)
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")


def _vacuum(connection: sql.Connection) -> None:
    """Release pages. The statement has no columns, but it releases one page with each row that is fetched."""
    driver = connection.connection.driver_connection
    assert driver is not None
    driver.execute(f"PRAGMA incremental_vacuum({_PAGES})").fetchall()


def _free_pages(connection: sql.Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA freelist_count").scalar_one())
