"""SQL databases for tests of the stores."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from sqlalchemy import Engine, create_engine, event

from base.database import METADATA

_PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
PACKAGES = ("ingest.ledger", "multi_agent", "api.auth", "api.jobs")


def make_engine(path: Path) -> Engine:
    """Return an engine on an SQLite file, with the tables of every store that has been imported.

    It does not wait for the disk: a commit survives the end of the process, but not a crash of the machine.
    """
    engine = create_engine(f"sqlite:///{path}")
    event.listen(engine, "connect", lambda connection, _: connection.executescript(_PRAGMAS))
    METADATA.create_all(engine)
    engine.dispose()  # so that a listener for new connections, added later, sees all of them
    return engine


def import_all_modules() -> None:
    """Import every module that may declare tables, so that ``METADATA`` is complete."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(module.name)
