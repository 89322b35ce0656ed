"""Child processes: messages, exit descriptions, captured output, and their end with the parent."""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from base.process import ChildProcess
from support.waiting import LIMIT_S, until

PARENT = """
import sys, threading
sys.path[:] = {path!r}
from support.waiting import until
from base.process import ChildProcess
child = ChildProcess("support.child_targets:hang", connections=0)
print(child.pid, flush=True)
threading.Event().wait()
"""


def test_the_target_gets_its_connections_and_arguments() -> None:
    with ChildProcess("support.child_targets:echo", arguments=["> "]) as child:
        [connection] = child.connections
        connection.send("heat")
        assert connection.recv() == "> heat"
        assert child.exit_description == ""
        connection.send("exit")
        assert child.wait(LIMIT_S) == "exit status 0"


def test_a_module_in_the_working_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json", "fcntl", "pydantic"):
        (tmp_path / f"{name}.py").write_text("open('was_run', 'w')\nraise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with ChildProcess("support.child_targets:echo", arguments=["> "]) as child:
        child.connections[0].send("heat")
        assert child.connections[0].recv() == "> heat"
    assert not (tmp_path / "was_run").exists()


def test_a_process_with_many_open_files_starts_a_child(tmp_path: Path) -> None:
    """A service has one open file for each client that follows a run."""
    own = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(own[0], 2048), own[1]))
    try:
        with ExitStack() as files:
            for _ in range(1024):
                files.enter_context((tmp_path / "file").open("w"))
            with ChildProcess("support.child_targets:echo", arguments=["> "]) as child:
                child.connections[0].send("heat")
                assert child.connections[0].recv() == "> heat"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, own)


@pytest.mark.parametrize("network", [False, True])
def test_a_child_gets_no_key_of_its_parent(monkeypatch: pytest.MonkeyPatch, network: bool) -> None:
    for name in (
        "CANDOR_LLM__API_KEY",
        "CANDOR_DATABASE_URL",
        "CANDOR_KEYS__SEARCH",
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "MY",
    ):
        monkeypatch.setenv(name, "secret")
    for name in ("TESSDATA_PREFIX", "OMP_NUM_THREADS", "https_proxy"):
        monkeypatch.setenv(name, "needed")
    with ChildProcess("support.child_targets:variables", network=network) as child:
        found = child.connections[0].recv()
    assert "secret" not in found.values()
    assert {"PATH", "TESSDATA_PREFIX", "OMP_NUM_THREADS"} <= found.keys()
    assert ("https_proxy" in found) is network


def test_the_exit_is_described_by_signal() -> None:
    with ChildProcess("os:abort", connections=0) as child:
        assert child.wait(LIMIT_S) == "SIGABRT"
    with ChildProcess("support.child_targets:hang", connections=0) as child:
        assert child.wait(0.1) == "SIGKILL", "the time was up"


@pytest.mark.parametrize(("message", "last_line"), [("more", "third"), ("stop", "second")])
def test_the_last_line_of_output_is_kept(message: str, last_line: str) -> None:
    with ChildProcess("support.child_targets:fail", capture_output=True) as child:
        [connection] = child.connections
        assert connection.recv() == "written"
        connection.send(message)
        assert child.wait(LIMIT_S) == "exit status 3"
        assert child.last_output_line() == last_line


def test_cleared_output_is_gone() -> None:
    with ChildProcess("support.child_targets:fail", capture_output=True) as child:
        [connection] = child.connections
        connection.recv()
        child.clear_output()
        connection.send("stop")
        child.wait(LIMIT_S)
        assert child.last_output_line() == ""


def test_an_import_error_in_the_child_is_in_its_output() -> None:
    with ChildProcess("support.missing:main", connections=0, capture_output=True) as child:
        assert child.wait(LIMIT_S) == "exit status 1"
        assert child.last_output_line() == "ModuleNotFoundError: No module named 'support.missing'"


def test_the_child_ends_when_its_parent_is_killed() -> None:
    program = PARENT.format(path=sys.path)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    child.wait(LIMIT_S)


def test_the_child_ends_when_nothing_refers_to_it() -> None:
    child = ChildProcess("support.child_targets:hang", connections=0)
    process = psutil.Process(child.pid)
    del child
    assert process.wait(LIMIT_S) is not None


def test_close_ends_the_child_and_may_be_repeated() -> None:
    child = ChildProcess("support.child_targets:hang", connections=1, capture_output=True)
    child.close()
    child.close()
    child.kill()
    assert child.exit_description == "SIGKILL"
    assert child.rss_mb() == 0
    assert child.connections[0].closed


def test_memory_and_niceness() -> None:
    with ChildProcess("support.child_targets:niceness", nice=5) as child:
        assert child.connections[0].recv() == psutil.Process().nice() + 5
    with ChildProcess("support.child_targets:hang", connections=0) as child:
        until(lambda: 1 < child.rss_mb() < 1000)


def test_a_process_that_cannot_start_raises_oserror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(OSError, match="none"):
        ChildProcess("support.child_targets:hang", connections=0)
