"""The home folder."""

import stat
from pathlib import Path

from api.errors import HomeError

DATABASE = "candor.db"
"""The SQLite database in the home folder."""
_OWNER_ONLY = 0o700
_OTHERS = 0o077


def create_home(home: Path) -> Path:
    """Create the home folder if it does not exist, and return it. Only its owner may read it. Raises HomeError."""
    try:
        home.mkdir(mode=_OWNER_ONLY, parents=True, exist_ok=True)
        if stat.S_IMODE(home.stat().st_mode) & _OTHERS:  # made by an earlier version
            home.chmod(_OWNER_ONLY)
    except OSError as error:
        raise HomeError(
            f"Cannot create or protect the home folder {str(home)!r} ({error.strerror}). Set another one with "
            "--home or CANDOR_HOME."
        ) from error
    return home


def bytes_below(folder: Path) -> int:
    """Return the bytes of all files in a folder, which need not exist."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()) if folder.is_dir() else 0
