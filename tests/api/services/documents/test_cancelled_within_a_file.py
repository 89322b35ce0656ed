"""A cancel stops an ingest within a file: the file stays as it was, and the next ingest reads it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from api.bootstrap import Candor
from ingest.ledger.records import DocumentState, Stage
from ingest.pipeline.plan import IngestRequest
from ingest.pipeline.tally import IngestReport, Progress


@pytest.fixture
def candor(make_candor: Callable[..., Candor]) -> Candor:
    return make_candor()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pumps.txt"
    path.write_text("The Borea 12 works down to -25 °C.\n")
    return path


def ingest(candor: Candor, file: Path, until: Stage | None = None) -> IngestReport:
    """Ingest the file, and cancel when it reaches a stage."""
    cancelled = threading.Event()

    def watch(progress: Progress) -> None:
        if progress.stage is until:
            cancelled.set()

    return candor.ingest.ingest(IngestRequest(collection="papers", paths=(file,)), watch, cancelled=cancelled.is_set)


@pytest.mark.parametrize("stage", [Stage.READING, Stage.CHUNKING, Stage.EMBEDDING])
def test_a_cancel_leaves_the_file_for_the_next_ingest(candor: Candor, file: Path, stage: Stage) -> None:
    report = ingest(candor, file, until=stage)
    assert (report.cancelled, report.indexed, report.failed) == (True, 0, ())
    [record] = candor.ledger.list("papers")
    assert (record.state, record.reason) == (DocumentState.DISCOVERED, "")
    assert ingest(candor, file).indexed == 1


def test_a_cancelled_update_keeps_the_old_version(candor: Candor, file: Path) -> None:
    ingest(candor, file)
    [before] = candor.ledger.list("papers")
    file.write_text("The Borea 12 works down to -30 °C and hums.\n")
    assert ingest(candor, file, until=Stage.EMBEDDING).cancelled
    [after] = candor.ledger.list("papers")
    assert (after.state, after.version, after.chunks) == (DocumentState.INDEXED, before.version, 1)
    assert ingest(candor, file).indexed == 1
    [updated] = candor.ledger.list("papers")
    assert updated.version != before.version


def test_limits_of_a_file_are_reasons_in_the_ledger(make_candor: Callable[..., Candor], file: Path) -> None:
    candor = make_candor(ingest={"max_passages": 3, "chunk_tokens": 32})
    file.write_text("The Borea 12 works down to -25 °C and is the quietest pump of the year.\n\n" * 40)
    [failed] = ingest(candor, file).failed
    assert (failed.state, failed.stage) == (DocumentState.FAILED, Stage.CHUNKING)
    assert f"{file} has " in failed.reason
    assert "passages; the limit is 3. Split it, or raise max_passages under [ingest]" in failed.reason
    other = make_candor(ingest={"max_text_mb": 1})
    file.write_text("many words " * 150_000)
    [failed] = ingest(other, file).failed
    assert (failed.state, failed.stage) == (DocumentState.FAILED, Stage.PARSING)
    assert "has 1.6 MB of text; the limit is 1 MB. Split it, or raise max_text_mb under [ingest]" in failed.reason
