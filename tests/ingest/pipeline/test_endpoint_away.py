"""An ingest whose embedding endpoint is away for a while."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.ledger.records import Stage
from ingest.pipeline import publisher
from ingest.pipeline.tally import Progress
from support.embedding_server import EmbeddingServer, Fault
from support.workplace import Workplace
from vectorstore.embedding.embedder import make_embedder
from vectorstore.errors import EndpointError

AWAY = Fault(503, {"error": "the model is loading"})


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "_FIRST_PAUSE_S", 0.01)


def workplace(tmp_path: Path, server: EmbeddingServer, *, wait_s: float) -> Workplace:
    settings = server.settings("openai", retries=0, wait_s=wait_s, batch_passages=1, parallel=1)
    place = Workplace(tmp_path, make_embedder(settings))
    for number in range(8):
        place.write(f"{number}.md", f"# Report {number}\n\nThe station {number} counted {number + 30} days of frost.\n")
    assert place.embedder.dimension == server.dimension
    server.texts.clear()
    return place


def test_it_waits_and_embeds_nothing_twice(
    tmp_path: Path, server: EmbeddingServer, caplog: pytest.LogCaptureFixture
) -> None:
    place = workplace(tmp_path, server, wait_s=60)
    stages: list[Stage] = []

    def note(progress: Progress) -> None:
        stages.append(progress.stage)
        if progress.stage is Stage.EMBEDDING and not stages.count(Stage.WAITING):
            server.faults.extend([AWAY] * 3)

    report = place.ingest(progress=note)
    assert (report.indexed, report.failed) == (8, ())
    assert Stage.WAITING in stages
    assert "the model is loading" in caplog.text
    assert "The ingest waits" in caplog.text
    assert set(Counter(server.texts).values()) == {1}
    assert len(server.texts) == report.embedded == report.chunks


def test_after_its_limit_it_ends_and_the_next_ingest_goes_on(tmp_path: Path, server: EmbeddingServer) -> None:
    place = workplace(tmp_path, server, wait_s=0)

    def cut(_: object) -> None:
        if len(server.requests) == 1:  # the one for the dimension
            server.faults.extend([Fault(200, {"data": [{"embedding": [1.0] * 24}]})] * 3 + [AWAY] * 5)

    with pytest.raises(EndpointError, match="the model is loading"):
        place.ingest(progress=cut)
    assert server.texts == []
    server.faults.clear()
    report = place.ingest()
    assert report.indexed == 8
    assert len(server.texts) == 8 - 3, "what was embedded before the fault is not embedded again"
    assert report.embedded == 5


def test_it_ends_at_once_if_the_endpoint_wants_a_longer_pause(tmp_path: Path, server: EmbeddingServer) -> None:
    place = workplace(tmp_path, server, wait_s=60)

    def note(progress: Progress) -> None:
        assert progress.stage is not Stage.WAITING
        if progress.stage is Stage.EMBEDDING and not server.faults:
            server.faults.append(Fault(429, {"error": "slow down"}, {"Retry-After": "3600"}))

    with pytest.raises(EndpointError, match="slow down"):
        place.ingest(progress=note)


def test_a_refused_text_ends_it_at_once_and_the_others_are_kept(tmp_path: Path, server: EmbeddingServer) -> None:
    place = workplace(tmp_path, server, wait_s=600)
    place.write("long.md", "# Long\n\n" + "frost " * 60)
    server.window = 300
    with pytest.raises(EndpointError, match="`max_tokens`"):
        place.ingest()
    embedded = list(server.texts)
    assert embedded
    server.window = 10_000
    assert place.ingest().indexed == 9
    assert set(Counter(server.texts).values()) == {1}
