"""A forked child process has the same parent, folder and environment as one that starts an interpreter."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil
import pytest

from base.process import ChildProcess
from support import forking
from support.processes import live_children
from support.waiting import LIMIT_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Children are forked on Linux only.")
TARGET = "support.child_targets:where"


@pytest.fixture(autouse=True)
def _fork_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(forking.TARGETS, TARGET, "")


def where() -> tuple[dict[str, object], ChildProcess]:
    """Start a child process. Return what it sent, and the process."""
    child = ChildProcess(TARGET, arguments=["planted"], capture_output=True)
    return child.connections[0].recv(), child


def test_a_fork_has_the_parent_folder_and_environment_of_a_new_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("CANDOR_LLM__API_KEY", "secret")
    monkeypatch.chdir(tmp_path)
    told, child = where()
    with child:
        assert child.pid in [each.pid for each in psutil.Process().children()]
        assert (told["parent"], told["session"], told["folder"]) == (os.getpid(), child.pid, str(tmp_path))
        assert told["environment"]["TZ"] == "Asia/Tokyo"  # type: ignore[index]
        assert "secret" not in told["environment"].values()  # type: ignore[union-attr]
        assert [each.pid for each in live_children("child_targets:where")] == [child.pid], "and not what forks it"
        child.connections[0].send("end")
        assert (child.wait(LIMIT_S), child.last_output_line()) == ("exit status 3", "planted")


def test_one_process_forks_all_children_of_a_target() -> None:
    (first, one), (second, other) = where(), where()
    with one, other:
        assert first["started"] == second["started"]
        assert one.pid != other.pid
        other.kill()
        assert other.wait(LIMIT_S) == "SIGKILL"
        assert one.exit_description == ""
