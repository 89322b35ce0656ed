"""Features of all commands: discovery, help, ``--json``, and groups that run ``list`` by default."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from typer.main import get_command
from typer.testing import CliRunner

from api.auth.audit import AuditEntry
from api.bootstrap import Candor
from api.cli import commands
from api.cli.main import make_app
from base.installation import own_version
from support.waiting import LIMIT_S
from vectorstore.models import CollectionSpec

COMMANDS: dict[str, Any] = get_command(make_app()).commands  # type: ignore[attr-defined]
GROUPS = sorted(name for name, each in COMMANDS.items() if "list" in getattr(each, "commands", {}))
HELLO = '''
from api.cli.common import command

app = command()

@app.command()
def hello() -> None:
    """Greet."""
    print("Hello.")
'''


def leaves() -> Iterator[tuple[str, Any]]:
    """Yield every command with its full name, such as ``keys add``."""
    for name, each in COMMANDS.items():
        for inner, leaf in getattr(each, "commands", {"": each}).items():
            yield f"{name} {inner}".strip(), leaf


def test_commands_come_first_and_groups_after_them() -> None:
    single = COMMANDS.keys() - set(GROUPS)
    assert list(COMMANDS) == [*sorted(single), *sorted(GROUPS)]
    assert single >= {
        "adopt", "ask", "backup", "chat", "compare", "demo", "doctor", "drop", "export", "fork", "ingest", "mcp",
        "move", "rate", "replay", "report", "restore", "search", "serve", "show", "trace", "worker",
    }  # fmt: skip
    assert set(GROUPS) >= {
        "agents", "approvals", "audit", "documents", "eval", "keys", "memories", "plans", "runs", "skills", "sources",
        "table", "tools", "users",
    }  # fmt: skip
    assert COMMANDS["eval"].commands.keys() >= {
        "from-ratings", "compare", "draft", "init", "list", "report", "resume", "rm", "run", "show",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("file", "package", "call"),
    [
        ("hello.py", "", ["hello"]),
        ("greetings/hello.py", "", ["hello"]),
        ("salutes/hello.py", 'GROUP = "Greet in many ways."', ["salutes", "hello"]),
    ],
    ids=["module", "folder", "group"],
)
def test_a_module_added_to_the_folder_is_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, package: str, call: list[str]
) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(HELLO)
    if "/" in file:
        (tmp_path / file).with_name("__init__.py").write_text(package)
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    extended = make_app()
    assert CliRunner().invoke(extended, call).output == "Hello.\n"
    assert f"{call[0]} " in CliRunner().invoke(extended, ["--help"]).output


@pytest.fixture
def home(make_candor: Callable[..., Candor]) -> Path:
    """Return a data folder with one empty collection."""
    candor = make_candor()
    spec = CollectionSpec(name="papers", embedding_model=candor.embedder.model, dimension=384, chunking="whole")
    candor.store.create(spec).close()
    return candor.settings.home


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_without_a_command_lists(run: Callable, group: str, home: Path) -> None:
    bare, spelled_out = run(group, "--json", "--home", home), run(group, "list", "--json", "--home", home)
    assert bare == spelled_out
    assert (bare.code, type(bare.json)) == (0, list)


@pytest.mark.parametrize("group", GROUPS)
def test_the_help_of_a_group_names_its_default(run: Callable, group: str) -> None:
    assert "Runs `list` by default." in " ".join(run(group, "--help").out.split())
    listing = " ".join(run(group, "list", "--help").out.split())
    assert f"Example: candor {group}" in listing
    assert "--json" in listing


def test_an_unknown_command_of_a_group_is_rejected(run: Callable) -> None:
    rejected = run("keys", "lst")
    assert (rejected.code, "No such command 'lst'" in rejected.err) == (2, True)


def test_every_command_has_an_example_and_described_options() -> None:
    for name, leaf in leaves():
        assert f"candor {name.removesuffix(' list')}" in leaf.help.replace('", "args": ["', " ").replace('"', ""), name
        assert [each.name for each in leaf.params if not each.help] == [], name


@pytest.mark.parametrize(("option", "without"), [("--json", ["mcp"]), ("--home", [])])
def test_every_command_takes_json_and_home(option: str, without: list[str]) -> None:
    """Except ``mcp``: the protocol owns its standard output."""
    lacking = [name for name, leaf in leaves() if not any(option in each.opts for each in leaf.params)]
    assert lacking == without


def test_a_command_that_writes_a_file_prints_its_path_as_json(run: Callable, tmp_path: Path) -> None:
    written = tmp_path / "mine.csv"
    assert run("eval", "init", written, "--json").json == {"written": str(written)}
    rejected = run("export", "run_3f2a", "--json")
    assert (rejected.code, rejected.json["error"]["type"]) == (2, "UsageError")


def test_the_version_is_that_of_the_package(run: Callable[..., Any]) -> None:
    assert run("--version") == (0, f"candor {own_version()}\n", "")


def test_the_doctor_prints_checks_first_and_settings_on_request(run: Callable[..., Any]) -> None:
    checks = run("doctor")
    assert (checks.code, checks.out.splitlines()[0].startswith("ok     database: ")) == (1, True)
    assert "FAILED llm endpoint: http://127.0.0.1:11434" in checks.out
    assert checks.out.splitlines()[-1].endswith("/home/candor.toml")
    assert "service.port" not in checks.out
    everything = run("doctor", "--settings").out
    assert everything.index("llm endpoint") < everything.index("service.port = 8484")
    assert run("doctor", "--json").json["settings"]["service"]["port"] == 8484


def test_the_audit_log_fits_80_columns(run: Callable[..., Any], home: Path, make_candor: Callable[..., Candor]) -> None:
    path = "/v1/documents/0f6b2c1e-8d52-5b0e-9a55-3c2f5e0f4a17/pages/12"
    entry = AuditEntry(
        at=datetime(2026, 3, 1, 9, 30, tzinfo=UTC), key="", name="a local user", address="127.0.0.1",
        action="GET /v1/documents/{document}/pages/{page}", target=f"{path}?collection=papers&start=100&end=250",
        collections=("papers",), status=200,
    )  # fmt: skip
    pruned = entry.model_copy(
        update={"action": "prune audit", "target": "7 entries older than 90 days", "address": "", "status": 0}
    )
    make_candor().audit.write([entry, pruned])
    lines = run("audit", "--home", home).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[3] == "2026-03-01 09:30:00  200     a local user, 127.0.0.1"
    assert f"GET {path}?" in "".join(line.strip() for line in lines[4:]).replace("GET/", "GET /")
    assert lines[2] == "    prune audit 7 entries older than 90 days"


def test_the_link_of_an_invitation_is_the_address_of_the_service(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("users", "add", "ada")
    assert run("users", "invite", "ada").out.startswith("http://127.0.0.1:8484/#/invitation/")
    monkeypatch.setenv("CANDOR_SERVICE__HOST", "::1")
    monkeypatch.setenv("CANDOR_SERVICE__CERTFILE", "service.pem")
    assert run("users", "invite", "ada").out.startswith("https://[::1]:8484/#/invitation/")


def test_show_prints_dates(run: Callable[..., Any], folder: Path) -> None:
    os.utime(folder / "pumps.md", (1_700_000_000, 1_700_000_000))
    run("ingest", folder)
    shown = run("show", "pumps.md").out
    assert "modified  2023-11-14 22:13:20 UTC\n" in shown
    assert re.search(r"read_at  20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\n", shown)
    assert re.search(r"seconds  reading \d+\.\d\d, ", shown)


def test_show_with_a_run_and_no_number_names_the_commands_for_runs(run: Callable[..., Any], folder: Path) -> None:
    run("ingest", folder)
    shown = run("show", "run_0123")
    assert (shown.code, "`candor show run_0123 1` its first quote" in shown.err) == (1, True)
    assert "candor documents" in run("show", "nothing.md").err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_is_one_line(run: Callable[..., Any], folder: Path, tmp_path: Path) -> None:
    run("ingest", folder)
    command = [sys.executable, "-m", "api.cli", "documents", "--home", tmp_path / "home"]
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "candor: Cannot write the output: No space left on device.\n")


def test_a_chat_with_an_unknown_collection_does_not_start(run: Callable[..., Any], folder: Path) -> None:
    run("ingest", folder)
    told = run("chat", "-c", "nosuch")
    assert (told.code, "no collection 'nosuch'" in told.err, "Conversation" in told.err) == (1, True, False)


def test_an_error_ends_the_question_and_not_the_chat(
    run: Callable[..., Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: Any, **__: Any) -> None:
        raise OperationalError("SELECT 1", {}, sqlite3.OperationalError("database is locked"))

    run("ingest", folder)
    monkeypatch.setattr("api.cli.chat.run_question", locked)
    monkeypatch.setattr(sys, "stdin", io.StringIO("Why?\nWhen?\n"))
    told = run("chat", "--json")
    assert told.code == 0
    errors = [json.loads(line)["error"] for line in told.out.splitlines()]
    assert [each["type"] for each in errors] == ["OperationalError"] * 2
    assert told.err.count("candor: The database cannot be used: database is locked.") == 2


def test_a_service_that_cannot_start_ends_with_code_1(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise RuntimeError("no worker")

    monkeypatch.setattr("api.http.app._start", broken)
    told = run("serve", "--port", "0")
    assert (told.code, "no worker" in told.err) == (1, True)


def test_ctrl_c_ends_a_chat_that_a_program_leads(run: Callable[..., Any], folder: Path, tmp_path: Path) -> None:
    run("ingest", folder)
    command = [sys.executable, "-m", "api.cli", "chat", "--home", tmp_path / "home"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as chat:
        assert chat.stderr
        assert "/help lists the commands." in chat.stderr.readline()
        chat.send_signal(signal.SIGINT)
        assert chat.wait(LIMIT_S) == 130


@pytest.mark.parametrize("query", ['"', "!!!", "-"])
def test_a_query_without_a_word_is_refused(run: Callable[..., Any], folder: Path, query: str) -> None:
    run("ingest", folder)
    told = run("search", "--", query)
    assert (told.code, "has no word. Add a word" in told.err) == (2, True)


def test_a_damaged_database_has_its_remedy(run: Callable[..., Any], tmp_path: Path) -> None:
    (home := tmp_path / "damaged").mkdir(mode=0o700)
    (home / "candor.db").write_text("no database " * 1000)
    shown = run("runs", "--home", home)
    assert (shown.code, "restore a backup" in shown.err, "Traceback" in shown.err) == (1, True, False)


def test_a_list_with_an_invalid_item_is_not_called_too_short(run: Callable[..., Any], folder: Path) -> None:
    run("ingest", folder, "-c", "papers")
    assert run("ask", "Why?", "--sources", "documnts").err.strip().endswith("'documents', 'web' or 'tools'.")
    assert run("table", "create", "t", "-c", "papers").err == "candor: Invalid table: columns: needs at least 1 item.\n"
