"""The end of a process of the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_SCRIPT = """
import atexit, gc, sys
atexit.register(lambda: print(gc.get_freeze_count(), file=sys.stderr))  # called after those registered later
from api.cli.__main__ import main
sys.argv = ["candor", "collections"]
main()
"""


def test_the_exit_searches_for_no_garbage_and_closes_the_database() -> None:
    home = Path(os.environ["CANDOR_HOME"])
    home.mkdir()
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True)
    assert int(done.stderr.split()[-1]) > 10_000
    assert [each.name for each in home.glob("candor.db*")] == ["candor.db"]
