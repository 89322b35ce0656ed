"""The home folder."""

from __future__ import annotations

from pathlib import Path

from api.errors import HomeError

DATABASE = "candor.db"
"""The SQLite database in the home folder."""


def create_home(home: Path) -> Path:
    """Create the home folder if it does not exist, and return it. Raises HomeError."""
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HomeError(
            f"Cannot create the home folder {str(home)!r} ({error.strerror}). Set another one with --home or "
            "CANDOR_HOME."
        ) from error
    return home
