"""The permissions of the data folder: only its owner may read it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from api.errors import HomeError
from api.storage.home import create_home
from support.waiting import LIMIT_S

OWNER_ONLY = 0o700


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_command_writes_files_that_only_their_owner_can_read(tmp_path: Path) -> None:
    home, note = tmp_path / "data", tmp_path / "note.md"
    note.write_text("# Pumps\n\nThe Borea 12 works down to -25 °C.")
    command = [sys.executable, "-m", "api.cli", "ingest", str(note), "--home", str(home), "-c", "papers"]
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S, umask=0o022, env={**os.environ})
    written = [home, *home.rglob("*")]
    assert home / "candor.db" in written
    assert [path for path in written if mode_of(path) & 0o077] == []


def test_a_folder_of_an_earlier_version_is_protected(tmp_path: Path) -> None:
    home = tmp_path / "data"
    home.mkdir(mode=0o755)
    assert mode_of(create_home(home)) == OWNER_ONLY


def test_a_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError, match="file/data"):
        create_home(tmp_path / "file" / "data")
