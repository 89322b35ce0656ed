"""Ctrl-C during ``candor ingest``, in a real process: what is in stays in, and the same command continues."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from api.bootstrap import Candor
from ingest.ledger.ledger import Ledger
from support.waiting import LIMIT_S, until
from vectorstore.edge import collection as edge_collection

ROOT = Path(__file__).parents[3]
FILES = 14
SETTLED = {"indexed", "discovered"}


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A folder of files that take a while to embed."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(FILES):
        lines = (f"Pump {number} ran for {line} hours at station {number * line}.\n\n" for line in range(25))
        (folder / f"report{number:02}.md").write_text(f"# Report {number}\n\n" + "".join(lines))
    return folder


@contextmanager
def ingesting(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """``candor ingest`` in a process group of its own, as a terminal starts it."""
    small_batches = {"CANDOR_INGEST__EMBED_BATCH": "2", "CANDOR_INGEST__PARSE_WORKERS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "api.cli", "ingest", str(folder), "-c", "papers", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | small_batches | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def ledger(make_candor: Callable[..., Candor]) -> Ledger:
    """The states of the files, read without commands, which would take the cores from the ingest."""
    return make_candor().ledger


def states(ledger: Ledger) -> list[str]:
    return [record.state.value for record in ledger.list("papers")]


def indexed(ledger: Ledger) -> set[str]:
    """Return the content hashes of the indexed files."""
    return {record.version for record in ledger.list("papers") if record.state == "indexed"}


def press_ctrl_c(process: subprocess.Popen[str]) -> None:
    """Send SIGINT to the whole group, as a terminal does."""
    os.killpg(process.pid, signal.SIGINT)


def test_ctrl_c_says_what_is_in_and_the_same_command_continues(run: Callable, many: Path, ledger: Ledger) -> None:
    with ingesting(many) as process:
        until(lambda: "indexed" in states(ledger))
        press_ctrl_c(process)
        _, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, errors
    assert "Stopping. The next ingest reads the files that are left. Press Ctrl-C again to stop at once." in errors
    after = states(ledger)
    indexed = after.count("indexed")
    assert 0 < indexed < FILES
    assert set(after) <= SETTLED
    assert f"Interrupted: {indexed} of {FILES} files are in collection 'papers'." in errors
    assert "Run the same command again to continue." in errors
    again = run("ingest", many, "-c", "papers", "--json")
    assert (again.code, again.json["unchanged"], again.json["indexed"]) == (0, indexed, FILES - indexed)
    assert states(ledger) == ["indexed"] * FILES


def test_a_second_ctrl_c_stops_at_once_and_leaves_no_document_half_done(
    run: Callable, many: Path, ledger: Ledger
) -> None:
    with ingesting(many) as process:
        assert process.stderr
        until(lambda: "embedding" in states(ledger))
        press_ctrl_c(process)
        assert any("Press Ctrl-C again" in line for line in iter(process.stderr.readline, ""))
        press_ctrl_c(process)
        _, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, errors
    assert "what is complete stays. Run the same command again to continue." in errors
    assert set(states(ledger)) <= SETTLED
    assert run("ingest", many, "-c", "papers", "--json").code == 0
    assert states(ledger) == ["indexed"] * FILES


def test_an_interrupted_update_keeps_the_old_version(run: Callable, many: Path, ledger: Ledger) -> None:
    run("ingest", many, "-c", "papers")
    before = indexed(ledger)
    for file in many.iterdir():
        file.write_text(file.read_text().replace("Pump", "Turbine"))
    with ingesting(many, "--json") as process:
        until(lambda: indexed(ledger) - before)
        press_ctrl_c(process)
        report, _ = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, json.loads(report)["cancelled"]) == (130, True)
    assert set(states(ledger)) == {"indexed"}
    texts = [hit["text"] for hit in run("search", "Turbine Pump", "-n", "1000", "--json").json]
    assert any("Pump" in text for text in texts)
    assert any("Turbine" in text for text in texts)
    assert run("ingest", many, "-c", "papers").code == 0
    texts = [hit["text"] for hit in run("search", "Turbine Pump", "-n", "1000", "--json").json]
    assert not any("Pump" in text for text in texts)


def test_a_command_waits_for_the_index_and_says_so(
    run: Callable, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_collection, "INDEX_AFTER", 1)
    monkeypatch.setattr(edge_collection.EdgeCollection, "index_in_background", lambda _: None)
    ingested = run("ingest", many, "-c", "papers")
    assert (ingested.code, "The search index is being built" in ingested.err) == (0, True)
    [unindexed] = (tmp_path / "home").rglob("changes")
    assert unindexed.read_text() == "0"
